// What is said of a pass: the document, the exit code and the last sentence.
#include "docker/sweep/report.hpp"

#include "base/json.hpp"
#include "tests/offline/docker/sweep/support.hpp"

namespace vethgate::docker {
namespace {

using testing::HasSubstr;

const PassInfo kSweep{.command = "sweep", .owner = "worker-1"};
const PassInfo kReap{.command = "reap", .owner = "worker-1"};

SweepReport notDue() {
  SweepReport report;
  report.removed.push_back({"1", "vethgate-a", ""});
  report.skipped.push_back(
      {"2", "vethgate-b", Unfit::kNotDue, "it may be removed 7 s from now", 1'700'000'000});
  return report;
}

TEST(SweepReport, IsOneDocument) {
  SweepReport report = notDue();
  report.failed.push_back({"3", "vethgate-c", "unwell; it may still exist"});
  report.deferred.push_back({"4", "vethgate-d", Bound::kCount});
  report.kept.push_back({"5", "vethgate-e", "6", "some\nbody", "container 6 uses its network"});
  const std::string text = reportJson(kSweep, report);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  EXPECT_EQ(Json::parse(text),
            Json::parse(R"({"command": "sweep", "owner": "worker-1", "dry_run": false,
        "removed": [{"id": "1", "name": "vethgate-a"}],
        "failed": [{"id": "3", "name": "vethgate-c", "text": "unwell; it may still exist"}],
        "deferred": [{"id": "4", "name": "vethgate-d", "reason": "count"}],
        "kept": [{"id": "5", "name": "vethgate-e", "attached": {"id": "6", "name": "some?body"},
                  "text": "container 6 uses its network"}],
        "skipped": [{"id": "2", "name": "vethgate-b", "reason": "not-due",
                     "text": "it may be removed 7 s from now", "remove_after": 1700000000}]})"));
  PassInfo dry = kSweep;
  dry.dryRun = true;
  EXPECT_FALSE(Json::parse(reportJson(dry, report)).contains("removed"));
  EXPECT_EQ(Json::parse(reportJson(dry, report)).at("would_remove").size(), 1U);
}

TEST(SweepReport, TheCodeIsTheWorstOfIt) {
  SweepReport report = notDue();
  EXPECT_EQ(reportCode(kSweep, report), ExitCode::kDone);
  report.skipped.push_back({"7", "x", Unfit::kStamp, "the label is missing", {}});
  EXPECT_EQ(reportCode(kSweep, report), ExitCode::kUntouchable);
  EXPECT_EQ(reportCode(kReap, report), ExitCode::kUntouchable);
  EXPECT_THAT(reportSentence(kSweep, report), HasSubstr("1 left alone, the first x: the label"));
  report.skipped.pop_back();
  report.kept.push_back({"5", "vethgate-e", "6", "somebody", "container somebody uses it"});
  EXPECT_EQ(reportCode(kSweep, report), ExitCode::kUntouchable);
  EXPECT_EQ(reportCode(kReap, report), ExitCode::kDone);
  EXPECT_THAT(reportSentence(kSweep, report), HasSubstr("vethgate-e: container somebody"));
  report.deferred.push_back({"4", "vethgate-d", Bound::kBudget});
  EXPECT_EQ(reportCode(kSweep, report), ExitCode::kDeadline);
  EXPECT_THAT(reportSentence(kSweep, report), HasSubstr("run it again"));
  report.failed.push_back({"3", "", "unwell"});
  EXPECT_EQ(reportCode(kSweep, report), ExitCode::kEngine);
  EXPECT_EQ(reportSentence(kSweep, report), "1 may still exist, the first 3: unwell");
}

}  // namespace
}  // namespace vethgate::docker
