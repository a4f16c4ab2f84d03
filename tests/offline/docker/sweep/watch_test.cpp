// Pass after pass: when they start, what one that fails does to the next, and what the log says.
#include "docker/sweep/watch.hpp"

#include "base/json.hpp"
#include "tests/offline/docker/sweep/support.hpp"

namespace vethgate::docker {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)
using test::Fault;
using test::kNow;
using test::kOwner;
using test::Yard;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SweepWatch : public testing::Test {
 protected:
  // `passes` of them, each `between` after the last by the clock that nobody sets. `betweenPasses`
  // is told which one comes next.
  void watch(
      int passes, const std::function<void(int)>& betweenPasses = [](int) {}) {
    int done = 0;
    testing::internal::CaptureStderr();
    docker::watch(Engine(yard_.socket()), kOwner, 300s, {.limits = test::kAmple},
                  {.clocks = [&] { return clocks_; },
                   .wait =
                       [&](std::chrono::milliseconds span) {
                         waits_.push_back(span);
                         clocks_.unix += span;
                         clocks_.boot += span;
                         betweenPasses(++done);
                         return done == passes;
                       }});
    std::istringstream log(testing::internal::GetCapturedStderr());
    for (std::string line; std::getline(log, line);) {
      events_.push_back(Json::parse(line));
    }
  }
  [[nodiscard]] std::vector<std::string> events() const {
    std::vector<std::string> names;
    for (const Json& event : events_) {
      EXPECT_EQ(event.at("owner"), kOwner);
      names.push_back(event.at("event"));
    }
    return names;
  }
  Yard yard_;
  Clocks clocks_{std::chrono::seconds(kNow), 1'000s};
  std::vector<std::chrono::milliseconds> waits_;
  std::vector<Json> events_;
};

TEST_F(SweepWatch, BeginsAtOnceAndGoesOn) {
  yard_.addHolder("now", kNow);
  yard_.addHolder("then", kNow + 300);
  watch(2, [&](int) { EXPECT_EQ(yard_.names().size(), waits_.size() == 1 ? 1U : 0U); });
  EXPECT_THAT(events(), ElementsAre("sweep.removed", "sweep.pass", "sweep.removed", "sweep.pass"));
  EXPECT_EQ(events_[0].at("name"), "vethgate-now");
  EXPECT_EQ(events_[1].at("removed"), 1);
  EXPECT_EQ(events_[1].at("not_due"), 1);
  EXPECT_EQ(events_[1].at("level"), "info");
  EXPECT_THAT(waits_, ElementsAre(300s, 300s));
}

// From start to start, and at once when a pass took longer than that.
TEST_F(SweepWatch, CountsTheTimeOfAPass) {
  yard_.before("list", [&] { clocks_.boot += 100s; });
  watch(1);
  yard_.before("list", [&] { clocks_.boot += 400s; });
  watch(1);
  EXPECT_THAT(waits_, ElementsAre(200s, 0s));
}

TEST_F(SweepWatch, APassThatFailsIsFollowedByAnother) {
  yard_.addHolder("now", kNow);
  yard_.fail("list", Fault::kRefuse);
  watch(2);
  EXPECT_THAT(events(), ElementsAre("sweep.error", "sweep.removed", "sweep.pass"));
  EXPECT_EQ(events_[0].at("level"), "error");
  EXPECT_THAT(events_[0].at("text").get<std::string>(), HasSubstr("unwell"));
}

TEST_F(SweepWatch, AClockThatJumpedLeavesOnePassOut) {
  yard_.addHolder("later", kNow + 3'600);
  watch(2, [&](int) { clocks_.unix += 2h; });
  EXPECT_THAT(events(), ElementsAre("sweep.pass", "sweep.clock"));
  EXPECT_THAT(events_[1].at("text").get<std::string>(), HasSubstr("forward by 7200 s"));
  EXPECT_THAT(yard_.removals(), IsEmpty());
  events_.clear();
  watch(2, [&](int) { clocks_.unix -= 1h; });
  EXPECT_THAT(events_.back().at("text").get<std::string>(), HasSubstr("went back by 3600 s"));
}

TEST_F(SweepWatch, WhatStaysIsAWarningWithItsReason) {
  const std::string holder = yard_.addHolder("now", kNow);
  yard_.add({.name = "somebody", .mode = "container:" + holder});
  Labels odd = test::labelsOf("odd", kHolderRole, kNow);
  odd[kRemoveAfterLabel] = "soon";
  yard_.add({.name = "vethgate-odd", .labels = odd});
  watch(1);
  ASSERT_THAT(events(), ElementsAre("sweep.kept", "sweep.skipped", "sweep.pass"));
  for (const Json& event : events_) {
    EXPECT_EQ(event.at("level"), "warning") << event;
  }
  EXPECT_EQ(events_[0].at("attached").at("name"), "somebody");
  EXPECT_EQ(events_[1].at("reason"), "unreadable-stamp");
}

}  // namespace
}  // namespace vethgate::docker
