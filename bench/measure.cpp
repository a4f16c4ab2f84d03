#include "bench/measure.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "base/deadline.hpp"

namespace vethgate::bench {
namespace {

live::Descriptor openFile(const std::string& path, int flags) {
  live::Descriptor file(open(path.empty() ? "/dev/null" : path.c_str(), flags | O_CLOEXEC));
  if (!file.valid()) {
    throw std::runtime_error("cannot open " + path);
  }
  return file;
}

double milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

// False when `child` had to be ended at the deadline. It is not reaped yet.
bool waitForEnd(pid_t child, const Deadline& deadline) {
  // glibc 2.36 has a wrapper, whose declaration C++ cannot link.
  const live::Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  pollfd ending{handle.get(), POLLIN, 0};
  if (handle.valid() && poll(&ending, 1, deadline.remainingMs()) == 1) {
    return true;
  }
  kill(child, SIGKILL);
  return false;
}

}  // namespace

Measured measure(const std::vector<std::string>& argv, const std::string& input,
                 const live::Namespace& in, Addresses addresses) {
  const live::Descriptor from = openFile(input, O_RDONLY);
  const live::Descriptor nowhere = openFile("", O_WRONLY);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  const auto started = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    if ((addresses == Addresses::kRandom || personality(ADDR_NO_RANDOMIZE) >= 0) &&
        setns(in.fd(), CLONE_NEWNET) == 0 && dup2(from.get(), STDIN_FILENO) >= 0 &&
        dup2(nowhere.get(), STDOUT_FILENO) >= 0 && dup2(nowhere.get(), STDERR_FILENO) >= 0) {
      execvp(arguments.front(), arguments.data());
    }
    _exit(127);
  }
  if (child < 0) {
    throw std::runtime_error("cannot run " + argv.front());
  }
  const bool ended = waitForEnd(child, Deadline::after(kMeasuredTime));
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child || !ended || status != 0) {
    throw std::runtime_error(
        argv.front() +
        (ended ? " ended with wait status " + std::to_string(status)
               : " did not end within " + std::to_string(kMeasuredTime.count()) + " seconds"));
  }
  return {took.count(), milliseconds(usage.ru_utime), milliseconds(usage.ru_stime),
          usage.ru_maxrss};
}

}  // namespace vethgate::bench
