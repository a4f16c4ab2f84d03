// The transport against the running kernel. Only reads, of whatever namespace the test is in: every
// one has a loopback.
#include "netlink/socket.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "netlink/message.hpp"
#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

using testing::HasSubstr;
using wire::refusal;

Deadline soon() { return Deadline::after(std::chrono::seconds(10)); }

RawMessage linkRequest(std::uint16_t flags = 0) {
  MessageBuilder builder(RTM_GETLINK, flags);
  builder.header(ifinfomsg{});
  return std::move(builder).finish();
}

TEST(NetlinkSocket, DumpsLinksToTheEnd) {
  NetlinkSocket socket(NETLINK_ROUTE);
  for (int round = 0; round < 2; ++round) {
    const std::vector<RawMessage> messages = dump(socket, linkRequest(), soon());
    ASSERT_GE(messages.size(), 2U);
    EXPECT_EQ(RTM_NEWLINK, messageHeader(messages.front()).nlmsg_type);
    EXPECT_EQ(NLMSG_DONE, messageHeader(messages.back()).nlmsg_type);
    EXPECT_EQ(socket.portId(), messageHeader(messages.front()).nlmsg_pid);
  }
}

TEST(NetlinkSocket, TellsTheKernelsErrorWithItsText) {
  NetlinkSocket socket(NETLINK_ROUTE);
  // Under NETLINK_GET_STRICT_CHK a dump whose header holds values is an error, not silently more.
  MessageBuilder builder(RTM_GETLINK, 0);
  ifinfomsg header{};
  header.ifi_change = 1;
  builder.header(header);
  try {
    static_cast<void>(dump(socket, std::move(builder).finish(), soon()));
    FAIL() << "the kernel took it";
  } catch (const KernelError& error) {
    EXPECT_EQ(EINVAL, error.error());
    EXPECT_THAT(error.what(), HasSubstr("Invalid values in header"));
  }
  // And the socket is good for the next request.
  EXPECT_GE(dump(socket, linkRequest(), soon()).size(), 2U);
}

