#include "docker/sweep/clock.hpp"

#include <unistd.h>

#include <charconv>
#include <ctime>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/program.hpp"

namespace vethgate::docker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMaxProcBytes = 65'536;

milliseconds read(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) {
    throw Failure(ExitCode::kDefect, "a clock cannot be read");
  }
  constexpr std::int64_t kNanosecondsEach = 1'000'000;
  return seconds(now.tv_sec) + milliseconds(now.tv_nsec / kNanosecondsEach);
}

// Field 22 of proc(5)'s stat, in ticks since the boot; the second field, a name in brackets, may
// hold anything.
std::optional<std::uint64_t> startTicks(std::string_view stat) {
  constexpr int kFieldsBetween = 20;
  std::size_t at = stat.rfind(')');
  for (int i = 0; i < kFieldsBetween && at != std::string_view::npos; ++i) {
    at = stat.find(' ', at + 1);
  }
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  std::uint64_t ticks = 0;
  const auto [stop, error] =
      std::from_chars(stat.data() + at + 1, stat.data() + stat.size(), ticks);
  return error == std::errc() ? std::optional(ticks) : std::nullopt;
}

}  // namespace

Clocks readClocks() { return {read(CLOCK_REALTIME), read(CLOCK_BOOTTIME)}; }

std::optional<std::string> ClockWatch::problem(const Clocks& now) {
  const std::optional<Clocks> last = std::exchange(last_, now);
  if (!last) {
    return std::nullopt;
  }
  const milliseconds jump = (now.unix - last->unix) - (now.boot - last->boot);
  const auto text = [](milliseconds by) {
    return std::to_string(std::chrono::duration_cast<seconds>(by).count()) + " s";
  };
  if (jump < -kClockTolerance) {
    return "the clock went back by " + text(-jump) + " since the last pass";
  }
  if (jump > interval_ + kClockGrace) {
    return "the clock went forward by " + text(jump) +
           " more than the time that passed since the last pass";
  }
  return std::nullopt;
}

std::optional<seconds> processAge(std::uint64_t pid, const std::string& container) {
  if (pid == 0 || container.empty()) {
    return std::nullopt;
  }
  const std::string process = "/proc/" + std::to_string(pid);
  try {
    if (readFile(process + "/cgroup", "cgroup", kMaxProcBytes).find(container) ==
        std::string::npos) {
      return std::nullopt;
    }
    const std::optional<std::uint64_t> started =
        startTicks(readFile(process + "/stat", "stat", kMaxProcBytes));
    const long perSecond = sysconf(_SC_CLK_TCK);
    if (!started || perSecond <= 0) {
      return std::nullopt;
    }
    const seconds start(static_cast<std::int64_t>(*started) / perSecond);
    return std::chrono::duration_cast<seconds>(read(CLOCK_BOOTTIME)) - start;
  } catch (const Failure&) {
    return std::nullopt;  // it has ended
  }
}

}  // namespace vethgate::docker
