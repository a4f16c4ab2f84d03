// Datagrams as the kernel sends them, and as nobody but a forger or a defect would.
#include "netlink/datagram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

using Messages = std::vector<RawMessage>;
using testing::HasSubstr;
using wire::refusal;

Datagram fromKernel(const Bytes& bytes) {
  Datagram datagram;
  datagram.bytes = bytes;
  datagram.sender.nl_family = AF_NETLINK;
  datagram.senderLength = sizeof(sockaddr_nl);
  return datagram;
}

std::string splitRefusal(const Datagram& datagram) {
  return refusal([&] { static_cast<void>(splitDatagram(datagram)); });
}

TEST(SplitDatagram, TakesOneAndSeveralMessages) {
  const Bytes odd = wire::message({}, {1, 2, 3, 4, 5});
  EXPECT_EQ(Messages{wire::data()}, splitDatagram(fromKernel(wire::data())));
  const Bytes several = wire::join({odd, {0, 0, 0}, wire::data(), wire::done()});
  EXPECT_EQ((Messages{odd, wire::data(), wire::done()}), splitDatagram(fromKernel(several)));
}

TEST(SplitDatagram, TheLastMessageMayLackItsPaddingButNotEndAmidIt) {
  const Bytes odd = wire::message({}, {1, 2, 3, 4, 5});
  EXPECT_EQ(Messages{odd}, splitDatagram(fromKernel(odd)));
  const Bytes padded = wire::join({odd, {0, 0, 0}});
  EXPECT_EQ(Messages{odd}, splitDatagram(fromKernel(padded)));
  const Bytes amid = wire::join({odd, {0, 0}});
  EXPECT_THAT(splitRefusal(fromKernel(amid)), HasSubstr("amid the padding"));
  const Bytes dirty = wire::join({odd, {0, 0, 1}});
  EXPECT_THAT(splitRefusal(fromKernel(dirty)), HasSubstr("not zero"));
}

TEST(SplitDatagram, RefusesEverySenderButTheKernel) {
  const Bytes bytes = wire::data();
  Datagram process = fromKernel(bytes);
  process.sender.nl_pid = 1234;
  EXPECT_THAT(splitRefusal(process), HasSubstr("port 1234"));
  Datagram family = fromKernel(bytes);
  family.sender.nl_family = AF_UNIX;
  EXPECT_THAT(splitRefusal(family), HasSubstr("without a netlink sender"));
  Datagram shortAddress = fromKernel(bytes);
  shortAddress.senderLength = sizeof(sockaddr_nl) - 1;
  EXPECT_THAT(splitRefusal(shortAddress), HasSubstr("without a netlink sender"));
  Datagram noAddress = fromKernel(bytes);
  noAddress.senderLength = 0;
  EXPECT_THAT(splitRefusal(noAddress), HasSubstr("without a netlink sender"));
}

TEST(SplitDatagram, RefusesTruncatedAndEmpty) {
  const Bytes bytes = wire::data();
  Datagram truncated = fromKernel(bytes);
  truncated.truncated = true;
  EXPECT_THAT(splitRefusal(truncated), HasSubstr("longer than"));
  EXPECT_THAT(splitRefusal(fromKernel({})), HasSubstr("empty"));
}

TEST(SplitDatagram, RefusesLengthsThatDoNotHold) {
  const auto withLength = [](std::uint32_t length) {
    Bytes bytes = wire::data();
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes;
  };
  EXPECT_EQ(1U, splitDatagram(fromKernel(withLength(20))).size());
  for (const std::uint32_t length : {0U, 1U, 15U, 21U, 0x7fffffffU, 0xffffffffU}) {
    const Bytes bytes = withLength(length);
    EXPECT_THAT(splitRefusal(fromKernel(bytes)),
                HasSubstr("says it is " + std::to_string(length) + " bytes"));
  }
  // A whole header, and four bytes that are none of it.
  const Bytes rest = withLength(16);
  EXPECT_THAT(splitRefusal(fromKernel(rest)), HasSubstr("4 bytes are left over"));
}

TEST(SplitDatagram, EveryShortenedDatagramIsRefused) {
  const Bytes whole = wire::join({wire::data(), wire::done()});
  ASSERT_EQ(2U, splitDatagram(fromKernel(whole)).size());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (size == wire::data().size()) {
      continue;  // ends between the two: the missing NLMSG_DONE is the assembler's to see
    }
    EXPECT_NE("nothing was thrown", splitRefusal(fromKernel(cut))) << size;
  }
}

TEST(MessageHeader, WantsExactlyOneMessage) {
  EXPECT_EQ(20U, messageHeader(wire::data()).nlmsg_len);
  const Bytes longer = wire::join({wire::data(), {0}});
  EXPECT_THAT(refusal([&] { static_cast<void>(messageHeader(longer)); }), HasSubstr("21 bytes"));
  EXPECT_THAT(refusal([] { static_cast<void>(messageHeader(Bytes(15))); }), HasSubstr("shorter"));
}

TEST(Acknowledgement, Success) {
  const Acknowledgement acknowledgement = readAcknowledgement(wire::error(0));
  EXPECT_EQ(0, acknowledgement.error);
  EXPECT_EQ(wire::kSequence, acknowledgement.sequence);
  EXPECT_EQ("", acknowledgement.text);
}

