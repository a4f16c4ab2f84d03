// Every way in which answers can fail to be the answer.
#include "netlink/dump.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

using Messages = std::vector<RawMessage>;
using testing::HasSubstr;
using wire::refusal;

Exchange exchange() { return {"dump of things", wire::kSequence, wire::kPort}; }

// Feeds one message a datagram, and then all in one: the cut must not matter.
template <class Judge>
void bothWays(const std::vector<RawMessage>& messages, const Judge& judge) {
  judge([&] {
    DumpAssembler assembler(exchange());
    for (const RawMessage& message : messages) {
      static_cast<void>(assembler.feed({message}));
    }
  });
  judge([&] {
    DumpAssembler assembler(exchange());
    static_cast<void>(assembler.feed(messages));
  });
}

void expectRefusal(const std::vector<RawMessage>& messages, const std::string& reason) {
  bothWays(messages, [&](const auto& body) { EXPECT_THAT(refusal(body), HasSubstr(reason)); });
}

TEST(DumpAssembler, CollectsUpToAndWithTheEnd) {
  DumpAssembler assembler(exchange());
  EXPECT_FALSE(assembler.feed({wire::data()}));
  EXPECT_FALSE(assembler.feed({wire::data(), wire::data()}));
  EXPECT_TRUE(assembler.feed({wire::data(), wire::done()}));
  EXPECT_FALSE(assembler.interrupted());
  const Messages expected{wire::data(), wire::data(), wire::data(), wire::data(), wire::done()};
  EXPECT_EQ(expected, std::move(assembler).take());
}

TEST(DumpAssembler, MoreBytesThanItMayHoldAreRefused) {
  const std::size_t size = 2 * wire::data().size() + wire::done().size();
  const auto feedAll = [](std::size_t room) {
    DumpAssembler assembler(exchange(), room);
    EXPECT_FALSE(assembler.feed({wire::data()}));
    EXPECT_TRUE(assembler.feed({wire::data(), wire::done()}));
  };
  feedAll(size);
  EXPECT_THAT(refusal([&] { feedAll(size - 1); }),
              HasSubstr("dump of things: the answer is longer than a dump may be"));
}

TEST(DumpAssembler, AnEmptyDumpIsItsEnd) {
  DumpAssembler assembler(exchange());
  EXPECT_TRUE(assembler.feed({wire::done()}));
  EXPECT_EQ(Messages{wire::done()}, std::move(assembler).take());
}

TEST(DumpAssembler, SeesAnInterruptionOnAnyMessage) {
  constexpr unsigned kInterrupted = NLM_F_MULTI | NLM_F_DUMP_INTR;
  const std::vector<std::vector<RawMessage>> dumps{
      {wire::data(kInterrupted), wire::data(), wire::done()},
      {wire::data(), wire::data(kInterrupted), wire::done()},
      {wire::data(), wire::data(), wire::done(0, kInterrupted)}};
  for (const std::vector<RawMessage>& dump : dumps) {
    DumpAssembler assembler(exchange());
    // It goes on to the end: what is left on the socket would be taken for the next dump's.
    EXPECT_FALSE(assembler.feed({dump[0]}));
    EXPECT_FALSE(assembler.feed({dump[1]}));
    EXPECT_TRUE(assembler.feed({dump[2]}));
    EXPECT_TRUE(assembler.interrupted());
  }
}

TEST(DumpAssembler, RefusesForeignAnswers) {
  expectRefusal({wire::data(), wire::message({.sequence = wire::kSequence + 1}, {}), wire::done()},
                "sequence number 8 where 7");
  expectRefusal({wire::data(), wire::message({.sequence = 0}, {}), wire::done()},
                "sequence number 0 where 7");
  expectRefusal({wire::data(), wire::message({.port = 1}, {}), wire::done()}, "port 1 where 4711");
  expectRefusal({wire::message({.type = NLMSG_DONE, .sequence = 6}, Bytes(4))},
                "sequence number 6 where 7");
  expectRefusal({wire::message({.type = NLMSG_DONE, .port = 0}, Bytes(4))}, "port 0 where 4711");
}

