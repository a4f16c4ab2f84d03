// Sockets and the receive loop; see socket.hpp for what they promise.
#include "netlink/socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

std::string errorText(int error) { return std::generic_category().message(error); }

std::string protocolName(int protocol) {
  switch (protocol) {
    case NETLINK_ROUTE:
      return "NETLINK_ROUTE";
    case NETLINK_NETFILTER:
      return "NETLINK_NETFILTER";
    default:
      return "netlink protocol " + std::to_string(protocol);
  }
}

void enableOption(int fd, int option, const std::string& what) {
  const int on = 1;
  if (setsockopt(fd, SOL_NETLINK, option, &on, sizeof on) != 0) {
    throw Failure(ExitCode::kUnsupported, what + " cannot be switched on: " + errorText(errno));
  }
}

void reserveBuffer(int fd, int forced, int plain, std::size_t bytes) {
  // The kernel doubles the value, for its bookkeeping.
  const int size =
      static_cast<int>(std::min<std::size_t>(bytes, std::numeric_limits<int>::max() / 2));
  if (setsockopt(fd, SOL_SOCKET, forced, &size, sizeof size) != 0 &&
      setsockopt(fd, SOL_SOCKET, plain, &size, sizeof size) != 0) {
    throw Failure(ExitCode::kDefect,
                  "a netlink socket's buffer cannot be set: " + errorText(errno));
  }
}

void addFlags(RawMessage& message, std::uint16_t flags) {
  nlmsghdr header = messageHeader(message);
  header.nlmsg_flags |= flags;
  std::memcpy(message.data(), &header, sizeof header);
}

void send(NetlinkSocket& socket, const RawMessage& request, const Exchange& exchange) {
  if (!socket.sendDatagram(request)) {
    throw Failure(ExitCode::kRefused, exchange.what + ": the kernel had no memory for the request");
  }
}

std::vector<RawMessage> receiveFor(NetlinkSocket& socket, const Exchange& exchange,
                                   const Deadline& deadline) {
  try {
    return socket.receive(deadline);
  } catch (const ReceiveOverrun& overrun) {
    throw Failure(ExitCode::kRefused, exchange.what + ": " + overrun.what());
  }
}

std::string describe(const RawMessage& request, const char* kind) {
  return std::string(kind) + " (type " + std::to_string(messageHeader(request).nlmsg_type) +
         ") over netlink";
}

Exchange exchangeFor(NetlinkSocket& socket, RawMessage& request, const char* kind) {
  Exchange exchange;
  exchange.what = describe(request, kind);
  exchange.sequence = socket.nextSequence();
  exchange.portId = socket.portId();
  stampMessage(request, exchange.sequence, exchange.portId);
  return exchange;
}

}  // namespace

NetlinkSocket::Descriptor::~Descriptor() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

NetlinkSocket::Descriptor::Descriptor(Descriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

NetlinkSocket::Descriptor& NetlinkSocket::Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

NetlinkSocket::NetlinkSocket(int protocol)
    : name_(protocolName(protocol)),
      descriptor_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol)),
      buffer_(std::make_unique_for_overwrite<std::uint8_t[]>(kMaxDatagramBytes)) {
  if (fd() < 0) {
    throw Failure(ExitCode::kUnsupported,
                  name_ + ": this kernel opens no such socket: " + errorText(errno));
  }
  // Port 0 lets the kernel choose one.
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd(), generic, length) != 0 || getsockname(fd(), generic, &length) != 0 ||
      length != sizeof address || address.nl_pid == 0) {
    throw Failure(ExitCode::kDefect, name_ + ": the socket cannot be bound: " + errorText(errno));
  }
  portId_ = address.nl_pid;
  enableOption(fd(), NETLINK_EXT_ACK, name_ + ": NETLINK_EXT_ACK");
  enableOption(fd(), NETLINK_CAP_ACK, name_ + ": NETLINK_CAP_ACK");
  if (protocol == NETLINK_ROUTE) {
    enableOption(fd(), NETLINK_GET_STRICT_CHK, name_ + ": NETLINK_GET_STRICT_CHK");
  }
}

NetlinkSocket::~NetlinkSocket() = default;
NetlinkSocket::NetlinkSocket(NetlinkSocket&& other) noexcept = default;
NetlinkSocket& NetlinkSocket::operator=(NetlinkSocket&& other) noexcept = default;

