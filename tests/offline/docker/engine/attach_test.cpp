// The connection of an attach: input in, both streams out, and everything that can go wrong on it.
#include "docker/engine/attach.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/offline/docker/engine/support.hpp"

namespace vethgate::docker {
namespace {

using test::Connection;
using test::expectFailure;
using test::later;
using test::soon;
using test::StandIn;

const std::string kUpgraded =
    "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
    "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n";

std::string frame(char stream, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string bytes{stream, 0, 0, 0};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>(size >> shift & 0xff);
  }
  return bytes + text;
}

Output converse(const StandIn& engine, const std::string& input, const Deadline& deadline,
                bool withInput = true) {
  return Engine(engine.socket()).attach("job-1", withInput, deadline).converse(input, deadline);
}

void expectEnd(const StandIn::Handler& handler, ExitCode code, Outcome outcome,
               const std::string& part, const Deadline& deadline = later()) {
  const StandIn engine(handler);
  expectFailure([&] { static_cast<void>(converse(engine, "input", deadline)); }, code, outcome,
                part);
}

TEST(Attach, CarriesInputAndBothStreams) {
  const StandIn engine([](Connection& connection) {
    connection.send(kUpgraded);
    const std::string input = connection.receiveToEnd();
    connection.send(frame(1, "got " + input) + frame(2, "log\n") + frame(1, "!"));
  });
  const Output output = converse(engine, "a plan", later());
  EXPECT_EQ(output.out, "got a plan!");
  EXPECT_EQ(output.err, "log\n");
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].method, "POST");
  EXPECT_EQ(received[0].target,
            "/v1.41/containers/job-1/attach?stream=true&stdout=true&stderr=true&stdin=true");
  EXPECT_EQ(received[0].headers.at("upgrade"), "tcp");
  EXPECT_EQ(received[0].headers.at("connection"), "Upgrade");
}

TEST(Attach, TakesOutputThatCameWithTheAnswer) {
  const StandIn engine(
      [](Connection& connection) { connection.send(kUpgraded + frame(1, "early")); });
  EXPECT_EQ(converse(engine, "", later()).out, "early");
}

TEST(Attach, WithoutInputReadsOnly) {
  const StandIn engine(
      [](Connection& connection) { connection.send(kUpgraded + frame(1, "link")); });
  EXPECT_EQ(converse(engine, "", later(), false).out, "link");
  EXPECT_THAT(engine.received().at(0).target, testing::HasSubstr("stdin=false"));
}

// Larger than any socket's buffer in both directions at once: whoever only writes first hangs.
TEST(Attach, WritesAndReadsAtTheSameTime) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  const StandIn engine([](Connection& connection) {
    connection.send(kUpgraded);
    connection.send(frame(1, std::string(kBytes, 'o')));
    const std::string input = connection.receiveToEnd();
    connection.send(frame(2, std::to_string(input.size())));
  });
  const Output output = converse(engine, std::string(kBytes, 'i'), later());
  EXPECT_EQ(output.out, std::string(kBytes, 'o'));
  EXPECT_EQ(output.err, std::to_string(kBytes));
}

TEST(Attach, HearsAContainerThatLeavesItsInputUnread) {
  const StandIn engine([](Connection& connection) {
    connection.send(kUpgraded + frame(2, "the plan is not acceptable\n"));
    connection.drop();
  });
  const Output output = converse(engine, std::string(std::size_t{4} << 20, 'i'), later());
  EXPECT_EQ(output.err, "the plan is not acceptable\n");
}

// As an engine leaves the connection of a container that ended early: closed, input unread.
TEST(Attach, HearsAllThatWasSaidBeforeAReset) {
  for (int i = 0; i < 50; ++i) {
    const StandIn engine([](Connection& connection) {
      connection.send(kUpgraded + frame(1, "all of it"));
      connection.awaitUnread();
    });
    EXPECT_EQ(converse(engine, "never read", later()).out, "all of it");
  }
}

Output firstLine(const StandIn& engine, const Deadline& deadline) {
  return Engine(engine.socket())
      .attach("job-1", false, deadline)
      .converse("", deadline, Attachment::Until::kLine);
}

// In pieces, and of a container that goes on.
TEST(Attach, LeavesAContainerThatHasSaidItsLine) {
  const StandIn engine([](Connection& connection) {
    connection.send(kUpgraded + frame(1, "the li") + frame(2, "log\n") + frame(1, "nk\n"));
    connection.holdUntilClientLeaves();
  });
  const Output output = firstLine(engine, later());
  EXPECT_EQ(output.out, "the link\n");
  EXPECT_EQ(output.err, "log\n");
}

