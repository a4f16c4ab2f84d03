// vethgate-hold: owns a job's network namespace and does nothing. It lives as long as the job's
// container does and ends at once when it is told to: every signal but those two is ignored.
// `--probe NAME` says first what vethgate-probe would say of the namespace: a container of its own
// for that would take longer to start than all of vethgate's programs together take to run.
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/program.hpp"
#include "confine/confine.hpp"
#include "probe/report.hpp"

namespace vethgate {
namespace {

void blockSignals() {
  sigset_t everything;
  sigfillset(&everything);
  if (pthread_sigmask(SIG_SETMASK, &everything, nullptr) != 0) {
    throw Failure(ExitCode::kDefect, "the signals cannot be blocked");
  }
}

// sigwait() and not a handler: the kernel discards a signal that the first process of a container
// neither handles nor blocks.
[[noreturn]] void hold() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  int signal = 0;
  while (sigwait(&ends, &signal) != 0) {
  }
  // Not exit(): what that would clean up, the filter forbids and the kernel does.
  _exit(static_cast<int>(ExitCode::kDone));
}

}  // namespace
}  // namespace vethgate

int main(int argc, char** argv) {
  return vethgate::runMain("vethgate-hold", [&]() -> int {
    vethgate::keepOnlyCapabilities({});
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (!arguments.empty() &&
        (arguments.size() != 2 || arguments[0] != "--probe" || arguments[1].empty())) {
      vethgate::badInput("there are no arguments but --probe NAME, found \"" + arguments[0] + "\"");
    }
    vethgate::blockSignals();
    if (arguments.empty()) {
      vethgate::lockSyscalls(vethgate::SeccompProfile::kWait);
    } else {
      vethgate::writeAll(
          STDOUT_FILENO,
          vethgate::linkReport(arguments[1], vethgate::SeccompProfile::kNetlinkThenWait));
    }
    vethgate::hold();
  });
}
