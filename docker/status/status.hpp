// `vethgate status`: an established namespace, judged again now, with what the engine knows of its
// holder. It must not know netlink; it changes nothing that is the job's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "docker/engine/engine.hpp"
#include "docker/engine/moment.hpp"

namespace vethgate::docker {

// Of the answer of `vethgate establish`, what a second judgement needs.
// NOLINTNEXTLINE(bugprone-exception-escape): of its move, and nlohmann's own is noexcept
struct Subject {
  std::string job;
  std::string owner;
  std::string id;  // the holder's, 64 digits
  Json policy;
  Json link;
  std::uint64_t deadline = 0;  // unix second
};

// Fields that are for the launch alone are passed over. Failure(kBadInput) when the answer is that
// of another job or owner, when the id is no whole id, and when policy or link are none.
[[nodiscard]] Subject readSubject(std::string_view text, const std::string& job,
                                  const std::string& owner);

struct Status {
  Subject subject;
  std::string holder = "absent";             // or the engine's word: "running", "exited", …
  std::optional<std::uint64_t> created;      // unix second
  std::optional<std::uint64_t> removeAfter;  // of the holder's label, unix second
  Json verdict;  // the verifier's document; null without a running holder
  // kDone, kRefused, kWrongNamespace as the verifier says; kEngine without a running holder.
  ExitCode code = ExitCode::kEngine;
};

// Judges the namespace with a helper of `image`, which is gone again when this returns or throws.
// A holder that does not carry the job's and the owner's labels is Failure(kWrongNamespace).
[[nodiscard]] Status examine(const Engine& engine, const Subject& subject, const std::string& image,
                             std::uint64_t now);

// {"job", "owner", "id", "holder", "age", "deadline", "remove_after", "verdict"} on one line; age
// in seconds, null where the engine did not say.
[[nodiscard]] std::string statusJson(const Status& status, std::uint64_t now);
// The same for people, a line for each fact, drop counters only above 0.
[[nodiscard]] std::string statusText(const Status& status, std::uint64_t now);
// The one that goes last on stderr.
[[nodiscard]] std::string statusSentence(const Status& status);

// "59 s", "3 min 5 s", "2 h 0 min", "3 d 4 h".
[[nodiscard]] std::string spanText(std::uint64_t seconds);

}  // namespace vethgate::docker