TEST(Acknowledgement, ErrorWithTheKernelsText) {
  const Bytes attributes =
      wire::join({wire::attribute(NLMSGERR_ATTR_MSG, wire::text("Filter exists")),
                  wire::attribute(NLMSGERR_ATTR_OFFS, {28, 0, 0, 0})});
  const Acknowledgement acknowledgement =
      readAcknowledgement(wire::error(-EEXIST, NLM_F_CAPPED | NLM_F_ACK_TLVS, attributes));
  EXPECT_EQ(EEXIST, acknowledgement.error);
  EXPECT_EQ("Filter exists", acknowledgement.text);
}

TEST(Acknowledgement, RequestThatWasNotCapped) {
  const Bytes request =
      wire::join({wire::raw(nlmsghdr{22, 0x12, NLM_F_REQUEST, 1, 2}), {1, 2, 3, 4, 5, 6, 0, 0}});
  const Bytes message =
      wire::message({.type = NLMSG_ERROR, .flags = NLM_F_ACK_TLVS},
                    wire::join({wire::raw(std::int32_t{-EINVAL}), request,
                                wire::attribute(NLMSGERR_ATTR_MSG, wire::text("no"))}));
  EXPECT_EQ("no", readAcknowledgement(message).text);
  // The request says that it is longer than what is left of the message.
  Bytes overlong = message;
  overlong[20] = 0xff;
  EXPECT_THAT(refusal([&] { static_cast<void>(readAcknowledgement(overlong)); }),
              HasSubstr("says it is 255 bytes"));
  overlong[20] = 15;
  EXPECT_THAT(refusal([&] { static_cast<void>(readAcknowledgement(overlong)); }),
              HasSubstr("says it is 15 bytes"));
}

TEST(Acknowledgement, RefusesWhatCannotBeReadCompletely) {
  const auto reason = [](const Bytes& message) {
    return refusal([&] { static_cast<void>(readAcknowledgement(message)); });
  };
  EXPECT_EQ("nothing was thrown", reason(wire::error(-EPERM)));
  EXPECT_THAT(reason(wire::error(EPERM)), HasSubstr("negative errno"));
  EXPECT_THAT(reason(wire::error(-4096)), HasSubstr("negative errno"));
  EXPECT_THAT(reason(wire::error(INT32_MIN)), HasSubstr("negative errno"));
  EXPECT_THAT(reason(wire::data()), HasSubstr("NLMSG_ERROR"));
  EXPECT_THAT(reason(wire::message({.type = NLMSG_ERROR, .flags = 0}, Bytes(19))),
              HasSubstr("too short"));
  EXPECT_THAT(reason(wire::error(0, NLM_F_CAPPED, {0, 0, 0, 0})), HasSubstr("NLM_F_ACK_TLVS"));
  EXPECT_THAT(reason(wire::error(0, NLM_F_CAPPED | NLM_F_ACK_TLVS)), HasSubstr("NLM_F_ACK_TLVS"));
  // What is wrong with the explanation does not hide the kernel's own error.
  EXPECT_THAT(reason(wire::error(-EEXIST, NLM_F_CAPPED | NLM_F_ACK_TLVS,
                                 wire::attribute(99, {1, 2, 3, 4}))),
              testing::AllOf(HasSubstr("attribute 99"), HasSubstr("File exists")));
}

TEST(Done, SuccessAndFailure) {
  EXPECT_EQ(0, readDone(wire::done()).error);
  EXPECT_EQ(EBUSY, readDone(wire::done(-EBUSY)).error);
  const Bytes explained =
      wire::message({.type = NLMSG_DONE, .flags = NLM_F_MULTI | NLM_F_ACK_TLVS},
                    wire::join({wire::raw(std::int32_t{-EINVAL}),
                                wire::attribute(NLMSGERR_ATTR_MSG, wire::text("Unknown filter"))}));
  EXPECT_EQ("Unknown filter", readDone(explained).text);
}

TEST(Done, RefusesWhatIsNotExactlyAnEnd) {
  const auto reason = [](const Bytes& message) {
    return refusal([&] { static_cast<void>(readDone(message)); });
  };
  EXPECT_EQ("nothing was thrown", reason(wire::done()));
  EXPECT_THAT(reason(wire::data()), HasSubstr("NLMSG_DONE"));
  EXPECT_THAT(reason(wire::message({.type = NLMSG_DONE}, {})), HasSubstr("NLMSG_DONE"));
  EXPECT_THAT(reason(wire::message({.type = NLMSG_DONE}, {0, 0, 0})), HasSubstr("NLMSG_DONE"));
  EXPECT_THAT(reason(wire::message({.type = NLMSG_DONE}, Bytes(8))), HasSubstr("NLM_F_ACK_TLVS"));
  EXPECT_THAT(reason(wire::done(1)), HasSubstr("negative errno"));
  EXPECT_THAT(
      reason(wire::message(
          {.type = NLMSG_DONE, .flags = NLM_F_ACK_TLVS},
          wire::join({Bytes(4), wire::attribute(NLMSGERR_ATTR_MSG, wire::text("partial"))}))),
      HasSubstr("warning \"partial\""));
}

}  // namespace
}  // namespace vethgate
