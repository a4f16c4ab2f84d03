// How a call to the container engine fails, and what its caller may conclude from that.
// It must not know which call it was.
#pragma once

#include <cstddef>
#include <string>

#include "base/error.hpp"

namespace vethgate::docker {

enum class Outcome {
  kNotSent,     // not a byte of the request left: the engine did nothing for it
  kUnanswered,  // sent, whole or in part, and no whole answer came: what it did is unknown
  kRefused,     // a whole answer that is no success; a create that answers so may still have begun
  kAbsent,      // a 404 that names the object asked for: the engine's own word that it has none
};

// ExitCode::kEngine, or kDeadline when time ran out. Only kAbsent says anything about existence.
class EngineFailure : public Failure {
 public:
  EngineFailure(ExitCode code, Outcome outcome, int status, const std::string& message)
      : Failure(code, message), outcome_(outcome), status_(status) {}
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }
  // The HTTP status of the answer; 0 when there was none.
  [[nodiscard]] int status() const noexcept { return status_; }

 private:
  Outcome outcome_;
  int status_;
};

// What of an engine's own words is repeated in a sentence of ours.
inline constexpr std::size_t kMaxQuotedBytes = 300;
// `text` for people: printable ASCII, at most kMaxQuotedBytes.
[[nodiscard]] std::string quoted(std::string text);

}  // namespace vethgate::docker
