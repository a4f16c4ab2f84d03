// A container whose network others use: who goes first, who keeps it, and what is said of that.
#include "docker/sweep/pass.hpp"
#include "tests/offline/docker/sweep/support.hpp"

namespace vethgate::docker {
namespace {

using test::Fault;
using test::kNow;
using test::kOwner;
using test::labelsOf;
using test::namesOf;
using test::Standing;
using test::Yard;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class SweepAttachment : public testing::Test {
 protected:
  SweepAttachment() { holder_ = yard_.addHolder("job-1", kNow); }

  [[nodiscard]] SweepReport sweep(SweepOptions options = {.limits = test::kAmple}) {
    return docker::sweep(Engine(yard_.socket()), kOwner, kNow, cursor_, options);
  }
  std::string join(const std::string& name, Labels labels = {},
                   const std::string& status = "running") {
    return yard_.add({.name = name,
                      .labels = std::move(labels),
                      .mode = "container:" + holder_,
                      .status = status});
  }
  void expectKept(const std::string& by, const char* why) {
    const SweepReport report = sweep();
    EXPECT_THAT(namesOf(report.kept), ElementsAre("vethgate-job-1"));
    EXPECT_EQ(report.kept.at(0).attachedName, by);
    EXPECT_THAT(report.kept[0].text, AllOf(HasSubstr(by), HasSubstr(why), HasSubstr("stop")));
    EXPECT_THAT(yard_.removals(), IsEmpty());
  }
  Yard yard_;
  Cursor cursor_;
  std::string holder_;
};

TEST_F(SweepAttachment, OneWithoutLabelsKeepsIt) {
  const std::string id = join("somebody");
  expectKept("somebody", "carries no label of vethgate's");
  EXPECT_EQ(sweep().kept[0].attachedId, id);
  yard_.vanish("somebody");
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

TEST_F(SweepAttachment, AnotherOwnersKeepsIt) {
  join("their-job", labelsOf("job-1", kJobRole, 0, "worker-2"));
  expectKept("their-job", "belongs to owner worker-2");
}

TEST_F(SweepAttachment, OursThatIsNotDueKeepsIt) {
  join("my-job", labelsOf("job-1", kJobRole, kNow + 60));
  expectKept("my-job", "due in 60 s");
}

TEST_F(SweepAttachment, OursThatCannotBeReadKeepsIt) {
  Labels labels = labelsOf("job-1", kJobRole, 0);
  labels[kRemoveAfterLabel] = "soon";
  join("my-job", labels);
  expectKept("my-job", "no readable stamp");
  yard_.vanish("my-job");
  labels.erase(kRoleLabel);
  join("roleless", labels);
  expectKept("roleless", "vethgate.role is missing");
}

// By the name that it was told, on an engine that keeps that.
TEST_F(SweepAttachment, OneThatJoinedByNameKeepsIt) {
  yard_.add({.name = "somebody", .mode = "container:vethgate-job-1"});
  expectKept("somebody", "no label");
}

TEST_F(SweepAttachment, OneThatJoinedAnotherDoesNot) {
  yard_.add({.name = "a", .mode = "container:" + holder_.substr(0, 63) + "f"});
  yard_.add({.name = "b", .mode = "container:" + holder_ + "0"});
  yard_.add({.name = "c", .mode = "container:" + holder_.substr(0, 12)});
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

TEST_F(SweepAttachment, OneThatDoesNotRunLosesNothing) {
  join("somebody", {}, "exited");
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(yard_.names(), ElementsAre("somebody"));
}

// On an engine that removes nothing on whose network another stands.
TEST_F(SweepAttachment, OneThatHasEndedIsNamedWhereTheEngineWantsItGone) {
  yard_.refuseUnderOthers();
  const std::string id = join("somebody", {}, "exited");
  const SweepReport report = sweep();
  EXPECT_THAT(report.failed, IsEmpty());
  ASSERT_THAT(namesOf(report.kept), ElementsAre("vethgate-job-1"));
  EXPECT_EQ(report.kept[0].attachedId, id);
  EXPECT_EQ(report.kept[0].attachedName, "somebody");
  EXPECT_THAT(report.kept[0].text, AllOf(HasSubstr("somebody"), HasSubstr("has ended"),
                                         HasSubstr("has dependent containers"), HasSubstr("stop")));
  EXPECT_THAT(yard_.removals(), ElementsAre("vethgate-job-1"));
  yard_.vanish("somebody");
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

// What the engine refuses for another reason is not laid on it.
TEST_F(SweepAttachment, OneThatHasEndedIsNotBlamedForAnotherFailure) {
  join("somebody", {}, "exited");
  yard_.fail("remove vethgate-job-1", Fault::kRefuse);
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.failed), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(report.kept, IsEmpty());
}

TEST_F(SweepAttachment, OursThatHasEndedAndIsDueGoesFirstWhereverThePassBegins) {
  yard_.refuseUnderOthers();
  join("my-job", labelsOf("job-1", kJobRole, kNow), "exited");
  cursor_.advance(
      {.id = "", .name = "", .job = "job-1", .role = Role::kHelper, .removeAfter = kNow});
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.removed), ElementsAre("my-job", "vethgate-job-1"));
  EXPECT_THAT(report.failed, IsEmpty());
}

TEST_F(SweepAttachment, OursThatHasEndedAndCannotBeRemovedKeepsNothing) {
  join("my-job", labelsOf("job-1", kJobRole, kNow), "exited");
  yard_.fail("remove my-job", Fault::kRefuse);
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.failed), ElementsAre("my-job"));
  EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate-job-1"));
}

