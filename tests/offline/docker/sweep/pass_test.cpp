// One pass: what it removes, in what order and within which bounds, and what it says of the rest.
#include "docker/sweep/pass.hpp"

#include "tests/offline/docker/sweep/support.hpp"

namespace vethgate::docker {
namespace {

using test::Fault;
using test::kNow;
using test::kOwner;
using test::labelsOf;
using test::namesOf;
using test::Yard;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class SweepPass : public testing::Test {
 protected:
  [[nodiscard]] SweepReport sweep(SweepOptions options = {.limits = test::kAmple}) {
    return docker::sweep(Engine(yard_.socket()), kOwner, kNow, cursor_, options);
  }
  // "job-00", … each a holder that is due.
  void addHolders(unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      yard_.addHolder("job-" + std::to_string(i / 10) + std::to_string(i % 10), kNow);
    }
  }
  Yard yard_;
  Cursor cursor_;
};

TEST_F(SweepPass, RemovesWhatIsDueInOrderAndNothingElse) {
  const std::string due = yard_.addHolder("due", kNow);
  yard_.addHelper("due", kNow, due);
  yard_.addJob("due", kNow, due);
  const std::string later = yard_.addHolder("later", kNow + 1);
  yard_.addJob("later", kNow + 1, later);
  yard_.add({.name = "vethgate-other", .labels = labelsOf("other", kHolderRole, 0, "worker-2")});
  yard_.add({.name = "db"});
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.removed),
              ElementsAre("run-of-due", "vethgate.apply-due", "vethgate-due"));
  EXPECT_EQ(yard_.removals(), namesOf(report.removed));
  EXPECT_THAT(yard_.names(), ElementsAre("vethgate-later", "run-of-later", "vethgate-other", "db"));
  EXPECT_THAT(namesOf(report.skipped), ElementsAre("vethgate-later", "run-of-later"));
  EXPECT_THAT(report.failed, IsEmpty());
  EXPECT_THAT(report.kept, IsEmpty());
  EXPECT_THAT(report.deferred, IsEmpty());
}

TEST_F(SweepPass, ReportsWhatIsOursAndCannotBeRead) {
  Labels labels = labelsOf("job-1", kHolderRole, kNow);
  labels[kRemoveAfterLabel] = "never";
  yard_.add({.name = "vethgate-job-1", .labels = labels});
  const SweepReport report = sweep();
  ASSERT_EQ(report.skipped.size(), 1U);
  EXPECT_EQ(report.skipped[0].reason, Unfit::kStamp);
  EXPECT_THAT(yard_.removals(), IsEmpty());
}

TEST_F(SweepPass, AListThatFailsIsNoEmptyPass) {
  EXPECT_THAT(sweep().removed, IsEmpty());
  yard_.addHolder("job-1", kNow);
  for (const Fault fault : {Fault::kRefuse, Fault::kDrop, Fault::kSilence}) {
    yard_.fail("list", fault);
    EXPECT_THROW(static_cast<void>(sweep({.limits = test::kShortCalls})), EngineFailure);
    EXPECT_THAT(yard_.removals(), IsEmpty());
  }
  EXPECT_EQ(sweep().removed.size(), 1U);
}

TEST_F(SweepPass, BelievesTheEnginesAbsenceAlone) {
  for (const Fault fault : {Fault::kRefuse, Fault::kDrop, Fault::kSilence, Fault::kPretend}) {
    Yard yard;
    yard.addHolder("job-1", kNow);
    yard.addHolder("job-2", kNow);
    yard.fail("remove vethgate-job-1", fault, Yard::kAlways);
    const SweepReport report =
        docker::sweep(Engine(yard.socket()), kOwner, kNow, cursor_, {.limits = test::kShortCalls});
    EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate-job-2"));
    ASSERT_THAT(namesOf(report.failed), ElementsAre("vethgate-job-1"));
    EXPECT_THAT(report.failed[0].text, HasSubstr("may still exist"));
    // Nothing is tried twice.
    EXPECT_EQ(yard.removals().size(), 2U);
  }
}

