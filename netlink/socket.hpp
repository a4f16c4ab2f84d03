// Netlink sockets: sending, and receiving with every doubt turned into an error.
// What is checked on each datagram: sent by the kernel (nl_pid 0, AF_NETLINK), not truncated, whole
// messages that fill it exactly (netlink/datagram.hpp); on each answer, the sequence number and
// port of the request (netlink/dump.hpp). It knows no message type of any family. Sources:
// netlink(7), linux/netlink.h, Documentation/userspace-api/netlink/intro.rst.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "base/digest.hpp"
#include "netlink/datagram.hpp"
#include "netlink/dump.hpp"

namespace vethgate {

// The outcome of what was asked is unknown: read again, or destroy.
class ReceiveOverrun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// NOTE: one socket, one thread, one request at a time. A socket that joined a group is only for
// receive(): on it, notifications would stand between the answers of a dump, which dump() refuses.
class NetlinkSocket {
 public:
  // NETLINK_ROUTE or NETLINK_NETFILTER; bound, close-on-exec, NETLINK_EXT_ACK and NETLINK_CAP_ACK
  // on, for NETLINK_ROUTE also NETLINK_GET_STRICT_CHK, without which the kernel ignores a dump's
  // filters. Throws Failure(kUnsupported) when the kernel lacks the protocol or one of these.
  explicit NetlinkSocket(int protocol);
  ~NetlinkSocket();
  NetlinkSocket(NetlinkSocket&& other) noexcept;
  NetlinkSocket& operator=(NetlinkSocket&& other) noexcept;
  NetlinkSocket(const NetlinkSocket&) = delete;
  NetlinkSocket& operator=(const NetlinkSocket&) = delete;

  [[nodiscard]] int fd() const noexcept { return descriptor_.get(); }
  [[nodiscard]] std::uint32_t portId() const noexcept { return portId_; }
  void joinGroup(unsigned group);  // RTNLGRP_*, NFNLGRP_*

  // Room for at least `bytes` of queued data: by SO_*BUFFORCE past the system's limit, which needs
  // CAP_NET_ADMIN in the initial user namespace, else as much as the limit gives.
  void reserveReceiveBuffer(std::size_t bytes);
  void reserveSendBuffer(std::size_t bytes);

  // Sends one datagram as it is. Returns false on ENOBUFS; any other failure throws
  // Failure(kDefect), EMSGSIZE (a datagram over the send buffer) included.
  [[nodiscard]] bool sendDatagram(ByteView datagram);
  // The messages of the next datagram, at least one; throws Failure(kDeadline) when none came in
  // time. ENOBUFS (the kernel dropped messages for us) throws ReceiveOverrun, what splitDatagram()
  // doubts Failure(kRefused).
  [[nodiscard]] std::vector<RawMessage> receive(const Deadline& deadline);

  [[nodiscard]] std::uint32_t nextSequence() noexcept { return ++sequence_; }

 private:
  class Descriptor {
   public:
    explicit Descriptor(int fd) noexcept : fd_(fd) {}
    ~Descriptor();
    Descriptor(Descriptor&& other) noexcept;
    Descriptor& operator=(Descriptor&& other) noexcept;
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

   private:
    int fd_;
  };
  std::string name_;  // of the protocol, for messages
  Descriptor descriptor_;
  std::unique_ptr<std::uint8_t[]> buffer_;  // kMaxDatagramBytes, touched only as far as used
  std::uint32_t portId_ = 0;
  std::uint32_t sequence_ = 0;
};

// Sequence number and port are written into `message` in place, NLM_F_REQUEST is added.
void stampMessage(RawMessage& message, std::uint32_t sequence, std::uint32_t portId);

// A dump's messages, NLMSG_DONE included, as the kernel sent them; NLM_F_DUMP is added to
// `request`. Reads again, up to kDumpAttempts times, when the kernel marks the dump interrupted
// (NLM_F_DUMP_INTR on any message); then throws Failure(kRefused). An error answer throws
// KernelError, anything that is not exactly a dump Failure(kRefused).
[[nodiscard]] std::vector<RawMessage> dump(NetlinkSocket& socket, RawMessage request,
                                           const Deadline& deadline);
// A request that is answered by exactly one message (NFT_MSG_GETGEN); without NLM_F_ACK and
// NLM_F_DUMP. Errors as for dump().
[[nodiscard]] RawMessage query(NetlinkSocket& socket, RawMessage request, const Deadline& deadline);

}  // namespace vethgate
