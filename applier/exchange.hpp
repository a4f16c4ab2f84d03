// One step sent and its answers judged: each expected acknowledgement exactly once, nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "applier/kernel.hpp"

namespace vethgate {

struct Refusal {
  StepMessage message;
  int error = 0;     // positive errno
  std::string text;  // the kernel's own words, may be empty

  // "No such file or directory (TC classifier not found)"
  [[nodiscard]] std::string reason() const;
};

enum class Errors : std::uint8_t {
  kFirst,  // stop at the first one: whatever follows it, the step has failed
  kAll,    // wait for every answer
};

// Stamps `step`, sends it and receives what it expects. Returns the messages that the kernel
// refused, in order; empty means that every one was acknowledged. Throws what says that the outcome
// is unknown: ReceiveOverrun, Failure(kDeadline), Failure(kRefused) for an answer that belongs to
// no message of the step, and when the kernel had no memory for the datagram.
[[nodiscard]] std::vector<Refusal> exchange(Kernel& kernel, Step& step, Errors errors,
                                            const Deadline& deadline);

}  // namespace vethgate
