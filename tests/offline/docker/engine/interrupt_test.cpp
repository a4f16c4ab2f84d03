// Calls that are ended from outside, while they wait and before they are sent.
#include "docker/engine/interrupt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "tests/offline/docker/engine/support.hpp"

namespace vethgate::docker {
namespace {

using test::always;
using test::Connection;
using test::expectFailure;
using test::failureOf;
using test::kId;
using test::later;
using test::StandIn;
using testing::IsEmpty;

ContainerSpec aSpec() {
  ContainerSpec spec;
  spec.name = "job-1";
  spec.image = "vethgate:1";
  spec.command = {"/vethgate-hold"};
  spec.network = "none";
  return spec;
}

TEST(Interrupt, IsReadableForGood) {
  Interrupt interrupt;
  pollfd waiting{interrupt.fd(), POLLIN, 0};
  EXPECT_FALSE(interrupt.raised());
  EXPECT_EQ(poll(&waiting, 1, 0), 0);
  for (int i = 0; i < 3; ++i) {
    interrupt.raise();
    EXPECT_TRUE(interrupt.raised());
    EXPECT_EQ(poll(&waiting, 1, 0), 1);
  }
}

// An engine that never answers, and raises the interrupt once it was asked.
class Interrupted : public testing::Test {
 protected:
  Interrupt interrupt_;
  StandIn standIn_{[this](Connection& connection) {
    interrupt_.raise();
    connection.holdForever();
  }};
  Engine engine_{standIn_.socket(), &interrupt_};
};

TEST_F(Interrupted, CallsThatWaitEndUnanswered) {
  expectFailure([&] { engine_.ping(later()); }, ExitCode::kDeadline, Outcome::kUnanswered,
                "ping: interrupted before its end");
  EXPECT_EQ(standIn_.received().size(), 1U);
}

TEST_F(Interrupted, CallsThatComeLaterAreNotSent) {
  interrupt_.raise();
  EXPECT_TRUE(engine_.interrupted());
  const std::vector<std::function<void()>> calls{
      [&] { engine_.ping(later()); },
      [&] { static_cast<void>(engine_.createContainer(aSpec(), later())); },
      [&] { static_cast<void>(engine_.removeContainer("job-1", later())); },
      [&] { static_cast<void>(engine_.attach("job-1", true, later())); }};
  for (const auto& call : calls) {
    expectFailure(call, ExitCode::kDeadline, Outcome::kNotSent, "interrupted before it was sent");
  }
  EXPECT_THAT(standIn_.received(), IsEmpty());
  // Of the engine, not of the machine.
  const StandIn other(always(200, "OK"));
  EXPECT_NO_THROW(Engine(other.socket()).ping(later()));
}

TEST_F(Interrupted, AnAttachEnds) {
  expectFailure([&] { static_cast<void>(engine_.attach("job-1", true, later())); },
                ExitCode::kDeadline, Outcome::kUnanswered, "interrupted before its end");
}

TEST_F(Interrupted, AConversationEnds) {
  const StandIn talking([&](Connection& connection) {
    connection.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    static_cast<void>(connection.receiveToEnd());
    interrupt_.raise();
    connection.holdForever();
  });
  Attachment streams = Engine(talking.socket(), &interrupt_).attach(kId, true, later());
  expectFailure([&] { static_cast<void>(streams.converse("input", later())); }, ExitCode::kDeadline,
                Outcome::kUnanswered, "interrupted before its end");
}

// Whoever made a container and is told of it knows more than one who only asked for it.
TEST_F(Interrupted, ACreateIsStillHeardOut) {
  const StandIn slow([&](Connection& connection) {
    interrupt_.raise();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    connection.answer(201, R"({"Id":")" + kId + R"(","Warnings":[]})");
  });
  EXPECT_EQ(Engine(slow.socket(), &interrupt_).createContainer(aSpec(), later()).id, kId);
}

TEST_F(Interrupted, ACreateIsNotHeardOutForEver) {
  expectFailure([&] { static_cast<void>(engine_.createContainer(aSpec(), later())); },
                ExitCode::kDeadline, Outcome::kUnanswered, "interrupted before its end");
}

// The way it is meant to be used: the handler may run in any thread, at any moment.
Interrupt* ofTheHandler = nullptr;

TEST(Interrupt, MayBeRaisedByASignalsHandler) {
  Interrupt interrupt;
  ofTheHandler = &interrupt;
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = [](int) { ofTheHandler->raise(); };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  const StandIn silent([](Connection& connection) {
    raise(SIGUSR1);
    connection.holdForever();
  });
  expectFailure([&] { Engine(silent.socket(), &interrupt).ping(later()); }, ExitCode::kDeadline,
                Outcome::kUnanswered, "interrupted");
  ASSERT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

}  // namespace
}  // namespace vethgate::docker