void NetlinkSocket::joinGroup(unsigned group) {
  if (setsockopt(fd(), SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &group, sizeof group) != 0) {
    throw Failure(ExitCode::kUnsupported, name_ + ": group " + std::to_string(group) +
                                              " cannot be joined: " + errorText(errno));
  }
}

void NetlinkSocket::reserveReceiveBuffer(std::size_t bytes) {
  reserveBuffer(fd(), SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

void NetlinkSocket::reserveSendBuffer(std::size_t bytes) {
  reserveBuffer(fd(), SO_SNDBUFFORCE, SO_SNDBUF, bytes);
}

bool NetlinkSocket::sendDatagram(ByteView datagram) {
  sockaddr_nl kernel{};
  kernel.nl_family = AF_NETLINK;
  const ssize_t sent = sendto(fd(), datagram.data(), datagram.size(), 0,
                              reinterpret_cast<const sockaddr*>(&kernel), sizeof kernel);
  if (sent < 0 && errno == ENOBUFS) {
    return false;
  }
  if (sent < 0) {
    throw Failure(ExitCode::kDefect, name_ + ": a datagram of " + std::to_string(datagram.size()) +
                                         " bytes cannot be sent: " + errorText(errno));
  }
  if (static_cast<std::size_t>(sent) != datagram.size()) {
    throw Failure(ExitCode::kDefect, name_ + ": only " + std::to_string(sent) + " of " +
                                         std::to_string(datagram.size()) + " bytes were sent");
  }
  return true;
}

std::vector<RawMessage> NetlinkSocket::receive(const Deadline& deadline) {
  const auto timedOut = [this] {
    return Failure(ExitCode::kDeadline, name_ + ": the kernel did not answer in time");
  };
  for (;;) {
    Datagram datagram;
    iovec vector{buffer_.get(), kMaxDatagramBytes};
    msghdr message{};
    message.msg_name = &datagram.sender;
    message.msg_namelen = sizeof datagram.sender;
    message.msg_iov = &vector;
    message.msg_iovlen = 1;
    const ssize_t got = recvmsg(fd(), &message, MSG_DONTWAIT);
    if (got >= 0) {
      // A kernel that never stops answering is bounded too.
      if (deadline.passed()) {
        throw timedOut();
      }
      datagram.bytes = {buffer_.get(), static_cast<std::size_t>(got)};
      datagram.truncated = (message.msg_flags & MSG_TRUNC) != 0;
      datagram.senderLength = message.msg_namelen;
      return splitDatagram(datagram);
    }
    if (errno == ENOBUFS) {
      throw ReceiveOverrun(name_ +
                           ": the kernel dropped messages that this process was to receive");
    }
    if (errno != EAGAIN && errno != EINTR) {
      throw Failure(ExitCode::kDefect, name_ + ": receiving failed: " + errorText(errno));
    }
    pollfd waiting{fd(), POLLIN, 0};
    if (deadline.passed() || poll(&waiting, 1, deadline.remainingMs()) == 0) {
      throw timedOut();
    }
  }
}

void stampMessage(RawMessage& message, std::uint32_t sequence, std::uint32_t portId) {
  nlmsghdr header = messageHeader(message);
  header.nlmsg_flags |= NLM_F_REQUEST;
  header.nlmsg_seq = sequence;
  header.nlmsg_pid = portId;
  std::memcpy(message.data(), &header, sizeof header);
}

std::vector<RawMessage> dump(NetlinkSocket& socket, RawMessage request, const Deadline& deadline) {
  addFlags(request, NLM_F_DUMP);
  const auto attempt = [&] {
    const Exchange exchange = exchangeFor(socket, request, "dump");
    send(socket, request, exchange);
    DumpAssembler answers(exchange);
    while (!answers.feed(receiveFor(socket, exchange, deadline))) {
    }
    return answers;
  };
  return repeatUntilWhole(attempt, describe(request, "dump"));
}

RawMessage query(NetlinkSocket& socket, RawMessage request, const Deadline& deadline) {
  if ((messageHeader(request).nlmsg_flags & (NLM_F_DUMP | NLM_F_ACK | NLM_F_ECHO)) != 0) {
    throw Failure(ExitCode::kDefect, "a netlink query asks for more than one answer");
  }
  const Exchange exchange = exchangeFor(socket, request, "query");
  send(socket, request, exchange);
  return soleAnswer(exchange, receiveFor(socket, exchange, deadline));
}

}  // namespace vethgate
