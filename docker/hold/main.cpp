// vethgate-hold: owns a job's network namespace and does nothing. It lives as long as the job's
// container does and ends at once when it is told to. As the first process of its container it has
// no children to wait for, and every signal but those two is ignored.
#include <unistd.h>

#include <csignal>

#include "base/error.hpp"
#include "base/program.hpp"
#include "confine/confine.hpp"

namespace vethgate {
namespace {

// sigwait() and not a handler: the kernel discards a signal that the first process of a container
// neither handles nor blocks.
[[noreturn]] void hold() {
  sigset_t everything;
  sigfillset(&everything);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  if (pthread_sigmask(SIG_SETMASK, &everything, nullptr) != 0) {
    throw Failure(ExitCode::kDefect, "the signals cannot be blocked");
  }
  lockSyscalls(SeccompProfile::kWait);
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
    if (argc > 1) {
      vethgate::badInput("there are no arguments, found \"" + std::string(argv[1]) + "\"");
    }
    vethgate::hold();
  });
}
