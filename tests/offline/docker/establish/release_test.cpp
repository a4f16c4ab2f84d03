// release(): whose containers it removes, in what order, and what it says when it cannot.
#include "docker/custody/custody.hpp"
#include "tests/offline/docker/establish/support.hpp"

namespace vethgate::docker {
namespace {

using test::aRequest;
using test::expectFailure;
using test::Fault;
using test::kAmple;
using test::kJob;
using test::kNow;
using test::ScriptedEngine;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::chrono::milliseconds kShort{250};

class Release : public testing::Test {
 protected:
  Release() {
    // As an attempt that was killed leaves them; the holder was there first.
    engine_.add("vethgate-job-1", labels("worker-1", kJob, kHolderRole));
    engine_.add("vethgate.probe-job-1", labels("worker-1", kJob, kHelperRole));
    engine_.add("vethgate.apply-job-1", labels("worker-1", kJob, kHelperRole));
    engine_.add("of-another-owner", labels("worker-2", kJob, kHolderRole));
    engine_.add("of-another-job", labels("worker-1", "job-2", kHolderRole));
    engine_.add("of-nobody", {});
  }
  static Labels labels(const std::string& owner, const std::string& job, const char* role) {
    return {{kOwnerLabel, owner}, {kJobLabel, job}, {kRoleLabel, role}};
  }
  [[nodiscard]] std::size_t release(std::chrono::milliseconds time = kAmple.removal) const {
    return docker::release(Engine(engine_.socket()), "worker-1", kJob, time);
  }
  void expectTheOthers() const {
    EXPECT_THAT(engine_.names(), ElementsAre("of-another-owner", "of-another-job", "of-nobody"));
  }
  ScriptedEngine engine_;
};

TEST_F(Release, RemovesTheJobsAndNoneBesidesHelpersFirst) {
  EXPECT_EQ(release(), 3U);
  expectTheOthers();
  EXPECT_THAT(engine_.removed(), ElementsAre("probe", "apply", "holder"));
  EXPECT_EQ(release(), 0U);
  expectTheOthers();
}

TEST_F(Release, RemovesWhatWasEstablished) {
  ScriptedEngine engine;
  static_cast<void>(establish(Engine(engine.socket()), aRequest(), kNow, kAmple));
  EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-2", kJob), 0U);
  EXPECT_EQ(engine.names().size(), 1U);
  EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-1", kJob), 1U);
  EXPECT_THAT(engine.names(), IsEmpty());
}

TEST_F(Release, AsksAgainForARemovalThatFailed) {
  for (const Fault fault : {Fault::kRefuse, Fault::kDrop, Fault::kDropAfter, Fault::kPretend}) {
    ScriptedEngine engine;
    engine.add("vethgate-job-1", labels("worker-1", kJob, kHolderRole));
    engine.fail("remove *", fault, fault == Fault::kDropAfter ? 1 : 2);
    EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-1", kJob), 1U);
    EXPECT_THAT(engine.names(), IsEmpty());
  }
}

// The others go, one that cannot be removed is named.
TEST_F(Release, NamesWhatMayStillExist) {
  for (const Fault fault : {Fault::kRefuse, Fault::kDrop, Fault::kPretend, Fault::kSilence}) {
    ScriptedEngine engine;
    engine.add("vethgate-job-1", labels("worker-1", kJob, kHolderRole));
    engine.add("vethgate.probe-job-1", labels("worker-1", kJob, kHelperRole));
    engine.fail("remove probe", fault, ScriptedEngine::kAlways);
    expectFailure(
        [&] {
          static_cast<void>(docker::release(Engine(engine.socket()), "worker-1", kJob,
                                            std::chrono::milliseconds(1'000)));
        },
        ExitCode::kEngine,
        "; these may still exist, and a sweep removes them: vethgate.probe-job-1");
    EXPECT_THAT(engine.names(), ElementsAre("vethgate.probe-job-1"));
  }
}

TEST_F(Release, NamesAllInTheOrderOfTheirRemoval) {
  engine_.fail("remove *", Fault::kRefuse, ScriptedEngine::kAlways);
  expectFailure([&] { static_cast<void>(release(kShort)); }, ExitCode::kEngine,
                "the engine is unwell\"; these may still exist, and a sweep removes them: "
                "vethgate.probe-job-1 vethgate.apply-job-1 vethgate-job-1");
}

TEST_F(Release, FailsWhenTheEngineDoesNotList) {
  engine_.fail("list", Fault::kRefuse, ScriptedEngine::kAlways);
  expectFailure([&] { static_cast<void>(release(kShort)); }, ExitCode::kEngine, "list containers");
}

TEST_F(Release, FailsWhenTheEngineDoesNotAnswer) {
  engine_.fail("list", Fault::kSilence, ScriptedEngine::kAlways);
  engine_.fail("inspect *", Fault::kSilence, ScriptedEngine::kAlways);
  expectFailure([&] { static_cast<void>(release(kShort)); }, ExitCode::kDeadline, "deadline");
  EXPECT_THAT(engine_.removed(), IsEmpty());
}

TEST_F(Release, AsksAgainForAListThatFailed) {
  engine_.fail("list", Fault::kRefuse, 2);
  engine_.fail("inspect *", Fault::kDrop, 5);
  EXPECT_EQ(release(), 3U);
  expectTheOthers();
}

// The engine's word on each name counts, not its list's silence.
TEST_F(Release, RemovesWhatTheListDoesNotShowYet) {
  ScriptedEngine engine;
  static_cast<void>(establish(Engine(engine.socket()), aRequest(), kNow, kAmple));
  engine.lag(1);
  EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-1", kJob), 1U);
  EXPECT_THAT(engine.names(), IsEmpty());
}

TEST_F(Release, TouchesNobodyElsesWhenTheListIsNotFiltered) {
  engine_.ignoreFilters();
  EXPECT_EQ(release(), 3U);
  expectTheOthers();
}

// A name says nothing about whose it is.
TEST_F(Release, TouchesNobodyElsesThatBearsANameOfTheJobs) {
  ScriptedEngine engine;
  engine.add("vethgate-job-1", labels("worker-2", kJob, kHolderRole));
  engine.add("vethgate.apply-job-1", labels("worker-1", "job-2", kHelperRole));
  engine.add("vethgate.verify-job-1", {});
  EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-1", kJob), 0U);
  EXPECT_EQ(engine.names().size(), 3U);
}

TEST_F(Release, TheJobsOwnContainerGoesFirst) {
  engine_.add("whatever", labels("worker-1", kJob, kJobRole));
  engine_.add("something", labels("worker-1", kJob, "of another time"));
  EXPECT_EQ(release(), 5U);
  expectTheOthers();
  EXPECT_THAT(engine_.removed(), ElementsAre("whatever", "probe", "apply", "something", "holder"));
}

TEST_F(Release, OfAJobLeavesTheJobWhoseIdIsLonger) {
  for (const char* other : {"job-1-probe", "job-1-apply", "probe-job-1", "job-1.holder"}) {
    ScriptedEngine engine;
    engine.add(holderName(kJob), labels("worker-1", kJob, kHolderRole));
    for (const char* verb : kVerbs) {
      engine.add(helperName(other, verb), labels("worker-1", other, kHelperRole));
    }
    engine.add(holderName(other), labels("worker-1", other, kHolderRole));
    EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-1", kJob), 1U);
    EXPECT_EQ(engine.names().size(), kVerbs.size() + 1);
    EXPECT_EQ(docker::release(Engine(engine.socket()), "worker-1", other), kVerbs.size() + 1);
    EXPECT_THAT(engine.names(), IsEmpty());
  }
}

}  // namespace
}  // namespace vethgate::docker
