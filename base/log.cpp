#include "base/log.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

namespace vethgate {
namespace {

const char* word(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "?";
}

std::string timeText(std::chrono::milliseconds at) {
  const auto second = std::chrono::floor<std::chrono::seconds>(at);
  const std::time_t time = second.count();
  std::tm parts{};
  std::array<char, 64> date{};
  if (gmtime_r(&time, &parts) == nullptr ||
      std::strftime(date.data(), date.size(), "%FT%T", &parts) == 0) {
    return std::to_string(second.count());
  }
  constexpr std::int64_t kThousand = 1'000;
  const std::string fraction = std::to_string(kThousand + (at - second).count());
  return std::string(date.data()) + "." + fraction.substr(1) + "Z";
}

}  // namespace

std::string logLine(std::chrono::milliseconds at, LogLevel level, std::string_view event,
                    const nlohmann::ordered_json& fields) {
  nlohmann::ordered_json line = {{"time", timeText(at)}, {"level", word(level)}, {"event", event}};
  for (const auto& [key, value] : fields.items()) {
    line[key] = value;
  }
  return line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void logEvent(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields) {
  const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
  const std::string line = logLine(now, level, event, fields);
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace vethgate
