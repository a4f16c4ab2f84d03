#include "base/program.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>

#include "base/error.hpp"

namespace vethgate {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() { close(fd_); }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// A standard descriptor that is closed would be taken by the first socket, and an answer would be
// written into that. What stands in for it can be read, to its end, and not be written.
bool standardDescriptorsHeld() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) {
      return false;
    }
  }
  return true;
}

std::string lastError() { return std::generic_category().message(errno); }

// Until read(2) will not block, whatever it then says; what poll(2) fails at, read(2) explains.
void waitForInput(int fd, const std::string& what, const Deadline& deadline) {
  pollfd waiting{fd, POLLIN, 0};
  if (fd < 0) {
    return;  // which poll(2) would wait for until the deadline
  }
  int ready = 0;
  while (ready == 0 || (ready < 0 && errno == EINTR)) {
    if (deadline.passed()) {
      throw Failure(ExitCode::kDeadline, what + ": its end did not come in time");
    }
    ready = poll(&waiting, 1, deadline.remainingMs());
  }
}

}  // namespace

int runMain(std::string_view program, const std::function<int()>& body) {
  // A reader that went away must not take the exit code with it: write() fails instead.
  (void)std::signal(SIGPIPE, SIG_IGN);
  if (!standardDescriptorsHeld()) {
    return static_cast<int>(ExitCode::kDefect);
  }
  ExitCode code = ExitCode::kDefect;
  std::string message;
  try {
    return body();
  } catch (const Failure& failure) {
    code = failure.code();
    message = failure.what();
  } catch (const std::exception& error) {
    message = std::string("defect in vethgate: ") + error.what();
  }
  tell(program, message);
  return static_cast<int>(code);
}

void tell(std::string_view program, const std::string& sentence) {
  const std::string line = std::string(program) + ": " + printable(sentence) + "\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return text;
}

std::string readAll(int fd, const std::string& what, std::size_t maxBytes,
                    const Deadline& deadline) {
  std::string text;
  std::array<char, 65536> chunk;  // NOLINT(cppcoreguidelines-pro-type-member-init): read() fills it
  for (;;) {
    waitForInput(fd, what, deadline);
    const ssize_t got = read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      badInput(what + ": cannot be read: " + lastError());
    }
    if (got == 0) {
      return text;
    }
    if (text.size() + static_cast<std::size_t>(got) > maxBytes) {
      badInput(what + ": longer than the " + std::to_string(maxBytes) + " bytes that are accepted");
    }
    text.append(chunk.data(), static_cast<std::size_t>(got));
  }
}

std::string readFile(const std::string& path, const std::string& what, std::size_t maxBytes) {
  if (path == "-") {
    return readAll(STDIN_FILENO, what, maxBytes);
  }
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) {
    badInput(what + ": " + path + " cannot be opened: " + lastError());
  }
  return readAll(file.get(), what, maxBytes);
}

void writeAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) {
      continue;
    }
    if (wrote < 0) {
      throw Failure(ExitCode::kDefect, "the answer cannot be written: " + lastError());
    }
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

}  // namespace vethgate
