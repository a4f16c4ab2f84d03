// A status in words and as a document. Pure.
#include "docker/status/status.hpp"

#include <array>
#include <ctime>
#include <utility>

#include "base/error.hpp"
#include "base/program.hpp"

namespace vethgate::docker {
namespace {

constexpr std::uint64_t kMinute = 60;
constexpr std::uint64_t kHour = 3'600;
constexpr std::uint64_t kDay = 86'400;

std::string momentText(std::uint64_t second, std::uint64_t now) {
  const auto at = static_cast<std::time_t>(second);
  std::tm parts{};
  std::array<char, 32> text{};
  // A stamp saturates, far beyond what has a date.
  if (!std::in_range<std::time_t>(second) || gmtime_r(&at, &parts) == nullptr ||
      std::strftime(text.data(), text.size(), "%F %T UTC", &parts) == 0) {
    return "unix second " + std::to_string(second);
  }
  return std::string(text.data()) +
         (second > now ? ", in " + spanText(second - now) : ", " + spanText(now - second) + " ago");
}

std::string line(const char* name, const std::string& value) {
  constexpr std::size_t kWidth = 14;
  std::string text = name;
  text.resize(kWidth, ' ');
  return text + printable(value) + "\n";
}

// Each text of a list of the verdict's, which may be absent.
std::string listText(const Json& verdict, const char* field, const char* name) {
  std::string text;
  if (const auto list = verdict.find(field); list != verdict.end() && list->is_array()) {
    for (const Json& entry : *list) {
      text += line(name, entry.is_string() ? entry.get<std::string>() : entry.dump());
    }
  }
  return text;
}

std::string dropsText(const Json& verdict) {
  std::string text;
  if (const auto drops = verdict.find("drops"); drops != verdict.end() && drops->is_object()) {
    for (const auto& [rule, packets] : drops->items()) {
      if (packets != 0) {
        text += line("dropped",
                     packets.dump() + (packets == 1 ? " packet" : " packets") + " by " + rule);
      }
    }
  }
  return text.empty() ? line("dropped", "nothing so far") : text;
}

std::string verdictWord(const Status& status) {
  return status.verdict.is_null() ? "no verdict" : status.verdict.at("verdict").get<std::string>();
}

}  // namespace

std::string spanText(std::uint64_t seconds) {
  const auto two = [](std::uint64_t first, const char* large, std::uint64_t second,
                      const char* small) {
    return std::to_string(first) + large + std::to_string(second) + small;
  };
  if (seconds < kMinute) {
    return std::to_string(seconds) + " s";
  }
  if (seconds < kHour) {
    return two(seconds / kMinute, " min ", seconds % kMinute, " s");
  }
  if (seconds < kDay) {
    return two(seconds / kHour, " h ", seconds % kHour / kMinute, " min");
  }
  return two(seconds / kDay, " d ", seconds % kDay / kHour, " h");
}

std::string statusJson(const Status& status, std::uint64_t now) {
  const auto orNull = [](const std::optional<std::uint64_t>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  std::optional<std::uint64_t> age;
  if (status.created && *status.created <= now) {
    age = now - *status.created;
  }
  const nlohmann::ordered_json document = {{"job", status.subject.job},
                                           {"owner", status.subject.owner},
                                           {"id", status.subject.id},
                                           {"holder", printable(status.holder)},
                                           {"age", orNull(age)},
                                           {"deadline", status.subject.deadline},
                                           {"remove_after", orNull(status.removeAfter)},
                                           {"verdict", status.verdict}};
  return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string statusText(const Status& status, std::uint64_t now) {
  std::string text = line("job", status.subject.job + " of " + status.subject.owner);
  text += line("verdict", verdictWord(status));
  text += listText(status.verdict, "reasons", "reason");
  text += listText(status.verdict, "unchecked", "unchecked");
  if (!status.verdict.is_null()) {
    text += dropsText(status.verdict);
  }
  text += line("holder", status.holder + ", " + status.subject.id);
  if (status.created) {
    text += line("age", spanText(*status.created <= now ? now - *status.created : 0));
  }
  text += line("deadline", momentText(status.subject.deadline, now));
  if (status.removeAfter) {
    text += line("remove after", momentText(*status.removeAfter, now));
  }
  return text;
}

std::string statusSentence(const Status& status) {
  const std::string job = "job " + status.subject.job;
  if (status.verdict.is_null()) {
    return job + ": its holder is " + status.holder +
           ", and no namespace is there without a running one";
  }
  if (status.code == ExitCode::kDone) {
    return job + " is contained";
  }
  const Json& reasons = status.verdict.value("reasons", Json::array());
  return job + " is refused: " +
         (reasons.is_array() && !reasons.empty() && reasons.front().is_string()
              ? reasons.front().get<std::string>()
              : std::string("no reason was given"));
}

}  // namespace vethgate::docker
