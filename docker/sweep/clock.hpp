// Whether the clock that stamps are compared with has kept to the time that passed. A stamp is a
// second of the clock as it was when the job was asked for: after a jump forward every job would
// seem to be over.
//
// Pure but for readClocks() and processAge(). It must not know what is removed.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace vethgate::docker {

// What steps of that length, which keeping a clock right takes, do not change: they are nothing
// beside the hour that stamps lie behind the deadlines.
inline constexpr std::chrono::seconds kClockTolerance{5};
// A clock may jump forward so far before a job that is within its deadline can seem due.
inline constexpr std::chrono::seconds kClockGrace{3'600};

struct Clocks {
  std::chrono::milliseconds unix{};  // CLOCK_REALTIME
  std::chrono::milliseconds boot{};  // CLOCK_BOOTTIME: what passed, suspended or not; never set
};
[[nodiscard]] Clocks readClocks();

// From one pass to the next.
class ClockWatch {
 public:
  explicit ClockWatch(std::chrono::seconds interval) : interval_(interval) {}

  // One clause when the clock went back, or forward by more than the interval and an hour, since
  // the last call; nullopt when it did not, and the first time.
  [[nodiscard]] std::optional<std::string> problem(const Clocks& now);

 private:
  std::chrono::seconds interval_;
  std::optional<Clocks> last_;
};

// How long a process has run by CLOCK_BOOTTIME, by /proc/PID/stat; nullopt unless its cgroup bears
// the container's id (another machine's or namespace's process, or none, would mislead).
[[nodiscard]] std::optional<std::chrono::seconds> processAge(std::uint64_t pid,
                                                             const std::string& container);

}  // namespace vethgate::docker