TEST_F(SweepAttachment, OursThatIsDueGoesFirstWhateverItsJob) {
  join("my-job", labelsOf("zzz", kJobRole, kNow));
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.removed), ElementsAre("my-job", "vethgate-job-1"));
  EXPECT_THAT(report.kept, IsEmpty());
}

TEST_F(SweepAttachment, OursThatCannotBeRemovedKeepsIt) {
  join("my-job", labelsOf("job-1", kJobRole, kNow));
  yard_.fail("remove my-job", Fault::kRefuse);
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.failed), ElementsAre("my-job"));
  ASSERT_THAT(namesOf(report.kept), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(report.kept[0].text, HasSubstr("could not be removed"));
  EXPECT_THAT(yard_.removals(), ElementsAre("my-job"));
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("my-job", "vethgate-job-1"));
}

// A stranger in the network of our job is in the holder's, too.
TEST_F(SweepAttachment, ALongerChainIsFollowed) {
  const std::string job = join("my-job", labelsOf("job-1", kJobRole, kNow));
  yard_.add({.name = "somebody", .mode = "container:" + job});
  const SweepReport report = sweep();
  EXPECT_THAT(namesOf(report.kept), ElementsAre("my-job", "vethgate-job-1"));
  EXPECT_THAT(yard_.removals(), IsEmpty());
}

TEST_F(SweepAttachment, ARingEnds) {
  yard_.vanish("vethgate-job-1");
  const std::string next = std::string(63, '0') + "3";
  const std::string first = yard_.addJob("a", kNow, next);
  ASSERT_EQ(yard_.addJob("b", kNow, first), next);
  const SweepReport report = sweep();
  EXPECT_THAT(report.removed, IsEmpty());
  EXPECT_EQ(report.kept.size(), 2U);
}

TEST_F(SweepAttachment, OneThatCameBehindTheFirstListIsSeen) {
  yard_.before("inspect vethgate-job-1", [&] { join("somebody"); });
  expectKept("somebody", "no label");
}

TEST_F(SweepAttachment, AListThatLeavesItOutOnceIsNotBelieved) {
  join("somebody");
  yard_.hideFromNextList("somebody");
  expectKept("somebody", "no label");
}

