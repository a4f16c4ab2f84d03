#include "bench/measure.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <stdexcept>

namespace vethgate::bench {
namespace {

live::Descriptor openFile(const std::string& path, int flags) {
  live::Descriptor file(open(path.empty() ? "/dev/null" : path.c_str(), flags | O_CLOEXEC, 0600));
  if (!file.valid()) {
    throw std::runtime_error("cannot open " + path);
  }
  return file;
}

}  // namespace

Measured measure(const std::vector<std::string>& argv, const std::string& input,
                 const std::string& output, const live::Namespace& in) {
  const live::Descriptor from = openFile(input, O_RDONLY);
  const live::Descriptor to = openFile(output, O_WRONLY | O_CREAT | O_TRUNC);
  const live::Descriptor nowhere = openFile("", O_WRONLY);
  std::vector<char*> arguments;
  for (const std::string& argument : argv) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);

  const auto started = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child == 0) {
    if (setns(in.fd(), CLONE_NEWNET) == 0 && dup2(from.get(), STDIN_FILENO) >= 0 &&
        dup2(to.get(), STDOUT_FILENO) >= 0 && dup2(nowhere.get(), STDERR_FILENO) >= 0) {
      execvp(arguments.front(), arguments.data());
    }
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) {
    throw std::runtime_error("cannot run " + argv.front());
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - started;
  Measured result{took.count(), usage.ru_maxrss, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
  if (result.exit != 0) {
    throw std::runtime_error(argv.front() + " ended with status " + std::to_string(result.exit));
  }
  return result;
}

}  // namespace vethgate::bench
