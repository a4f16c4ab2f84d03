// What one datagram of the kernel says, judged without a socket: whole messages from the kernel,
// and acknowledgements. Pure, so that every forged answer can be a unit test. Sources: netlink(7),
// linux/netlink.h, RFC 3549.
#pragma once

#include <linux/netlink.h>
#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/digest.hpp"

namespace vethgate {

// One whole netlink message, struct nlmsghdr included, without trailing padding.
using RawMessage = Bytes;

// The kernel builds dump answers in buffers of at most 32 KiB and no single message of the families
// used here comes near this; what is longer is truncated, and so refused.
inline constexpr std::size_t kMaxDatagramBytes = std::size_t{1} << 20;

// A datagram as recvmsg(2) gave it.
struct Datagram {
  ByteView bytes;
  bool truncated = false;  // MSG_TRUNC
  sockaddr_nl sender{};
  socklen_t senderLength = 0;  // msg_namelen
};

// The datagram's messages, in order. Throws Failure(kRefused) when it is truncated, was not sent by
// the kernel, is empty, or is not exactly filled by messages whose lengths hold.
[[nodiscard]] std::vector<RawMessage> splitDatagram(const Datagram& datagram);

// The header of a message that splitDatagram() or a capture reader made; Failure(kRefused) when the
// bytes are not exactly one message.
[[nodiscard]] nlmsghdr messageHeader(ByteView message);

// What the kernel said to one message of a request.
class KernelError : public std::runtime_error {
 public:
  KernelError(const std::string& message, int error) : std::runtime_error(message), error_(error) {}
  [[nodiscard]] int error() const noexcept { return error_; }  // positive errno

 private:
  int error_;
};

struct Acknowledgement {
  std::uint32_t sequence = 0;
  int error = 0;     // positive errno, 0 for success
  std::string text;  // NLMSGERR_ATTR_MSG, empty when the kernel gave none
};
// Decodes one NLMSG_ERROR message; Failure(kRefused) when it cannot be read completely.
[[nodiscard]] Acknowledgement readAcknowledgement(const RawMessage& message);

// Decodes one NLMSG_DONE message: the dump's outcome. Failure(kRefused) as above, and for a dump
// that succeeded with a warning, since what it warns of is not known.
[[nodiscard]] Acknowledgement readDone(const RawMessage& message);

// `what` is the request, for the message; never returns for an acknowledgement with an error.
[[noreturn]] void throwKernelError(const Acknowledgement& acknowledgement, const std::string& what);

}  // namespace vethgate