TEST(NetlinkSocket, QueriesOneLink) {
  NetlinkSocket socket(NETLINK_ROUTE);
  const auto query1 = [&](int index, std::uint16_t flags) {
    MessageBuilder builder(RTM_GETLINK, flags);
    ifinfomsg header{};
    header.ifi_index = index;
    builder.header(header);
    return query(socket, std::move(builder).finish(), soon());
  };
  const RawMessage answer = query1(1, 0);
  ifinfomsg link{};
  std::memcpy(&link, answer.data() + sizeof(nlmsghdr), sizeof link);
  EXPECT_EQ(1, link.ifi_index);
  try {
    static_cast<void>(query1(2'000'000'000, 0));
    FAIL() << "there is such a link";
  } catch (const KernelError& error) {
    EXPECT_EQ(ENODEV, error.error());
  }
  EXPECT_THAT(refusal([&] { static_cast<void>(query1(1, NLM_F_ACK)); }, ExitCode::kDefect),
              HasSubstr("more than one answer"));
}

TEST(NetlinkSocket, NoAnswerIsADeadline) {
  NetlinkSocket socket(NETLINK_ROUTE);
  const auto deadline = Deadline::after(std::chrono::milliseconds(20));
  EXPECT_THAT(refusal([&] { static_cast<void>(socket.receive(deadline)); }, ExitCode::kDeadline),
              HasSubstr("did not answer in time"));
}

TEST(NetlinkSocket, AnswersAfterTheDeadlineAreNotTaken) {
  NetlinkSocket socket(NETLINK_ROUTE);
  RawMessage request = linkRequest(NLM_F_DUMP);
  stampMessage(request, socket.nextSequence(), socket.portId());
  ASSERT_TRUE(socket.sendDatagram(request));
  const auto passed = Deadline::after(std::chrono::milliseconds(-1));
  EXPECT_THAT(refusal([&] { static_cast<void>(socket.receive(passed)); }, ExitCode::kDeadline),
              HasSubstr("did not answer in time"));
}

TEST(NetlinkSocket, AnswersToSomebodyElsesRequestAreRefused) {
  NetlinkSocket socket(NETLINK_ROUTE);
  RawMessage request = linkRequest(NLM_F_DUMP);
  stampMessage(request, 999'999, socket.portId());
  ASSERT_TRUE(socket.sendDatagram(request));
  EXPECT_THAT(refusal([&] { static_cast<void>(dump(socket, linkRequest(), soon())); }),
              testing::AnyOf(HasSubstr("sequence number 999999"), HasSubstr("busy")));
}

TEST(NetlinkSocket, AForgedDatagramOfAnotherProcessIsRefused) {
  // Any process may send to a netlink port when the protocol allows it: NETLINK_USERSOCK does.
  NetlinkSocket socket(NETLINK_USERSOCK);
  NetlinkSocket forger(NETLINK_USERSOCK);
  sockaddr_nl target{};
  target.nl_family = AF_NETLINK;
  target.nl_pid = socket.portId();
  const Bytes forged = wire::done();
  ASSERT_EQ(static_cast<ssize_t>(forged.size()),
            sendto(forger.fd(), forged.data(), forged.size(), 0,
                   reinterpret_cast<const sockaddr*>(&target), sizeof target))
      << std::strerror(errno);
  EXPECT_THAT(refusal([&] { static_cast<void>(socket.receive(soon())); }),
              HasSubstr("sent by port " + std::to_string(forger.portId())));
}

TEST(NetlinkSocket, LostMessagesAreAnOverrun) {
  NetlinkSocket socket(NETLINK_USERSOCK);
  NetlinkSocket sender(NETLINK_USERSOCK);
  constexpr unsigned kGroup = 1;
  socket.joinGroup(kGroup);
  sockaddr_nl group{};
  group.nl_family = AF_NETLINK;
  group.nl_groups = 1U << (kGroup - 1);
  const Bytes forged = wire::message({}, Bytes(32000));
  for (int i = 0; i < 100; ++i) {
    // Broadcasts are dropped at a full receiver, which then learns of it by ENOBUFS.
    static_cast<void>(sendto(sender.fd(), forged.data(), forged.size(), 0,
                             reinterpret_cast<const sockaddr*>(&group), sizeof group));
  }
  EXPECT_THROW(static_cast<void>(socket.receive(soon())), ReceiveOverrun);
}

TEST(NetlinkSocket, ReservesBuffers) {
  NetlinkSocket socket(NETLINK_ROUTE);
  const auto sizeOf = [&](int option) {
    int size = 0;
    socklen_t length = sizeof size;
    EXPECT_EQ(0, getsockopt(socket.fd(), SOL_SOCKET, option, &size, &length));
    return size;
  };
  socket.reserveReceiveBuffer(std::size_t{60} << 10);
  socket.reserveSendBuffer(std::size_t{70} << 10);
  EXPECT_EQ(2 * 60 << 10, sizeOf(SO_RCVBUF));
  EXPECT_EQ(2 * 70 << 10, sizeOf(SO_SNDBUF));
}

TEST(NetlinkSocket, AProtocolThatTheKernelLacksIsUnsupported) {
  EXPECT_THAT(refusal([] { const NetlinkSocket socket(MAX_LINKS - 1); }, ExitCode::kUnsupported),
              HasSubstr("netlink protocol 31"));
}

TEST(NetlinkSocket, MovesWithItsDescriptor) {
  NetlinkSocket first(NETLINK_ROUTE);
  const int fd = first.fd();
  NetlinkSocket second = std::move(first);
  EXPECT_EQ(fd, second.fd());
  EXPECT_GE(dump(second, linkRequest(), soon()).size(), 2U);
}

TEST(StampMessage, WritesInPlaceAndAddsTheRequestFlag) {
  RawMessage message = wire::message({.flags = NLM_F_ACK, .sequence = 0, .port = 0}, {1, 2, 3, 4});
  stampMessage(message, 5, 6);
  EXPECT_EQ(
      wire::message({.flags = NLM_F_ACK | NLM_F_REQUEST, .sequence = 5, .port = 6}, {1, 2, 3, 4}),
      message);
}

}  // namespace
}  // namespace vethgate
