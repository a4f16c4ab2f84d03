// Netlink sockets: sending, and receiving with every doubt turned into an error.
// What is checked on each datagram: sent by the kernel (nl_pid 0, AF_NETLINK), not truncated, whole
// messages that fill it exactly, the sequence number and port of the request.
// Sources: netlink(7), linux/netlink.h, Documentation/userspace-api/netlink/intro.rst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/digest.hpp"

namespace vethgate {

// One whole netlink message, struct nlmsghdr included, without trailing padding.
using RawMessage = Bytes;

class NetlinkSocket {
 public:
  // NETLINK_ROUTE or NETLINK_NETFILTER; bound, close-on-exec, NETLINK_EXT_ACK and, for dumps,
  // NETLINK_GET_STRICT_CHK on. Throws Failure(kUnsupported) when the kernel lacks the protocol.
  explicit NetlinkSocket(int protocol);
  ~NetlinkSocket();
  NetlinkSocket(NetlinkSocket&& other) noexcept;
  NetlinkSocket& operator=(NetlinkSocket&& other) noexcept;
  NetlinkSocket(const NetlinkSocket&) = delete;
  NetlinkSocket& operator=(const NetlinkSocket&) = delete;

  [[nodiscard]] int fd() const noexcept;
  [[nodiscard]] std::uint32_t portId() const noexcept;
  void joinGroup(unsigned group);  // RTNLGRP_*, NFNLGRP_*

  // Sends one datagram as it is. Returns false on ENOBUFS; any other failure throws.
  [[nodiscard]] bool sendDatagram(ByteView datagram);
  // The messages of the next datagram; throws Failure(kDeadline) when none came in time. ENOBUFS
  // (the kernel dropped messages for us) throws ReceiveOverrun.
  [[nodiscard]] std::vector<RawMessage> receive(const Deadline& deadline);

  [[nodiscard]] std::uint32_t nextSequence() noexcept { return ++sequence_; }

 private:
  struct mnl_socket* handle_;
  std::uint32_t sequence_;
};

// The outcome of what was asked is unknown: read again, or destroy.
class ReceiveOverrun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Sequence number, port and flags are written into `message` in place.
void stampMessage(RawMessage& message, std::uint32_t sequence, std::uint32_t portId);

// A dump's messages, NLMSG_DONE included, as the kernel sent them. Reads again, up to kDumpAttempts
// times, when the kernel marks the dump interrupted (NLM_F_DUMP_INTR on any message); then throws
// Failure(kRefused). An NLMSG_ERROR answer throws KernelError.
inline constexpr int kDumpAttempts = 5;
[[nodiscard]] std::vector<RawMessage> dump(NetlinkSocket& socket, RawMessage request,
                                           const Deadline& deadline);
// A request that is answered by one message (NFT_MSG_GETGEN).
[[nodiscard]] RawMessage query(NetlinkSocket& socket, RawMessage request, const Deadline& deadline);

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
  int error = 0;        // positive errno, 0 for success
  std::string text;     // NLMSGERR_ATTR_MSG, empty when the kernel gave none
};
// Decodes one NLMSG_ERROR message.
[[nodiscard]] Acknowledgement readAcknowledgement(const RawMessage& message);

}  // namespace vethgate
