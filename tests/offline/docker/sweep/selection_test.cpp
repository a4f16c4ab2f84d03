// What a sweep selects by labels and names, in what order, and where the next pass goes on.
#include "docker/sweep/selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "tests/offline/docker/sweep/yard.hpp"

namespace vethgate::docker {
namespace {

using test::kNow;
using test::kOwner;
using test::labelsOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Container aContainer(const std::string& id, const std::string& name, Labels labels) {
  Container container;
  container.id = id;
  container.name = name;
  container.labels = std::move(labels);
  return container;
}

Container aHolder(const std::string& id = "1", const std::string& job = "job-1",
                  std::uint64_t stamp = kNow) {
  return aContainer(id, holderName(job), labelsOf(job, kHolderRole, stamp));
}

std::vector<std::string> idsOf(const std::vector<Owned>& list) {
  std::vector<std::string> ids;
  for (const Owned& one : list) {
    ids.push_back(one.id);
  }
  return ids;
}

Selection selectOne(const Container& container) { return selectDue({container}, kOwner, kNow); }

void expectSkipped(const Container& container, Unfit reason, const char* part) {
  const Selection selection = selectOne(container);
  EXPECT_THAT(selection.due, IsEmpty());
  ASSERT_EQ(selection.skipped.size(), 1U) << part;
  EXPECT_EQ(selection.skipped[0].id, container.id);
  EXPECT_STREQ(word(selection.skipped[0].reason), word(reason));
  EXPECT_THAT(selection.skipped[0].text, HasSubstr(part));
}

void expectIgnored(const Container& container) {
  const Selection selection = selectOne(container);
  EXPECT_THAT(selection.due, IsEmpty());
  EXPECT_THAT(selection.skipped, IsEmpty());
}

TEST(SweepSelection, TakesEachRoleOnceItsSecondHasCome) {
  for (const auto& [name, role] :
       {std::pair{"vethgate-job-1", kHolderRole}, std::pair{"vethgate.apply-job-1", kHelperRole},
        std::pair{"vethgate.status-77-job-1", kHelperRole}, std::pair{"whatever", kJobRole}}) {
    EXPECT_THAT(idsOf(selectOne(aContainer("1", name, labelsOf("job-1", role, kNow))).due),
                ElementsAre("1"))
        << name;
    expectSkipped(aContainer("1", name, labelsOf("job-1", role, kNow + 1)), Unfit::kNotDue,
                  "1 s from now");
  }
}

TEST(SweepSelection, PassesOverOthersInSilence) {
  expectIgnored(aContainer("1", "db", {}));
  expectIgnored(aContainer("1", "db", {{"vethgatE.owner", kOwner}, {"com.example", "1"}}));
  // Not even what is wrong with it is this owner's business.
  Labels others = labelsOf("job-1", "nonsense", 0, "worker-2");
  others.erase(kJobLabel);
  expectIgnored(aContainer("1", "x", others));
  expectIgnored(aContainer("1", "vethgate-job-1", labelsOf("job-1", kHolderRole, 0, "worker-11")));
}

TEST(SweepSelection, SaysWhyItLeavesWhatItCannotRead) {
  const auto without = [](const char* label) {
    Container one = aHolder();
    one.labels.erase(label);
    return one;
  };
  const auto with = [](const char* label, const std::string& value) {
    Container one = aHolder();
    one.labels[label] = value;
    return one;
  };
  EXPECT_THAT(idsOf(selectOne(aHolder()).due), ElementsAre("1"));
  expectSkipped(without(kOwnerLabel), Unfit::kOwner, "vethgate.owner is missing");
  expectSkipped(with(kOwnerLabel, ""), Unfit::kOwner, "is \"\"");
  expectSkipped(with(kOwnerLabel, "worker 1"), Unfit::kOwner, "is \"worker 1\"");
  expectSkipped(without(kRoleLabel), Unfit::kRole, "vethgate.role is missing");
  expectSkipped(with(kRoleLabel, "Holder"), Unfit::kRole, "is \"Holder\"");
  expectSkipped(without(kJobLabel), Unfit::kJob, "vethgate.job is missing");
  expectSkipped(with(kJobLabel, ""), Unfit::kJob, "is \"\"");
  expectSkipped(without(kRemoveAfterLabel), Unfit::kStamp, "remove-after is missing");
  for (const char* stamp : {"", "0x1", "-1", "+1", " 1", "1 ", "1.0", "1e3", "soon",
                            "18446744073709551616", "99999999999999999999999"}) {
    expectSkipped(with(kRemoveAfterLabel, stamp), Unfit::kStamp, "expected a unix second");
  }
  EXPECT_EQ(selectOne(with(kRemoveAfterLabel, "0")).due.size(), 1U);
  expectSkipped(with(kRemoveAfterLabel, "18446744073709551615"), Unfit::kNotDue, "s from now");
}

TEST(SweepSelection, BelievesNoNameThatIsAnothersRole) {
  const auto named = [](const char* name, const char* role) {
    return aContainer("1", name, labelsOf("job-1", role, kNow));
  };
  expectSkipped(named("db", kHolderRole), Unfit::kName, "the holder of job job-1");
  expectSkipped(named("vethgate-job-2", kHolderRole), Unfit::kName, "not what vethgate calls");
  expectSkipped(named("vethgate.apply-job-1", kHolderRole), Unfit::kName, "");
  expectSkipped(named("vethgate-job-1", kHelperRole), Unfit::kName, "the helper of job job-1");
  expectSkipped(named("vethgate.apply-job-11", kHelperRole), Unfit::kName, "");
  expectSkipped(named("vethgate.apply-job-1-b", kHelperRole), Unfit::kName, "");
  expectSkipped(named("vethgate.-job-1", kHelperRole), Unfit::kName, "");
  expectSkipped(named("xvethgate.apply-job-1", kHelperRole), Unfit::kName, "");
}

TEST(SweepSelection, AnEmptyOwnerSelectsNothing) {
  Container nobodys = aHolder();
  nobodys.labels[kOwnerLabel] = "";
  const std::vector<Container> all{aHolder("2"), nobodys};
  EXPECT_EQ(selectDue(all, kOwner, kNow).due.size(), 1U);
  EXPECT_THAT(selectDue(all, "", kNow).due, IsEmpty());
  EXPECT_THAT(selectDue(all, "", kNow).skipped, IsEmpty());
  EXPECT_THAT(selectHolders(all, "").due, IsEmpty());
}

TEST(SweepSelection, OrdersEachJobsOwnBeforeItsHelpersBeforeItsHolder) {
  const auto one = [](const char* id, const char* name, const char* job, const char* role) {
    return aContainer(id, name, labelsOf(job, role, kNow));
  };
  const std::vector<Container> all{one("1", "vethgate-b", "b", kHolderRole),
                                   one("2", "vethgate-a", "a", kHolderRole),
                                   one("4", "vethgate.verify-a", "a", kHelperRole),
                                   one("3", "vethgate.apply-a", "a", kHelperRole),
                                   one("5", "the-job", "a", kJobRole),
                                   one("5", "the-job", "a", kJobRole)};
  EXPECT_THAT(idsOf(selectDue(all, kOwner, kNow).due), ElementsAre("5", "3", "4", "2", "1"));
}

TEST(SweepSelection, HoldersAreSelectedWhateverTheirStamp) {
  Container unstamped = aHolder("3", "job-3");
  unstamped.labels.erase(kRemoveAfterLabel);
  Container roleless = aHolder("4", "job-4");
  roleless.labels.erase(kRoleLabel);
  const Selection selection =
      selectHolders({unstamped, aHolder("2", "job-2", kNow + 1'000), roleless,
                     aContainer("5", "j", labelsOf("job-2", kJobRole, 0)),
                     aContainer("6", "vethgate-x", labelsOf("x", kHolderRole, 0, "worker-2"))},
                    kOwner);
  EXPECT_THAT(idsOf(selection.due), ElementsAre("2", "3"));
  ASSERT_EQ(selection.skipped.size(), 1U);
  EXPECT_EQ(selection.skipped[0].id, "4");
}

std::vector<Owned> someDue(std::size_t count) {
  std::vector<Container> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(aHolder(std::to_string(i), "job-" + std::to_string(i % 7)));
  }
  return selectDue(all, kOwner, kNow).due;
}

TEST(SweepCursor, GoesOnBehindTheLastAttemptAndAround) {
  const std::vector<Owned> due = someDue(3);
  Cursor cursor;
  EXPECT_EQ(idsOf(cursor.from(due)), idsOf(due));
  cursor.advance(due[1]);
  EXPECT_THAT(idsOf(cursor.from(due)), ElementsAre(due[2].id, due[0].id, due[1].id));
  cursor.advance(due[2]);
  EXPECT_EQ(idsOf(cursor.from(due)), idsOf(due));
  // Also when that one has gone.
  cursor.advance(due[1]);
  EXPECT_THAT(idsOf(cursor.from({due[0], due[2]})), ElementsAre(due[2].id, due[0].id));
  EXPECT_THAT(cursor.from({}), IsEmpty());
  EXPECT_THAT(Cursor::anywhere().from({}), IsEmpty());
}

// Whatever is removed in between, and whatever comes.
RC_GTEST_PROP(SweepCursor, ReachesEveryContainerWithinTheFewestPasses, ()) {
  constexpr std::size_t kMost = 32;
  const auto count = *rc::gen::inRange<std::size_t>(1, 150);
  const std::vector<Owned> due = someDue(count);
  Cursor cursor = *rc::gen::arbitrary<bool>() ? Cursor() : Cursor::anywhere();
  if (const auto before = *rc::gen::inRange<std::size_t>(0, count); before > 0) {
    cursor.advance(due[before - 1]);
  }
  std::set<std::string> attempted;
  for (std::size_t pass = 0; pass < (count + kMost - 1) / kMost; ++pass) {
    const std::vector<Owned> order = cursor.from(due);
    RC_ASSERT(order.size() == due.size());
    for (std::size_t i = 0; i < std::min(kMost, order.size()); ++i) {
      attempted.insert(order[i].id);
      cursor.advance(order[i]);
    }
  }
  RC_ASSERT(attempted.size() == count);
}

// Nothing is selected but what is the owner's, due and readable, whatever the labels hold.
RC_GTEST_PROP(SweepSelection, SelectsNothingElse, ()) {
  const auto odd = rc::gen::elementOf(
      std::vector<std::string>{"", "worker-1", "worker-2", "job-1", "holder", "helper", "job", "0",
                               "1699999999", "1700000000", "1700000001", "-1", "x"});
  const auto name = rc::gen::elementOf(
      std::vector<std::string>{"vethgate-job-1", "vethgate.apply-job-1", "vethgate-", "db"});
  const auto role = *rc::gen::elementOf(std::vector<std::string>{"holder", "helper", "job"});
  Container one = aContainer("1", *name, labelsOf("job-1", role.c_str(), kNow));
  for (const char* label : {kOwnerLabel, kJobLabel, kRoleLabel, kRemoveAfterLabel}) {
    switch (*rc::gen::inRange(0, 10)) {
      case 0:
        one.labels.erase(label);
        break;
      case 1:
      case 2:
        one.labels[label] = *odd;
        break;
      default:
        break;
    }
  }
  Labels labels = one.labels;
  const bool owned = labels[kOwnerLabel] == kOwner;
  const std::string said = labels[kRoleLabel];
  const std::string stamp = labels[kRemoveAfterLabel];
  const std::string job = labels[kJobLabel];
  const bool fits = said == kJobRole || (said == kHolderRole && one.name == "vethgate-" + job) ||
                    (said == kHelperRole && one.name == "vethgate.apply-" + job);
  const bool due = stamp == "0" || stamp == "1699999999" || stamp == "1700000000";
  const Selection selection = selectOne(one);
  RC_CLASSIFY(!selection.due.empty(), "due");
  RC_ASSERT(selection.due.size() ==
            (owned && fits && due && !job.empty() && job != "-1" ? 1U : 0U));
  RC_ASSERT(selection.due.size() + selection.skipped.size() <= 1U);
}

}  // namespace
}  // namespace vethgate::docker
