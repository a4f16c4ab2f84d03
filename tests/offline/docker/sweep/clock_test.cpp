// A clock that jumped: between passes, behind the engine's records, and under a running container.
#include "docker/sweep/clock.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "docker/engine/moment.hpp"
#include "tests/offline/docker/sweep/support.hpp"

namespace vethgate::docker {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using test::kNow;
using test::kOwner;
using test::labelsOf;
using test::namesOf;
using test::Yard;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Optional;

constexpr std::chrono::seconds kInterval{300};

// Of a second pass, `passed` later, by a clock that shows `shown` more.
std::optional<std::string> problemAfter(std::chrono::milliseconds passed,
                                        std::chrono::milliseconds shown) {
  ClockWatch watch(kInterval);
  EXPECT_EQ(watch.problem({1'700'000'000s, 5'000s}), std::nullopt);
  return watch.problem({1'700'000'000s + shown, 5'000s + passed});
}

TEST(ClockWatch, ToleratesWhatKeepsAClockRight) {
  EXPECT_EQ(problemAfter(300s, 300s), std::nullopt);
  EXPECT_EQ(problemAfter(300s, 295s), std::nullopt);
  EXPECT_EQ(problemAfter(300s, 300s + 3'900s), std::nullopt);
  // Time that passed is no jump, however much it was: a machine that slept.
  EXPECT_EQ(problemAfter(100h, 100h), std::nullopt);
}

TEST(ClockWatch, SaysWhichWayItJumped) {
  EXPECT_THAT(problemAfter(300s, 294'999ms), Optional(HasSubstr("went back by 5 s")));
  EXPECT_THAT(problemAfter(300s, -1h), Optional(HasSubstr("went back by 3900 s")));
  EXPECT_THAT(problemAfter(300s, 300s + 3'900s + 1ms), Optional(HasSubstr("forward by 3900 s")));
  EXPECT_THAT(problemAfter(0s, 48h), Optional(HasSubstr("forward by 172800 s")));
}

TEST(ClockWatch, ComparesWithThePassBeforeAlone) {
  ClockWatch watch(kInterval);
  EXPECT_EQ(watch.problem({1'000'000s, 0s}), std::nullopt);
  EXPECT_NE(watch.problem({2'000'000s, 300s}), std::nullopt);
  EXPECT_EQ(watch.problem({2'000'300s, 600s}), std::nullopt);
}

TEST(Clocks, AreTheKernels) {
  const Clocks first = readClocks();
  const Clocks second = readClocks();
  EXPECT_GE(second.boot, first.boot);
  EXPECT_GT(first.unix, 1'700'000'000s);
  EXPECT_LT(second.boot - first.boot, 60s);
}

class SweepClock : public testing::Test {
 protected:
  [[nodiscard]] SweepReport sweep(std::uint64_t now = kNow) {
    Cursor cursor;
    return docker::sweep(
        Engine(yard_.socket()), kOwner, now, cursor,
        {.limits = test::kAmple, .age = [this](std::uint64_t pid, const std::string&) {
           const auto found = ages_.find(pid);
           return found == ages_.end() ? std::nullopt : std::optional(found->second);
         }});
  }
  // Started an hour before kNow by the engine's record, due at kNow.
  void addStarted(const std::string& name, const char* role, std::string mode,
                  std::chrono::seconds age) {
    ages_[nextPid_] = age;
    yard_.add({.name = name,
               .labels = labelsOf("job-1", role, kNow),
               .mode = std::move(mode),
               .started = "2023-11-14T21:13:20Z",
               .pid = nextPid_++});
  }
  Yard yard_;
  std::map<std::uint64_t, std::chrono::seconds> ages_;
  unsigned nextPid_ = 100;
};

TEST_F(SweepClock, AContainerFromTheFutureStopsThePass) {
  yard_.addHolder("job-1", kNow);
  yard_.add({.name = "somebody", .created = kNow + 35});
  EXPECT_EQ(sweep(kNow).removed.size(), 1U) << "as much as a slow list explains";
  yard_.addHolder("job-1", kNow);
  yard_.add({.name = "another", .created = kNow + 3'600});
  try {
    static_cast<void>(sweep());
    FAIL() << "no refusal";
  } catch (const ClockFailure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kUnsupported);
    EXPECT_THAT(failure.what(), HasSubstr("3600 s after now: the clock went back"));
  }
  EXPECT_THAT(yard_.removals(), ElementsAre("vethgate-job-1"));
  EXPECT_EQ(sweep(kNow + 3'600).removed.size(), 1U);
}

TEST_F(SweepClock, AReapAsksNoClock) {
  yard_.addHolder("job-1", kNow);
  yard_.add({.name = "somebody", .created = kNow * 2});
  EXPECT_EQ(reap(Engine(yard_.socket()), kOwner, {.limits = test::kAmple}).removed.size(), 1U);
}

TEST_F(SweepClock, WhatRunsIsDueByTheTimeThatPassed) {
  addStarted("vethgate-job-1", kHolderRole, "bridge", 3'600s);
  EXPECT_EQ(unixSecond("2023-11-14T21:13:20Z"), kNow - 3'600);
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));

  // It ran for 10 s, and the clock moved by a day and an hour.
  addStarted("vethgate-job-1", kHolderRole, "bridge", 10s);
  const SweepReport report = sweep(kNow + 86'400);
  EXPECT_THAT(report.removed, IsEmpty());
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].reason, Unfit::kClock);
  EXPECT_THAT(report.skipped[0].text,
              AllOf(HasSubstr("forward by 89990 s"), HasSubstr("vethgate-job-1")));
  // Once that time has passed, the jump changes nothing.
  ages_[101] = 3'600s;
  EXPECT_THAT(namesOf(sweep(kNow + 86'400).removed), ElementsAre("vethgate-job-1"));
}

// Within the hour between deadline and stamp no job is in danger.
TEST_F(SweepClock, AJumpWithinTheHourChangesNothing) {
  addStarted("vethgate-job-1", kHolderRole, "bridge", 10s);
  EXPECT_EQ(sweep(kNow + 10).removed.size(), 1U);
  addStarted("vethgate-job-1", kHolderRole, "bridge", 9s);
  EXPECT_EQ(sweep(kNow + 10).removed.size(), 0U);
}

// The job's own process is not where the engine says; its holder's is.
TEST_F(SweepClock, AJobIsJudgedByItsHoldersTime) {
  addStarted("vethgate-job-1", kHolderRole, "bridge", 10s);
  yard_.addJob("job-1", kNow, std::string(63, '0') + "1");
  const SweepReport report = sweep(kNow + 86'400);
  EXPECT_THAT(report.removed, IsEmpty());
  EXPECT_EQ(report.skipped.size(), 2U);
  EXPECT_THAT(yard_.removals(), IsEmpty());
}

TEST_F(SweepClock, OneThatIsAttachedAndDoubtfulKeepsTheHolder) {
  addStarted("run-of-job-1", kJobRole, "container:" + std::string(63, '0') + "2", 10s);
  yard_.addHolder("job-1", kNow);
  const SweepReport report = sweep(kNow + 86'400);
  ASSERT_THAT(namesOf(report.kept), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(report.kept[0].text, HasSubstr("the clock went forward"));
}

TEST(ProcessAge, IsOfTheContainersProcessAlone) {
  const auto self = static_cast<std::uint64_t>(getpid());
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::getline(file, line);
  const std::string mine = line.substr(line.rfind(':') + 1);
  ASSERT_FALSE(mine.empty());
  const auto age = processAge(self, mine);
  ASSERT_TRUE(age.has_value());
  EXPECT_GE(*age, 0s);
  EXPECT_LT(*age, 600s);
  EXPECT_GT(processAge(1, mine).value_or(*age + 1s), *age);
  EXPECT_EQ(processAge(self, std::string(64, 'a')), std::nullopt);
  EXPECT_EQ(processAge(self, ""), std::nullopt);
  EXPECT_EQ(processAge(0, mine), std::nullopt);
  EXPECT_EQ(processAge(99'999'999, mine), std::nullopt);
}

TEST(ProcessAge, ReadsPastANameThatLooksLikeFields) {
  std::ofstream("/proc/self/comm") << ") 1 2 (3";
  std::ifstream file("/proc/self/cgroup");
  std::string line;
  std::getline(file, line);
  const auto age =
      processAge(static_cast<std::uint64_t>(getpid()), line.substr(line.rfind(':') + 1));
  ASSERT_TRUE(age.has_value());
  EXPECT_LT(*age, 600s);
}

}  // namespace
}  // namespace vethgate::docker
