// The builder's bytes against literal ones, written down from linux/netlink.h.
#include "netlink/message.hpp"

#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include <array>
#include <functional>
#include <memory>
#include <string>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr std::uint16_t kType = 0x1234;

ExitCode codeOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.code();
  }
  return ExitCode::kDone;
}

TEST(MessageBuilder, WritesHeaderAndEveryKindOfAttribute) {
  MessageBuilder builder(kType, NLM_F_ACK);
  builder.header(std::array<std::uint8_t, 4>{1, 2, 3, 4});
  builder.putFlag(1);
  builder.putU8(2, 0xab);
  builder.putU16(3, 0x0102);
  builder.putU32(4, 0x01020304);
  builder.putU16Be(5, 0x0102);
  builder.putU32Be(6, 0x01020304);
  builder.putU64Be(7, 0x0102030405060708);
  builder.putString(8, "lo");
  EXPECT_EQ(
      // clang-format off
      "54000000" "3412" "0500" "00000000" "00000000"  // length, type, flags, sequence, port
      "01020304"
      "0400" "0100"
      "0500" "0200" "ab000000"
      "0600" "0300" "02010000"
      "0800" "0400" "04030201"
      "0600" "0500" "01020000"
      "0800" "0600" "01020304"
      "0c00" "0700" "0102030405060708"
      "0700" "0800" "6c6f0000",
      // clang-format on
      toHex(std::move(builder).finish()));
}

TEST(MessageBuilder, PadsWithZeros) {
  // The buffer is not cleared, so dirty the stack that it will lie on.
  for (int round = 0; round < 2; ++round) {
    MessageBuilder builder(kType, 0);
    const Bytes payload(round == 0 ? 1000 : 1, 0xff);
    for (std::uint16_t type = 1; type <= 3; ++type) {
      builder.put(type, payload);
    }
    const Bytes bytes = std::move(builder).finish();
    if (round == 1) {
      EXPECT_EQ("05000100ff00000005000200ff00000005000300ff000000",
                toHex(ByteView(bytes).subspan(16)));
    }
  }
}

TEST(MessageBuilder, NestsByScope) {
  MessageBuilder builder(kType, 0);
  {
    const auto outer = builder.nest(1);
    builder.putU8(2, 1);
    {
      const auto inner = builder.nestUnmarked(3);
      builder.putU8(4, 2);
    }
  }
  builder.putU8(5, 3);
  const Bytes bytes = std::move(builder).finish();
  EXPECT_EQ(
      // clang-format off
      "1800" "0180"  // marked NLA_F_NESTED; 4 + 8 + 12 bytes
      "0500" "0200" "01000000"
      "0c00" "0300"
      "0500" "0400" "02000000"
      "0500" "0500" "03000000",
      // clang-format on
      toHex(ByteView(bytes).subspan(16)));
}

TEST(MessageBuilder, AnEmptyNestIsAHeader) {
  MessageBuilder builder(kType, 0);
  { const auto nest = builder.nest(1); }
  const Bytes bytes = std::move(builder).finish();
  EXPECT_EQ("04000180", toHex(ByteView(bytes).subspan(16)));
}

TEST(MessageBuilder, FillsItsRoomExactlyAndNotOneByteMore) {
  constexpr std::size_t kRoom = kMaxMessageBytes - sizeof(nlmsghdr) - sizeof(nlattr);
  MessageBuilder fits(kType, 0);
  fits.put(1, Bytes(kRoom));
  EXPECT_EQ(kMaxMessageBytes, std::move(fits).finish().size());

  EXPECT_EQ(ExitCode::kDefect, codeOf([] {
              MessageBuilder builder(kType, 0);
              builder.put(1, Bytes(kRoom + 1));
            }));
  EXPECT_EQ(ExitCode::kDefect, codeOf([] {
              MessageBuilder builder(kType, 0);
              builder.put(1, Bytes(kRoom));
              builder.putFlag(2);
            }));
  EXPECT_EQ(ExitCode::kDefect, codeOf([] {
              MessageBuilder builder(kType, 0);
              builder.put(1, Bytes(kRoom));
              const auto nest = builder.nest(2);
            }));
  EXPECT_EQ(ExitCode::kDefect, codeOf([] {
              MessageBuilder builder(kType, 0);
              builder.header(std::array<std::uint8_t, kMaxMessageBytes>{});
            }));
  EXPECT_EQ(ExitCode::kDefect, codeOf([] {
              MessageBuilder builder(kType, 0);
              builder.put(1, Bytes(std::size_t{1} << 20));
            }));
}

TEST(MessageBuilder, RefusesAHeaderBehindAnAttribute) {
  MessageBuilder builder(kType, 0);
  builder.header(ifinfomsg{});
  builder.putFlag(1);
  EXPECT_EQ(ExitCode::kDefect, codeOf([&] { builder.header(ifinfomsg{}); }));
}

TEST(MessageBuilder, RefusesATextWithANul) {
  MessageBuilder builder(kType, 0);
  builder.putString(1, "whole");
  EXPECT_EQ(ExitCode::kDefect, codeOf([&] { builder.putString(2, std::string("a\0b", 3)); }));
}

TEST(MessageBuilder, RefusesToFinishWithAnOpenNest) {
  MessageBuilder builder(kType, 0);
  const auto nest = builder.nest(1);
  EXPECT_EQ(ExitCode::kDefect, codeOf([&] { static_cast<void>(std::move(builder).finish()); }));
}

TEST(MessageBuilder, RefusesNestsThatCloseOutOfOrder) {
  // Scopes cannot do this; an owner on the heap can.
  struct Holder {
    explicit Holder(MessageBuilder& builder, std::uint16_t type) : nest(builder.nest(type)) {}
    MessageBuilder::Nest nest;
  };
  MessageBuilder builder(kType, 0);
  auto outer = std::make_unique<Holder>(builder, 1);
  auto inner = std::make_unique<Holder>(builder, 2);
  outer.reset();
  inner.reset();
  EXPECT_EQ(ExitCode::kDefect, codeOf([&] { static_cast<void>(std::move(builder).finish()); }));
}

}  // namespace
}  // namespace vethgate
