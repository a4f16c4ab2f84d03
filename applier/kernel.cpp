// The kernel itself, by way of netlink/. It must not know what is written.
#include "applier/kernel.hpp"

#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "base/error.hpp"

namespace vethgate {
namespace {

// netlink_sendmsg() refuses what does not fit into the send buffer less some bookkeeping.
constexpr std::size_t kSendOverhead = 4096;
// What one queued acknowledgement costs of a receive buffer: a socket buffer's own size and the
// smallest data area, 768 to 960 bytes as measured on 6.1, 6.12 and 6.18; a long text of the kernel
// takes the next size.
constexpr std::size_t kAnswerBytes = 2048;
constexpr std::size_t kMinBuffer = std::size_t{256} << 10;

std::size_t granted(const NetlinkSocket& socket, int option) {
  int size = 0;
  socklen_t length = sizeof size;
  if (getsockopt(socket.fd(), SOL_SOCKET, option, &size, &length) != 0) {
    throw Failure(ExitCode::kDefect, "a netlink socket's buffer size cannot be read: " +
                                         std::generic_category().message(errno));
  }
  return static_cast<std::size_t>(size);
}

// Before anything is written, since a datagram that does not fit would be found out half-way.
void requireBuffer(const NetlinkSocket& socket, int option, const char* name, std::size_t bytes) {
  if (const std::size_t got = granted(socket, option); got < bytes) {
    throw Failure(ExitCode::kUnsupported,
                  "the plan needs a netlink " + std::string(name) + " buffer of " +
                      std::to_string(bytes) + " bytes and the system grants " +
                      std::to_string(got) +
                      "; more needs CAP_NET_ADMIN or a higher net.core limit");
  }
}

void reserve(NetlinkSocket& socket, Channel channel, const std::vector<Step>& steps) {
  std::size_t sendBytes = kMinBuffer;
  std::size_t answers = 0;
  for (const Step& step : steps) {
    if (step.channel != channel) {
      continue;
    }
    sendBytes = std::max(sendBytes, step.datagram.size() + kSendOverhead);
    answers = std::max(answers, expectedAnswers(step));
  }
  const std::size_t receiveBytes = std::max(kMinBuffer, answers * kAnswerBytes);
  socket.reserveSendBuffer(sendBytes);
  socket.reserveReceiveBuffer(receiveBytes);
  requireBuffer(socket, SO_SNDBUF, "send", sendBytes);
  requireBuffer(socket, SO_RCVBUF, "receive", receiveBytes);
}

}  // namespace

KernelSockets::KernelSockets(const std::vector<Step>& steps)
    : route_(NETLINK_ROUTE), netfilter_(NETLINK_NETFILTER) {
  reserve(route_, Channel::kRoute, steps);
  reserve(netfilter_, Channel::kNetfilter, steps);
}

std::vector<RawMessage> KernelSockets::dump(Channel channel, RawMessage request,
                                            const Deadline& deadline) {
  return vethgate::dump(socket(channel), std::move(request), deadline);
}

RawMessage KernelSockets::query(Channel channel, RawMessage request, const Deadline& deadline) {
  return vethgate::query(socket(channel), std::move(request), deadline);
}

bool KernelSockets::send(Channel channel, ByteView datagram) {
  return socket(channel).sendDatagram(datagram);
}

std::vector<RawMessage> KernelSockets::receive(Channel channel, const Deadline& deadline) {
  return socket(channel).receive(deadline);
}

std::uint32_t KernelSockets::nextSequence(Channel channel) {
  return socket(channel).nextSequence();
}

std::uint32_t KernelSockets::portId(Channel channel) const {
  return channel == Channel::kRoute ? route_.portId() : netfilter_.portId();
}

}  // namespace vethgate
