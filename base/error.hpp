// The exit codes of every vethgate command and the one exception type that carries them.
#pragma once

#include <stdexcept>
#include <string>

namespace vethgate {

// What the caller of any command may conclude; the README has the table with the action to take.
enum class ExitCode : int {
  kDone = 0,
  kDefect = 1,          // a defect in vethgate itself
  kBadInput = 2,        // the input is not acceptable; nothing was touched
  kPartialWrite = 3,    // writing failed part-way: the namespace must be destroyed
  kEmptyPlan = 4,       // a plan without a rule
  kUntouchable = 5,     // the plan or the namespace holds what the applier will not touch
  kUnsupported = 6,     // the kernel or image lacks a named mechanism; nothing was touched
  kWrongNamespace = 7,  // not the job's namespace or link
  kRefused = 8,         // the readback is refused
  kEngine = 9,          // the container engine failed or did not answer
  kDeadline = 10,       // a deadline passed
};

// Thrown anywhere, caught once in runMain(). The message is one plain sentence that names the
// object, what was found and what was expected.
class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

[[noreturn]] inline void badInput(const std::string& message) {
  throw Failure(ExitCode::kBadInput, message);
}

}  // namespace vethgate
