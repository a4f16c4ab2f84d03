#include "docker/sweep/watch.hpp"

#include <algorithm>
#include <optional>

#include "base/json.hpp"
#include "base/log.hpp"
#include "docker/sweep/report.hpp"

namespace vethgate::docker {
namespace {

using std::chrono::milliseconds;

void logProblem(const char* event, const std::string& owner, const std::string& text) {
  logEvent(LogLevel::kError, event, {{"owner", owner}, {"text", text}});
}

template <class Run>
SweepReport logged(PassInfo info, const Run& run) {
  const milliseconds started = readClocks().boot;
  try {
    SweepReport report = run();
    info.took = readClocks().boot - started;
    logReport(info, report);
    return report;
  } catch (const ClockFailure& failure) {
    logProblem("sweep.clock", info.owner, failure.what());
    throw;
  } catch (const Failure& failure) {
    logProblem("sweep.error", info.owner, failure.what());
    throw;
  }
}

std::uint64_t unixSecondOf(const Clocks& clocks) {
  return static_cast<std::uint64_t>(
      std::max<std::int64_t>(0, std::chrono::floor<std::chrono::seconds>(clocks.unix).count()));
}

}  // namespace

SweepReport loggedSweep(const Engine& engine, const std::string& owner, std::uint64_t now,
                        Cursor& cursor, const SweepOptions& options) {
  return logged({"sweep", owner, options.dryRun, {}},
                [&] { return sweep(engine, owner, now, cursor, options); });
}

SweepReport loggedReap(const Engine& engine, const std::string& owner,
                       const SweepOptions& options) {
  return logged({"reap", owner, options.dryRun, {}}, [&] { return reap(engine, owner, options); });
}

void watch(const Engine& engine, const std::string& owner, std::chrono::seconds interval,
           const SweepOptions& options, const WatchHooks& hooks) {
  ClockWatch clock(interval);
  Cursor cursor = Cursor::anywhere();
  while (true) {
    const Clocks started = hooks.clocks();
    if (const std::optional<std::string> problem = clock.problem(started)) {
      logProblem("sweep.clock", owner, *problem + ": this pass removes nothing, the next may");
    } else {
      try {
        static_cast<void>(loggedSweep(engine, owner, unixSecondOf(started), cursor, options));
      } catch (const Failure&) {
        // It is in the log; the engine may answer the next time.
      }
    }
    const milliseconds took = hooks.clocks().boot - started.boot;
    if (hooks.wait(std::max(milliseconds(0), interval - took))) {
      return;
    }
  }
}

}  // namespace vethgate::docker