TEST(Attach, HearsOfAContainerThatEndsWithoutALine) {
  const StandIn engine([](Connection& connection) {
    connection.send(kUpgraded + frame(1, "half") + frame(2, "the reason\n"));
  });
  const Output output = firstLine(engine, later());
  EXPECT_EQ(output.out, "half");
  EXPECT_EQ(output.err, "the reason\n");
}

TEST(Attach, EndsAtItsDeadline) {
  // Before the answer, and while the container is silent.
  expectEnd([](Connection& connection) { connection.holdUntilClientLeaves(); }, ExitCode::kDeadline,
            Outcome::kUnanswered, "the deadline passed", soon());
  expectEnd(
      [](Connection& connection) {
        connection.send(kUpgraded + frame(1, "half"));
        // The input's end is no end of the connection.
        static_cast<void>(connection.receiveToEnd());
        connection.holdForever();
      },
      ExitCode::kDeadline, Outcome::kUnanswered, "the deadline passed", soon());
  const StandIn engine([](Connection& connection) { connection.send(kUpgraded); });
  expectFailure(
      [&] {
        static_cast<void>(converse(engine, "", Deadline::after(std::chrono::milliseconds(0))));
      },
      ExitCode::kDeadline, Outcome::kNotSent, "before it was sent");
  EXPECT_TRUE(engine.received().empty());
}

TEST(Attach, TakesNoGarbageForOutput) {
  for (const std::string& garbage :
       {std::string("{\"verdict\":\"contained\"}"), frame(3, "x"), frame(0, "x"),
        std::string("\1\0\0\0\x7f\xff\xff\xff", 8) + "x"}) {
    expectEnd([&](Connection& connection) { connection.send(kUpgraded + garbage); },
              ExitCode::kEngine, Outcome::kUnanswered, "attach to container \"job-1\": ");
  }
  const std::string whole = frame(1, "contained");
  expectEnd(
      [&](Connection& connection) {
        connection.send(kUpgraded + whole.substr(0, whole.size() - 1));
      },
      ExitCode::kEngine, Outcome::kUnanswered, "ends within a frame, 1 bytes short");
}

TEST(Attach, SaysWhyItIsRefused) {
  expectEnd(test::always(404, R"({"message":"No such container: job-1"})"), ExitCode::kEngine,
            Outcome::kAbsent, "No such container: job-1");
  // As docker 20.10 refuses an upgrade.
  expectEnd(test::always(404, "No such container: job-1\r\n"), ExitCode::kEngine, Outcome::kAbsent,
            "\"No such container: job-1\"");
  expectEnd(test::always(404, R"({"message":"No such container: job-12"})"), ExitCode::kEngine,
            Outcome::kRefused, "status 404 where 101 is expected");
  expectEnd(test::always(409, R"({"message":"is paused"})"), ExitCode::kEngine, Outcome::kRefused,
            "is paused");
  expectEnd(test::always(200, ""), ExitCode::kEngine, Outcome::kRefused, "status 200");
  // A refusal on a connection that stays open, as engines leave it.
  expectEnd(
      [](Connection& connection) {
        const std::string body = R"({"message":"kept open"})";
        connection.head(500, body.size());
        connection.send(body);
        connection.holdForever();
      },
      ExitCode::kEngine, Outcome::kRefused, "kept open");
}

TEST(Attach, TakesNothingElseForAnAnswer) {
  expectEnd([](Connection& connection) { connection.drop(); }, ExitCode::kEngine,
            Outcome::kUnanswered, "the connection ended");
  expectEnd([](Connection& connection) { connection.send("HTTP/1.1 101 UPGR"); }, ExitCode::kEngine,
            Outcome::kUnanswered, "the connection ended");
  expectEnd([](Connection& connection) { connection.send("SSH-2.0-x\r\n\r\n"); }, ExitCode::kEngine,
            Outcome::kUnanswered, "no HTTP/1.1 server");
  expectEnd(
      [](Connection& connection) {
        connection.send("HTTP/1.1 101 UPGRADED\r\nX: " + std::string(200'000, 'x'));
      },
      ExitCode::kEngine, Outcome::kUnanswered, "longer than the 65536 bytes");
  expectFailure(
      [] {
        static_cast<void>(Engine("/tmp/vethgate-no-such-socket").attach("job-1", true, later()));
      },
      ExitCode::kEngine, Outcome::kNotSent, "cannot be reached");
}

}  // namespace
}  // namespace vethgate::docker
