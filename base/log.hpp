// What a long-running command says while it runs: one JSON object a line on stderr, printable ASCII
// alone, each written at once. docs/operating.md lists the events.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace vethgate {

enum class LogLevel {
  kInfo,
  kWarning,  // nothing is lost, and somebody should look
  kError,    // what was asked for was not done
};

// {"time": RFC 3339 in UTC, "level": "info"|"warning"|"error", "event": …} and `fields`, an object,
// behind them, with a line feed. `at` is since 1970.
[[nodiscard]] std::string logLine(std::chrono::milliseconds at, LogLevel level,
                                  std::string_view event, const nlohmann::ordered_json& fields);

// Nobody is left to tell when stderr cannot be written: that is passed over.
void logEvent(LogLevel level, std::string_view event, const nlohmann::ordered_json& fields);

}  // namespace vethgate