TEST_F(SweepAttachment, OneThatVanishesMeanwhileDoesNotKeepIt) {
  join("somebody");
  yard_.before("inspect somebody", [&] { yard_.vanish("somebody"); });
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

TEST_F(SweepAttachment, WhatCannotBeInspectedMayBeAttached) {
  yard_.add({.name = "db"});
  yard_.fail("inspect db", Fault::kRefuse);
  const SweepReport report = sweep();
  ASSERT_THAT(namesOf(report.failed), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(report.failed[0].text,
              AllOf(HasSubstr("not known what is attached"), HasSubstr("unwell")));
  EXPECT_THAT(yard_.removals(), IsEmpty());
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

TEST_F(SweepAttachment, ASecondListThatFailsLeavesItOpen) {
  yard_.before("inspect vethgate-job-1", [&] { yard_.fail("list", Fault::kRefuse); });
  EXPECT_THAT(namesOf(sweep().failed), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(yard_.removals(), IsEmpty());
}

TEST_F(SweepAttachment, CountsAgainstTheNumberOfRemovals) {
  join("my-job", labelsOf("zzz", kJobRole, kNow));
  SweepOptions options{.limits = test::kAmple};
  options.limits.removals = 1;
  const SweepReport report = sweep(options);
  EXPECT_THAT(namesOf(report.removed), ElementsAre("my-job"));
  EXPECT_THAT(namesOf(report.deferred), ElementsAre("vethgate-job-1"));
  EXPECT_THAT(namesOf(sweep().removed), ElementsAre("vethgate-job-1"));
}

class Reap : public testing::Test {
 protected:
  [[nodiscard]] SweepReport reap(bool dryRun = false) {
    return docker::reap(Engine(yard_.socket()), kOwner, {.limits = test::kAmple, .dryRun = dryRun});
  }
  Yard yard_;
};

TEST_F(Reap, RemovesIdleHoldersWhateverTheirStamp) {
  yard_.addHolder("idle", kNow + 1'000'000);
  Labels unstamped = labelsOf("bare", kHolderRole, 0);
  unstamped.erase(kRemoveAfterLabel);
  yard_.add({.name = "vethgate-bare", .labels = unstamped, .status = "exited"});
  const std::string busy = yard_.addHolder("busy", 0);
  yard_.add({.name = "a-job", .mode = "container:" + busy});
  const std::string waiting = yard_.addHolder("waiting", 0);
  yard_.add({.name = "ended", .mode = "container:" + waiting, .status = "exited"});
  yard_.add({.name = "vethgate-x", .labels = labelsOf("x", kHolderRole, 0, "worker-2")});
  yard_.addJob("elsewhere", 0, std::string(64, 'e'));
  EXPECT_EQ(reap(true).removed.size(), 2U);
  EXPECT_THAT(yard_.removals(), IsEmpty());
  const SweepReport report = reap();
  EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate-bare", "vethgate-idle"));
  EXPECT_EQ(yard_.removals(), namesOf(report.removed));
  EXPECT_THAT(namesOf(report.kept), ElementsAre("vethgate-busy", "vethgate-waiting"));
  EXPECT_THAT(report.failed, IsEmpty());
}

TEST_F(Reap, OwnHelpersThatDoNotRunGoWithIt) {
  const std::string dead = yard_.addHolder("dead", kNow + 1);
  yard_.add({.name = "vethgate.apply-dead",
             .labels = labelsOf("dead", kHelperRole, kNow + 1),
             .mode = "container:" + dead,
             .status = "created"});
  const std::string live = yard_.addHolder("live", kNow + 1);
  yard_.addHelper("live", kNow + 1, live);
  const SweepReport report = reap();
  EXPECT_THAT(namesOf(report.removed), ElementsAre("vethgate.apply-dead", "vethgate-dead"));
  EXPECT_THAT(namesOf(report.kept), ElementsAre("vethgate-live"));
}

TEST_F(Reap, OneThatVanishesSpoilsNothing) {
  yard_.addHolder("a", 0);
  yard_.addHolder("b", 0);
  yard_.add({.name = "passing"});
  yard_.before("inspect passing", [&] { yard_.vanish("passing"); });
  yard_.before("remove vethgate-a", [&] { yard_.vanish("vethgate-a"); });
  EXPECT_EQ(reap().removed.size(), 2U);
}

}  // namespace
}  // namespace vethgate::docker
