// `vethgate evidence` as it is called: exit codes and streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/json.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate::evidence::test {
namespace {

using testing::HasSubstr;

live::Finished evidence(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {std::string(VETHGATE_BIN_DIR) + "/vethgate", "evidence"});
  return live::run({.argv = arguments});
}

// A record of exactly what is required, as one run would have it.
class EvidenceCommand : public testing::Test {
 protected:
  [[nodiscard]] live::Finished write() const {
    std::vector<std::string> arguments{"write", record_};
    arguments.insert(arguments.end(), logs_.begin(), logs_.end());
    return evidence(arguments);
  }

  Exhibit exhibit_;
  std::vector<std::string> logs_ = exhibit_.writeRequired();
  std::string record_ = exhibit_.folder() / "record";
};

TEST_F(EvidenceCommand, AcceptsARecordOfAllThatIsRequired) {
  const live::Finished written = write();
  ASSERT_EQ(written.exit, 0) << written.summary();
  EXPECT_EQ(written.out, "");
  const live::Finished checked = evidence({"check", record_, "--root", exhibit_.build()});
  EXPECT_EQ(checked.exit, 0) << checked.summary() << "\n" << checked.out.substr(0, 2000);
  EXPECT_EQ(checked.out, "judged " + std::to_string(requiredCases().size()) + " cases by " +
                             checked.out.substr(checked.out.find(" by ") + 4));
  EXPECT_THAT(checked.out, testing::EndsWith(" in 2 logs: good\n"));
  EXPECT_EQ(checked.err, "");

  const live::Finished json = evidence({"check", record_, "--json"});
  EXPECT_EQ(json.exit, 0);
  EXPECT_EQ(Json::parse(json.out).at("cases"), requiredCases().size());
}

TEST_F(EvidenceCommand, RefusesWithEveryProblemAndOneSentence) {
  ASSERT_EQ(write().exit, 0);
  exhibit_.write("record", replaced(replaced(exhibit_.read("record"), "tree=clean", "tree=dirty"),
                                    "host=builder", "host=other"));
  const live::Finished checked = evidence({"check", record_});
  EXPECT_EQ(checked.exit, 8);
  EXPECT_THAT(checked.out, HasSubstr("problem: the header \"tree\""));
  EXPECT_THAT(checked.out, HasSubstr("problem: the header \"host\""));
  EXPECT_THAT(checked.lastErrorLine(), HasSubstr("the evidence is refused: the header"));
}

TEST_F(EvidenceCommand, ARecordThatCannotBeReadIsBadInput) {
  EXPECT_EQ(evidence({"check", exhibit_.folder() / "none"}).exit, 2);
  EXPECT_EQ(evidence({"check", exhibit_.folder()}).exit, 2);
  EXPECT_EQ(evidence({"check", exhibit_.folder() / "no/folder"}).exit, 2);
  EXPECT_EQ(evidence({"check"}).exit, 2);
  EXPECT_EQ(evidence({}).exit, 2);
  ASSERT_EQ(write().exit, 0);
  EXPECT_EQ(evidence({"check", record_, "--root", exhibit_.folder() / "none"}).exit, 2);
  std::filesystem::create_symlink("/etc/hostname", exhibit_.folder() / "elsewhere");
  const live::Finished led = evidence({"check", exhibit_.folder() / "elsewhere"});
  EXPECT_EQ(led.exit, 2);
  EXPECT_THAT(led.lastErrorLine(), HasSubstr("elsewhere: leads out of the folder"));
}

TEST_F(EvidenceCommand, WritesOnlyOfLogsThatSayWhatTheyAre) {
  exhibit_.write("plain.log", replaced(exhibit_.read(logs_.front()), "vethgate-run", "run"));
  EXPECT_EQ(evidence({"write", record_, "plain.log"}).exit, 2);
  EXPECT_EQ(evidence({"write", record_, "none.log"}).exit, 2);
  EXPECT_EQ(evidence({"write", record_, "../none.log"}).exit, 2);
  exhibit_.write("other.log",
                 replaced(exhibit_.read(logs_.front()), "host=builder", "host=another"));
  const live::Finished mixed = evidence({"write", record_, logs_.back(), "other.log"});
  EXPECT_EQ(mixed.exit, 2);
  EXPECT_THAT(mixed.lastErrorLine(), HasSubstr("other.log: its host is \"another\""));
  EXPECT_FALSE(std::filesystem::exists(record_));
}

}  // namespace
}  // namespace vethgate::evidence::test