TEST(DumpAssembler, RefusesWhatIsNotPartOfADump) {
  expectRefusal({wire::data(0), wire::done()}, "lacks NLM_F_MULTI");
  expectRefusal({wire::data(), wire::done(0, 0)}, "lacks NLM_F_MULTI");
  expectRefusal({wire::data(), wire::done(), wire::data()}, "follows the end");
  expectRefusal({wire::done(), wire::done()}, "follows the end");
  expectRefusal({wire::data(), wire::message({.type = NLMSG_NOOP}, {})}, "control type 1");
  expectRefusal({wire::data(), wire::message({.type = NLMSG_OVERRUN}, {})}, "NLMSG_OVERRUN");
  expectRefusal({wire::message({.type = 0}, {})}, "control type 0");
  expectRefusal({wire::message({.type = 15}, {})}, "control type 15");
  expectRefusal({wire::message({.type = NLMSG_DONE}, {})}, "NLMSG_DONE");
}

TEST(DumpAssembler, TellsTheKernelsErrors) {
  const auto expectError = [](const std::vector<RawMessage>& messages, int error,
                              const std::string& text) {
    bothWays(messages, [&](const auto& body) {
      try {
        body();
        ADD_FAILURE() << "nothing was thrown";
      } catch (const KernelError& kernel) {
        EXPECT_EQ(error, kernel.error());
        EXPECT_THAT(kernel.what(), HasSubstr(text));
      }
    });
  };
  expectError({wire::error(-EPERM)}, EPERM, "dump of things: Operation not permitted");
  expectError({wire::data(), wire::error(-EBUSY)}, EBUSY, "busy");
  expectError({wire::data(), wire::done(-ENOENT)}, ENOENT, "No such file");
  expectError({wire::error(-EINVAL, NLM_F_CAPPED | NLM_F_ACK_TLVS,
                           wire::attribute(NLMSGERR_ATTR_MSG, wire::text("Invalid header")))},
              EINVAL, "(Invalid header)");
  // No error, but no dump either.
  expectRefusal({wire::error(0)}, "instead of answering");
}

TEST(RepeatUntilWhole, ReadsAgainAndThenRefuses) {
  int attempts = 0;
  const auto interruptedTimes = [&](int times) {
    attempts = 0;
    return repeatUntilWhole(
        [&attempts, times] {
          const unsigned flags = NLM_F_MULTI | (++attempts <= times ? NLM_F_DUMP_INTR : 0U);
          DumpAssembler assembler(exchange());
          EXPECT_TRUE(assembler.feed({wire::data(flags), wire::done()}));
          return assembler;
        },
        "dump of things");
  };
  const Messages whole{wire::data(), wire::done()};
  EXPECT_EQ(whole, interruptedTimes(0));
  EXPECT_EQ(1, attempts);
  // What the interrupted ones held is not in the answer.
  EXPECT_EQ(whole, interruptedTimes(kDumpAttempts - 1));
  EXPECT_EQ(kDumpAttempts, attempts);
  EXPECT_THAT(refusal([&] { static_cast<void>(interruptedTimes(kDumpAttempts)); }),
              HasSubstr("dump of things: interrupted by changes 5 times"));
  EXPECT_EQ(kDumpAttempts, attempts);
}

TEST(SoleAnswer, IsExactlyOneMessage) {
  const Bytes answer = wire::message({.flags = 0}, {1, 2, 3, 4});
  EXPECT_EQ(answer, soleAnswer(exchange(), {answer}));
  const auto reason = [](std::vector<RawMessage> messages) {
    return refusal([&] { static_cast<void>(soleAnswer(exchange(), std::move(messages))); });
  };
  EXPECT_THAT(reason({answer, answer}), HasSubstr("2 messages"));
  EXPECT_THAT(reason({}), HasSubstr("0 messages"));
  EXPECT_THAT(reason({wire::data()}), HasSubstr("part of a dump"));
  EXPECT_THAT(reason({wire::done(0, 0)}), HasSubstr("part of a dump"));
  EXPECT_THAT(reason({wire::message({.flags = 0, .sequence = 1}, {})}), HasSubstr("sequence"));
  EXPECT_THAT(reason({wire::message({.flags = 0, .port = 1}, {})}), HasSubstr("port 1"));
  EXPECT_THAT(reason({wire::error(0)}), HasSubstr("instead of answering"));
  EXPECT_THROW(static_cast<void>(soleAnswer(exchange(), {wire::error(-EPERM)})), KernelError);
}

}  // namespace
}  // namespace vethgate
