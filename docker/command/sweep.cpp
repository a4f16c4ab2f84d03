// `vethgate sweep` and `vethgate reap`. A first signal ends a pass behind the removal that it came
// in, a second one that removal.
#include <poll.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"
#include "docker/command/signals.hpp"
#include "docker/establish/request.hpp"
#include "docker/sweep/report.hpp"
#include "docker/sweep/watch.hpp"

namespace vethgate::docker {
namespace {

// True when a signal came in that time, or before.
bool waitForSignal(const Interrupt& signal, std::chrono::milliseconds span) {
  const Deadline deadline = Deadline::after(span);
  pollfd waiting{signal.fd(), POLLIN, 0};
  while (!signal.raised() && !deadline.passed()) {
    static_cast<void>(poll(&waiting, 1, deadline.remainingMs()));
  }
  return signal.raised();
}

SweepOptions optionsOf(const SweepCommand& command, const Interrupt& signal) {
  SweepOptions options;
  options.dryRun = command.dryRun;
  options.stopping = [&signal] { return signal.raised(); };
  options.age = processAge;
  return options;
}

int answer(const PassInfo& info, const SweepReport& report) {
  writeAll(STDOUT_FILENO, reportJson(info, report));
  const ExitCode code = reportCode(info, report);
  if (code != ExitCode::kDone) {
    tell("vethgate", reportSentence(info, report));
  }
  return static_cast<int>(code);
}

}  // namespace

int runSweep(const SweepCommand& command) {
  const std::string& owner = checkedId(command.owner, "--owner");
  const Signals& signals = takeSignals();
  const Engine engine(command.socket, &signals.second);
  const SweepOptions options = optionsOf(command, signals.first);
  if (command.watch) {
    watch(engine, owner, std::chrono::seconds(command.interval), options,
          {.clocks = readClocks, .wait = [&](std::chrono::milliseconds span) {
             return waitForSignal(signals.first, span);
           }});
    return static_cast<int>(ExitCode::kDone);
  }
  Cursor cursor = Cursor::anywhere();
  return answer({"sweep", owner, command.dryRun, {}},
                loggedSweep(engine, owner, unixNow(), cursor, options));
}

int runReap(const SweepCommand& command) {
  const std::string& owner = checkedId(command.owner, "--owner");
  const Signals& signals = takeSignals();
  const Engine engine(command.socket, &signals.second);
  return answer({"reap", owner, command.dryRun, {}},
                loggedReap(engine, owner, optionsOf(command, signals.first)));
}

}  // namespace vethgate::docker
