#include "docker/engine/interrupt.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/error.hpp"

namespace vethgate::docker {

Interrupt::Interrupt() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) {
    throw Failure(ExitCode::kDefect, "eventfd: " + std::generic_category().message(errno));
  }
}

Interrupt::~Interrupt() { close(fd_); }

void Interrupt::raise() noexcept {
  // Of a handler, whose thread may be between a call and its errno.
  const int before = errno;
  raised_.store(true);
  constexpr std::uint64_t kOne = 1;
  [[maybe_unused]] const auto written = write(fd_, &kOne, sizeof kOne);
  errno = before;
}

}  // namespace vethgate::docker