// The answer was lost, not the deed.
TEST_F(SweepPass, ARemovalIsConfirmedWhateverItsAnswer) {
  yard_.addHolder("job-1", kNow);
  yard_.fail("remove vethgate-job-1", Fault::kDropAfter);
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

TEST_F(SweepPass, ARemovalThatCannotBeConfirmedMayStillExist) {
  yard_.addHolder("job-1", kNow);
  yard_.before("remove vethgate-job-1",
               [&] { yard_.fail("inspect vethgate-job-1", Fault::kRefuse); });
  const SweepReport report = sweep();
  EXPECT_THAT(report.removed, IsEmpty());
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_THAT(report.failed[0].text, AllOf(HasSubstr("unwell"), HasSubstr("may still exist")));
}

TEST_F(SweepPass, OneThatVanishesSpoilsNothing) {
  yard_.addHolder("job-1", kNow);
  yard_.addHolder("job-2", kNow);
  yard_.add({.name = "somebody"});
  yard_.before("inspect vethgate-job-1", [&] { yard_.vanish("vethgate-job-1"); });
  yard_.before("inspect somebody", [&] { yard_.vanish("somebody"); });
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate-job-2"));
  EXPECT_THAT(report.failed, IsEmpty());
}

TEST_F(SweepPass, OneOfOursThatCannotBeInspectedIsSaid) {
  const std::string id = yard_.addHolder("job-1", kNow);
  yard_.fail("inspect vethgate-job-1", Fault::kRefuse, Yard::kAlways);
  const SweepReport report = sweep();
  ASSERT_EQ(report.failed.size(), 1U);
  EXPECT_EQ(report.failed[0].id, id);
  EXPECT_EQ(report.failed[0].name, "vethgate-job-1");
  EXPECT_THAT(yard_.removals(), IsEmpty());
}

TEST_F(SweepPass, RemovesNoMoreThanItMayAndGoesOnThere) {
  addHolders(70);
  const SweepReport first = sweep();
  EXPECT_EQ(first.removed.size(), 32U);
  ASSERT_EQ(first.deferred.size(), 38U);
  EXPECT_EQ(first.deferred[0].name, "vethgate-job-32");
  EXPECT_EQ(first.deferred[0].bound, Bound::kCount);
  EXPECT_EQ(sweep().removed.size(), 32U);
  EXPECT_EQ(sweep().removed.size(), 6U);
  EXPECT_THAT(yard_.names(), IsEmpty());
}

TEST_F(SweepPass, ThoseThatFailDoNotStandBeforeTheOthers) {
  addHolders(40);
  for (unsigned i = 0; i < 32; ++i) {
    const std::string job = std::to_string(i / 10) + std::to_string(i % 10);
    yard_.fail("remove vethgate-job-" + job, Fault::kRefuse, Yard::kAlways);
  }
  EXPECT_EQ(sweep().failed.size(), 32U);
  const SweepReport second = sweep();
  EXPECT_EQ(second.removed.size(), 8U);
  EXPECT_EQ(second.failed.size(), 24U);
}

TEST_F(SweepPass, StartsNoRemovalBehindItsBudget) {
  addHolders(4);
  SweepOptions options{.limits = test::kAmple};
  options.limits.pass = std::chrono::milliseconds(2'000);
  options.limits.call = std::chrono::milliseconds(2'500);
  options.limits.removals = 3;
  yard_.fail("remove vethgate-job-01", Fault::kSilence);
  const SweepReport report = sweep(options);
  EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate-job-00"));
  EXPECT_THAT(namesOf(report.failed), ElementsAre("vethgate-job-01"));
  // Those that the budget stopped before those that the number would have.
  ASSERT_THAT(namesOf(report.deferred), ElementsAre("vethgate-job-02", "vethgate-job-03"));
  EXPECT_EQ(report.deferred[0].bound, Bound::kBudget);
  EXPECT_EQ(report.deferred[1].bound, Bound::kCount);
  // They are the next pass's first.
  EXPECT_THAT(namesOf(sweep().removed),
              ElementsAre("vethgate-job-02", "vethgate-job-03", "vethgate-job-01"));
}

TEST_F(SweepPass, ABudgetThatTheListUsesUpRemovesNothing) {
  addHolders(2);
  SweepOptions options{.limits = test::kAmple};
  options.limits.pass = std::chrono::milliseconds(0);
  const SweepReport report = sweep(options);
  EXPECT_THAT(yard_.removals(), IsEmpty());
  EXPECT_THAT(namesOf(report.deferred), ElementsAre("vethgate-job-00", "vethgate-job-01"));
}

TEST_F(SweepPass, EndsWithTheRemovalInFlightWhenAsked) {
  addHolders(3);
  bool stopping = false;
  yard_.before("remove vethgate-job-00", [&] { stopping = true; });
  const SweepReport report = sweep({.limits = test::kAmple, .stopping = [&] { return stopping; }});
  EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate-job-00"));
  ASSERT_EQ(report.deferred.size(), 2U);
  EXPECT_EQ(report.deferred[0].bound, Bound::kStopped);
  EXPECT_EQ(yard_.calls().back(), "inspect vethgate-job-00");
}

TEST_F(SweepPass, ADryRunOnlyLooks) {
  const std::string holder = yard_.addHolder("job-1", kNow);
  yard_.addJob("job-1", kNow, holder);
  const SweepReport report = sweep({.limits = test::kAmple, .dryRun = true});
  EXPECT_THAT(namesOf(report.removed), ElementsAre("run-of-job-1", "vethgate-job-1"));
  EXPECT_THAT(yard_.removals(), IsEmpty());
  EXPECT_EQ(yard_.names().size(), 2U);
}

TEST_F(SweepPass, AnEmptyOwnerTouchesNothing) {
  yard_.add({.name = "vethgate-job-1", .labels = labelsOf("job-1", kHolderRole, 0, "")});
  Cursor cursor;
  const SweepReport report = docker::sweep(Engine(yard_.socket()), "", kNow, cursor);
  EXPECT_THAT(report.removed, IsEmpty());
  EXPECT_THAT(report.skipped, IsEmpty());
  EXPECT_THAT(yard_.removals(), IsEmpty());
}

}  // namespace
}  // namespace vethgate::docker
