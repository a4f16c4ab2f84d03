// The instruments themselves: a test network in which everything is within reach, and an oracle
// that knows a container that never ran from one that is contained.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/runtime.hpp"
#include "tests/live/fixture/topology.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};

std::vector<std::string> everyTarget(const Job& job) {
  std::vector<std::string> targets(kServices.begin(), kServices.end());
  targets.push_back(job.linkLocalTarget());
  return targets;
}

TEST(Fixture, EveryTargetIsWithinReachWithoutAPlan) {
  Host host;
  const Job job(host);
  const PayloadReport report = runPayload(Runtime::kProcess, job, everyTarget(job));
  for (const std::string& target : everyTarget(job)) {
    EXPECT_EQ(report.outcome(target), Outcome::kConnected) << target << "\n" << report;
  }
}

TEST(Fixture, ContainersReachWhatAProcessReaches) {
  Host host;
  for (const Runtime runtime : {Runtime::kRunc, Runtime::kCrun}) {
    const Job job(host);
    const PayloadReport report = runPayload(runtime, job, everyTarget(job));
    for (const std::string& target : everyTarget(job)) {
      EXPECT_EQ(report.outcome(target), Outcome::kConnected) << name(runtime) << " " << target;
    }
    EXPECT_TRUE(report.onThisKernel()) << report;
    EXPECT_FALSE(report.onGvisor()) << report;
  }
}

TEST(GvisorFixture, GvisorReachesWhatAProcessReaches) {
  Host host;
  for (const Runtime runtime : {Runtime::kRunscBookworm, Runtime::kRunscBackports}) {
    const Job job(host);
    const PayloadReport report = runPayload(runtime, job, everyTarget(job));
    for (const std::string& target : everyTarget(job)) {
      EXPECT_EQ(report.outcome(target), Outcome::kConnected) << name(runtime) << " " << target;
    }
    EXPECT_TRUE(report.onGvisor()) << report;
    EXPECT_FALSE(report.onThisKernel()) << report;
  }
}

// A second payload in a namespace that gVisor has used finds no address. Its failures must not read
// as containment.
TEST(GvisorFixture, DeadStackIsNotContainment) {
  Host host;
  const Job job(host);
  const std::string allowed(kAllowedTcp);
  ASSERT_EQ(runPayload(Runtime::kRunscBookworm, job, {allowed}).outcome(allowed),
            Outcome::kConnected);
  const PayloadReport second = runPayload(Runtime::kRunc, job, {allowed});
  EXPECT_EQ(second.outcome(allowed), Outcome::kFailed) << second;
}

TEST(Fixture, ProgramThatDoesNotExistNeverStarted) {
  Host host;
  const Job job(host);
  const std::string denied(kDeniedTcp);
  const PayloadReport report = runPayload(Runtime::kRunc, job, {denied}, "/no-such-program");
  caseMeasured("fixture.runc.no-such-program", report.outcome(denied));
  EXPECT_EQ(report.outcome(denied), Outcome::kNeverStarted) << report;
}

TEST(GvisorFixture, ProgramThatDoesNotExistNeverStarted) {
  Host host;
  const Job job(host);
  const std::string denied(kDeniedTcp);
  const PayloadReport report =
      runPayload(Runtime::kRunscBookworm, job, {denied}, "/no-such-program");
  caseMeasured("fixture.runsc.no-such-program", report.outcome(denied));
  EXPECT_EQ(report.outcome(denied), Outcome::kNeverStarted) << report;
}

TEST(Fixture, OutcomeNeedsBothMarkersAndACleanExit) {
  const std::string target(kDeniedTcp);
  const std::string result = "result " + target + " refused\n";
  const auto outcome = [&](const std::string& text, int exit) {
    return PayloadReport({.exit = exit, .out = text}).outcome(target);
  };
  EXPECT_EQ(outcome("started\n" + result + "done\n", 0), Outcome::kRefused);
  EXPECT_EQ(outcome(result + "done\n", 0), Outcome::kNeverStarted);
  EXPECT_EQ(outcome("started\n" + result, 0), Outcome::kNeverStarted);
  EXPECT_EQ(outcome("started\n" + result + "done\n", 1), Outcome::kToolFailed);
  EXPECT_EQ(outcome("", 1), Outcome::kNeverStarted);
  EXPECT_EQ(outcome("started\ndone\n", 0), Outcome::kNotTried);
}

TEST(Fixture, ClosedPortAnswersAndIsNotContainment) {
  Host host;
  const Job job(host);
  const std::string closed = "tcp:203.0.113.2:9";
  const PayloadReport report = runPayload(Runtime::kProcess, job, {closed});
  EXPECT_EQ(report.outcome(closed), Outcome::kFailed) << report;
}

TEST(Fixture, TapSeesAndServiceReceivesAFrame) {
  Host host;
  const Job job(host);
  const RawSender sender(job);
  WireTap tap(job);
  for (const Shape shape : {Shape::kWhole, Shape::kOptions, Shape::kFragments}) {
    for (const std::string_view to : {kDeniedV4, kDeniedV6}) {
      const std::string cookie = std::string(name(shape)) + (to == kDeniedV4 ? " v4" : " v6");
      const std::vector<Bytes> frames =
          buildFrames(job, {.to = std::string(to), .port = 9999, .cookie = cookie, .shape = shape});
      for (const Bytes& frame : frames) {
        sender.send(frame);
      }
      EXPECT_TRUE(host.services().waitFor(cookie, kPatience)) << cookie;
      EXPECT_TRUE(tap.waitFor(cookie, kPatience)) << cookie;
      EXPECT_EQ(tap.count(cookie), frames.size()) << cookie;
    }
  }
}

}  // namespace
}  // namespace vethgate::live
