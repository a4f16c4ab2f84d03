// The kernel's trial, on an engine in memory whose helpers say what a kernel would have them say:
// what is tried next, what is said of it, and that nothing of a trial is left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "docker/doctor/doctor.hpp"
#include "tests/offline/docker/establish/scripted_engine.hpp"

namespace vethgate::docker {
namespace {

using test::Fault;
using test::kImageName;
using test::Program;
using test::Said;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr std::uint64_t kNow = 1'800'000'000;
constexpr const char* kLacking = "the kernel lacks xt_LOG; the namespace is as it was";

class DoctorTrial : public testing::Test {
 protected:
  // What was found of the kernel and of the engine, in order.
  std::vector<Check> examine() {
    checks_ = examineHost(Engine(engine_.socket()), kImageName, kNow);
    std::vector<Check> some;
    std::copy_if(checks_.begin(), checks_.end(), std::back_inserter(some), [](const Check& one) {
      return one.name == "kernel" || one.name == "families" ||
             (one.name == "engine" && one.level != Level::kOk);
    });
    // Whatever was found, each namespace that was made is gone, and so are its helpers.
    EXPECT_THAT(engine_.names(), IsEmpty());
    return some;
  }
  // The program of `verb` ends so the first `times` times, and as it should from then on.
  void failing(const std::string& verb, int status, const std::string& words, int times) {
    engine_.program(verb, [=, this, usual = engine_.program(verb)](const std::string& input) {
      policies_.push_back(input);
      return ++ended_ <= times ? Said{status, "", words + "\n"} : usual(input);
    });
  }
  [[nodiscard]] auto started(const std::string& container) const {
    const std::vector<std::string> calls = engine_.calls();
    return std::count(calls.begin(), calls.end(), "start " + container);
  }
  [[nodiscard]] ExitCode code() const { return doctorCode(checks_); }

  std::vector<std::string> policies_;
  std::atomic<int> ended_{0};
  std::vector<Check> checks_;
  test::ScriptedEngine engine_;  // last: its threads use the others
};

TEST_F(DoctorTrial, OfAllThatAPolicyMayAskForIsTheOnlyOneWhereItPasses) {
  const std::vector<Check> found = examine();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].level, Level::kOk);
  EXPECT_THAT(found[0].found, EndsWith("made, proved and removed: all layers, and logging"));
  EXPECT_THAT(found[1].found, HasSubstr("IPv4 alone"));
  EXPECT_EQ(started("holder"), 1);
  EXPECT_THAT(engine_.removed(), testing::Contains("holder"));
  EXPECT_EQ(code(), ExitCode::kDone);
}

TEST_F(DoctorTrial, FollowsAnotherWithASmallerPolicyWhereTheKernelLacksSomething) {
  failing("apply", 6, kLacking, 1);
  const std::vector<Check> found = examine();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].level, Level::kWarn);
  EXPECT_THAT(found[0].found,
              AllOf(HasSubstr("removed: all layers, without \"log\"; with more: job doctor-"),
                    HasSubstr(kLacking)));
  EXPECT_THAT(found[0].remedy, HasSubstr("write policies with all layers, without \"log\""));
  EXPECT_EQ(found[1].name, "families");
  // The second plan is the smaller one.
  ASSERT_EQ(policies_.size(), 2U);
  EXPECT_THAT(policies_[0], HasSubstr("LOG"));
  EXPECT_THAT(policies_[1], testing::Not(HasSubstr("LOG")));
  EXPECT_EQ(started("holder"), 2);
  EXPECT_EQ(code(), ExitCode::kDone);
}

TEST_F(DoctorTrial, FailsWhereTheKernelLacksSomethingForEveryPolicy) {
  failing("apply", 6, kLacking, test::ScriptedEngine::kAlways);
  const std::vector<Check> found = examine();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "kernel");
  EXPECT_EQ(found[0].level, Level::kFail);
  EXPECT_THAT(found[0].found, HasSubstr(kLacking));
  EXPECT_THAT(found[0].remedy, HasSubstr("load the kernel's module"));
  EXPECT_EQ(started("holder"), 4);
  EXPECT_EQ(code(), ExitCode::kUnsupported);
  EXPECT_THAT(doctorSentence(checks_),
              AllOf(StartsWith("kernel: job doctor-"), HasSubstr("step apply: exit 6")));
}

// Less would be refused as well, or would hide why this was.
TEST_F(DoctorTrial, IsNotRepeatedWhereTheReadbackIsRefused) {
  failing("verify", 8, "flower pref 103: the filter is missing", test::ScriptedEngine::kAlways);
  const std::vector<Check> found = examine();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].name, "kernel");
  EXPECT_EQ(found[0].level, Level::kFail);
  EXPECT_THAT(found[0].found, HasSubstr("step verify: exit 8, flower pref 103"));
  EXPECT_EQ(started("holder"), 1);
  EXPECT_EQ(code(), ExitCode::kUnsupported);
}

TEST_F(DoctorTrial, IsTheEnginesFailureWhereTheEngineFailsAmidIt) {
  for (const char* call : {"attach apply", "start holder", "start verify", "wait apply"}) {
    engine_.fail(call, Fault::kRefuse);
    const std::vector<Check> found = examine();
    ASSERT_EQ(found.size(), 1U) << call;
    EXPECT_EQ(found[0].name, "engine") << call;
    EXPECT_EQ(found[0].level, Level::kFail) << call;
    EXPECT_THAT(found[0].found, AllOf(HasSubstr("unwell"), HasSubstr("nothing of the attempt")));
    EXPECT_EQ(code(), ExitCode::kEngine) << call;
    // It answered before, and what it answered stands.
    EXPECT_EQ(checks_.front().level, Level::kOk) << call;
  }
  EXPECT_EQ(examine().front().level, Level::kOk);
}

TEST_F(DoctorTrial, RemovesItsNamespaceThoughTheEngineOnlySaysThatItDid) {
  engine_.fail("remove holder", Fault::kPretend, 2);
  EXPECT_EQ(examine().front().level, Level::kOk);
  EXPECT_EQ(code(), ExitCode::kDone);
}

TEST_F(DoctorTrial, IsNotBegunWithoutAnImage) {
  checks_ = examineHost(Engine(engine_.socket()), "vethgate:none", kNow);
  EXPECT_EQ(code(), ExitCode::kUnsupported);
  EXPECT_THAT(doctorSentence(checks_), StartsWith("image: the engine has no image vethgate:none"));
  const std::vector<std::string> calls = engine_.calls();
  EXPECT_THAT(calls, ElementsAre("version", "info", "image"));
}

}  // namespace
}  // namespace vethgate::docker
