// Each way in which a record is not borne out by its logs, beside the record that is.
#include "evidence/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.hpp"
#include "base/json.hpp"
#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate::evidence::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kZeros(64, '0');

TEST(Judge, AGoodRecordIsGood) {
  const Exhibit exhibit;
  const Judgement judgement = exhibit.judgedWithPrograms(exhibit.record());
  EXPECT_THAT(judgement.problems, IsEmpty());
  EXPECT_TRUE(judgement.good());
  EXPECT_EQ(judgement.cases, 7U);
  EXPECT_EQ(judgement.tests, 4U);
  EXPECT_EQ(judgement.logs, 2U);
  EXPECT_EQ(judgement.sourceHead, std::string(40, 'a'));
  EXPECT_EQ(judgement.tree, "clean");
}

TEST(Judge, CommentsBlankLinesAndOrderDoNotMatter) {
  const Exhibit exhibit;
  std::string record = "# by hand\n\n" + exhibit.record();
  record = replaced(record, "tree=clean\n", "  tree=clean   # nothing changed\n\n");
  record = replaced(record, "host=builder\n", "") + "host=builder";
  record = replaced(record, "id=plain.packet outcome=refused", "outcome=refused id=plain.packet");
  EXPECT_THAT(exhibit.judged(record).problems, IsEmpty());
}

struct Spoilt {
  const char* from;
  std::string to;
  const char* problem;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.problem; }

class SpoiltRecord : public testing::TestWithParam<Spoilt> {};

TEST_P(SpoiltRecord, IsRefusedByName) {
  const Exhibit exhibit;
  const std::string good = exhibit.record();
  EXPECT_TRUE(exhibit.judgedWithPrograms(good).good());
  const Judgement judgement =
      exhibit.judgedWithPrograms(replaced(good, GetParam().from, GetParam().to));
  EXPECT_FALSE(judgement.good());
  EXPECT_THAT(judgement.problems, Contains(HasSubstr(GetParam().problem)));
}

INSTANTIATE_TEST_SUITE_P(
    Header, SpoiltRecord,
    testing::Values(
        Spoilt{"version=1", "version=2", R"("version" is "2", expected 1)"},
        Spoilt{"host=builder\n", "", R"(the header "host" is missing)"},
        Spoilt{"host=builder", "host=", R"(the header "host" is empty)"},
        Spoilt{"host=builder", "host=other", R"(it is "other", one.log says "builder")"},
        Spoilt{"host=builder", "host=builder\nhost=builder", R"(the header "host" is repeated)"},
        Spoilt{"host=builder", "host=builder\nguest=x", R"(the header "guest" is unknown)"},
        Spoilt{"host=builder", "host=build er", "is neither a header nor a line"},
        Spoilt{"source_head=a", "source_head=A", "expected a commit's 40"},
        Spoilt{"source_head=a", "source_head=", "expected a commit's 40"},
        Spoilt{"source_head=a", "source_head=b", "one.log says \"aaaa"},
        Spoilt{"tree=clean", "tree=tidy", "expected clean or dirty"},
        Spoilt{"tree=clean", "tree=dirty", R"(it is "dirty", one.log says "clean")"}));

INSTANTIATE_TEST_SUITE_P(
    Line, SpoiltRecord,
    testing::Values(
        Spoilt{"case id=plain", "cases id=plain", "is neither a header nor a line"},
        Spoilt{"case id=plain", "case\tid=plain", "is not printable ASCII"},
        Spoilt{"case id=plain", "case it id=plain", R"("it" is not of the form key=value)"},
        Spoilt{"case id=plain", "case more=1 id=plain", R"(the field "more" is unknown)"},
        Spoilt{"id=plain.packet ", "id=plain.packet id=plain.packet ",
               R"(the field "id" is repeated)"},
        Spoilt{"id=plain.packet ", "id= ", R"(the field "id" is empty)"},
        Spoilt{"id=plain.packet ", "", R"(the field "id" is missing)"},
        Spoilt{"outcome=connected ", "outcome= ", R"(the field "outcome" is empty)"},
        Spoilt{"artifact name=bin/vethgate ", "artifact ", R"(the field "name" is missing)"}));

INSTANTIATE_TEST_SUITE_P(
    Thing, SpoiltRecord,
    testing::Values(
        Spoilt{"artifact name=bin/vethgate ", "artifact name=bin/other ",
               "the artifact bin/vethgate is missing"},
        Spoilt{"artifact name=bin/vethgate ", "artifact name=bin/other ",
               "(artifact bin/other): no log names it"},
        Spoilt{"artifact name=bin/vethgate sha256=", "artifact name=bin/vethgate sha256=0",
               "(artifact bin/vethgate): sha256 is"},
        Spoilt{"version=1.1.5", "version=1.1.6",
               R"((runtime runc): version is "1.1.6", one.log says "1.1.5")"},
        Spoilt{"runtime name=runc version=1.1.5\n", "", "names the runtime runc, the record does"},
        Spoilt{"runtime name=runc", "runtime name=crun version=1\nruntime name=runc",
               "(runtime crun): no log names it"},
        Spoilt{"runtime name=runc", "runtime name=runc version=1.1.5\nruntime name=runc",
               "(runtime runc): stands twice"},
        Spoilt{"engine name=docker-20.10 version=20.10.24\n", "",
               "one.log names the engine docker-20.10, the record does not"},
        Spoilt{"time=1796000000", "time=1796000001",
               R"((run one.log): time is "1796000001", the log says "1796000000")"},
        Spoilt{"kernel=6.1.0-50-amd64", "kernel=6.1.0-51-amd64",
               R"((run one.log): kernel is "6.1.0-51-amd64", the log says)"},
        Spoilt{"run log=one.log", "run log=none.log", "none.log: cannot be opened"},
        Spoilt{"run log=one.log", "run log=../one.log", "../one.log: leads out of the folder"},
        Spoilt{"run log=one.log", "run log=build", "build: is not a regular file"},
        Spoilt{"run log=one.log", "run log=two.log", "(run two.log): the log stands twice"}));

INSTANTIATE_TEST_SUITE_P(
    Case, SpoiltRecord,
    testing::Values(
        Spoilt{"id=reach.denied outcome=refused", "id=reach.denied outcome=connected",
               R"((case reach.denied): outcome is "connected", required is "refused")"},
        Spoilt{"id=reach.denied outcome=refused", "id=reach.denied outcome=connected",
               R"((case reach.denied): outcome is "connected", one.log measured "refused")"},
        Spoilt{"id=reach.denied outcome=refused", "id=reach.denied outcome=dropped",
               R"(the outcome "dropped" is unknown)"},
        Spoilt{"id=reach.denied", "id=reach.other",
               "the case reach.other on 6.1 is not among the required ones"},
        Spoilt{"id=reach.denied", "id=reach.other", "(case reach.other): one.log did not measure"},
        Spoilt{"id=reach.denied", "id=reach.other", "the case reach.denied on 6.1 is missing"},
        Spoilt{"id=reach.denied", "id=reach.other",
               "one.log measured the case reach.denied on 6.1, which the record leaves out"},
        Spoilt{"id=plain.packet outcome=refused kernel=6.12",
               "id=plain.packet outcome=refused kernel=6.1",
               "the case plain.packet on 6.1 stands twice"},
        Spoilt{"id=plain.packet outcome=refused kernel=6.12",
               "id=plain.packet outcome=refused kernel=6.1",
               R"((case plain.packet): kernel is "6.1", two.log ran on "6.12")"},
        Spoilt{
            "test=Reach/Of.Targets/Denied", "test=Reach/Of.Targets/Allowed",
            R"((case reach.denied): test is "Reach/Of.Targets/Allowed", one.log measured it in)"},
        Spoilt{"test=Reach/Of.Targets/Denied", "test=Plain.Holds",
               R"(test is "Plain.Holds", required is "Reach/Of.Targets/Denied")"},
        Spoilt{"log=one.log test=Reach/Of.Targets/Denied",
               "log=two.log test=Reach/Of.Targets/Denied",
               "(case reach.denied): two.log did not measure it"},
        Spoilt{"log=one.log test=Reach/Of.Targets/Denied",
               "log=six.log test=Reach/Of.Targets/Denied",
               "six.log is not the log of a run that could be read"},
        Spoilt{"test=Reach/Of.Targets/Denied sha256=", "test=Reach/Of.Targets/Denied sha256=0",
               "(case reach.denied): sha256 is"}));

TEST(Judge, SaysAllProblemsAtOnce) {
  const Exhibit exhibit;
  std::string record = exhibit.record();
  record = replaced(record, "version=1\n", "");
  record = replaced(record, "host=builder", "host=other");
  record = replaced(record, "id=reach.denied outcome=refused", "id=reach.denied outcome=connected");
  record = replaced(record, "runtime name=runc", "runtime name=crun");
  const Judgement judgement = exhibit.judged(record);
  for (const char* part : {"\"version\" is missing", "\"other\"", "required is \"refused\"",
                           "(runtime crun): no log names it"}) {
    EXPECT_THAT(judgement.problems, Contains(HasSubstr(part)));
  }
  const std::string text = judgementText(judgement);
  for (const std::string& problem : judgement.problems) {
    EXPECT_THAT(text, HasSubstr("problem: " + problem + "\n"));
  }
  EXPECT_THAT(text, HasSubstr("judged 7 cases by 4 tests in 2 logs: "));
  const Json document = Json::parse(judgementJson(judgement));
  EXPECT_EQ(document.at("evidence"), "refused");
  EXPECT_EQ(document.at("problems").size(), judgement.problems.size());
}

TEST(Judge, AChangedLogIsNotTheOneThatWasRecorded) {
  const Exhibit exhibit;
  const std::string record = exhibit.record();
  ASSERT_TRUE(exhibit.judged(record).good());
  exhibit.write(kFirstLog, exhibit.read(kFirstLog) + "one more line\n");
  EXPECT_THAT(exhibit.judged(record).problems, Contains(HasSubstr("(run one.log): sha256 is \"")));
}

TEST(Judge, AnotherProgramIsNotTheOneThatRan) {
  const Exhibit exhibit;
  const std::string record = exhibit.record();
  ASSERT_TRUE(exhibit.judgedWithPrograms(record).good());
  exhibit.write("build/bin/vethgate", "another program");
  EXPECT_TRUE(exhibit.judged(record).good());
  EXPECT_THAT(exhibit.judgedWithPrograms(record).problems,
              Contains(HasSubstr("the artifact bin/vethgate: sha256 is \"")));
  std::filesystem::remove(exhibit.build() / "bin/vethgate");
  EXPECT_THAT(exhibit.judgedWithPrograms(record).problems,
              Contains(HasSubstr("the artifact bin/vethgate: cannot be opened")));
}

// A record that claims what another test measured is not helped by right digests.
TEST(Judge, TheLogItselfMustHaveMeasuredEachCase) {
  const Exhibit exhibit;
  const std::string log = exhibit.read(kFirstLog);
  const std::string line = "vethgate-case id=reach.denied outcome=refused\n";
  const std::string record = exhibit.record();
  ASSERT_TRUE(exhibit.judged(record).good());

  const Judgement left = exhibit.judgedWith(kFirstLog, replaced(log, line, ""));
  EXPECT_THAT(left.problems, testing::ElementsAre("the case reach.denied on 6.1 is missing"));
  // Measured, but by a test that is not the one required.
  const Judgement elsewhere = exhibit.judgedWith(
      kFirstLog, replaced(replaced(log, line, ""), "what the test itself prints\n", line));
  EXPECT_THAT(elsewhere.problems,
              testing::ElementsAre(
                  HasSubstr(R"(test is "Plain.Holds", required is "Reach/Of.Targets/Denied")")));
  const Judgement turned = exhibit.judgedWith(
      kFirstLog, replaced(log, line, "vethgate-case id=reach.denied outcome=connected\n"));
  EXPECT_THAT(turned.problems,
              testing::ElementsAre(HasSubstr(R"(is "connected", required is "refused")")));
  const Judgement unlisted = exhibit.judgedWith(
      kFirstLog, replaced(log, line, line + "vethgate-case id=reach.new outcome=refused\n"));
  EXPECT_THAT(
      unlisted.problems,
      testing::ElementsAre(HasSubstr("the case reach.new on 6.1 is not among the required")));
}

TEST(Judge, OneCaseIsMeasuredInOneLog) {
  const Exhibit exhibit;
  const std::string second = exhibit.read(kSecondLog);
  const Judgement judgement =
      exhibit.judgedWith(kSecondLog, replaced(second, "6.12.90+deb12-amd64", "6.1.9-amd64"));
  EXPECT_THAT(judgement.problems, Contains(HasSubstr("the case plain.packet on 6.1 is measured in "
                                                     "one.log and in two.log")));
}

TEST(Judge, EachLogSaysWhichProgramsWereThere) {
  const Exhibit exhibit;
  const std::string log = exhibit.read(kSecondLog);
  const std::size_t begin = log.find("vethgate-artifact name=bin/vethgate-hold");
  const std::string line = log.substr(begin, log.find('\n', begin) + 1 - begin);
  EXPECT_THAT(exhibit.judgedWith(kSecondLog, replaced(log, line, "")).problems,
              testing::ElementsAre("two.log does not say which bin/vethgate-hold was there"));
  EXPECT_THAT(
      exhibit
          .judgedWith(kSecondLog,
                      replaced(log, line,
                               "vethgate-artifact name=bin/vethgate-hold sha256=" + kZeros + "\n"))
          .problems,
      testing::ElementsAre(HasSubstr("(artifact bin/vethgate-hold): sha256 is")));
}

TEST(Judge, AnEmptyRecordIsRefused) {
  const Exhibit exhibit;
  for (const char* record : {"", "# nothing\n", "\n"}) {
    const Judgement judgement = exhibit.judged(record);
    EXPECT_FALSE(judgement.good());
    EXPECT_EQ(judgement.cases, 0U);
    EXPECT_THAT(judgement.problems, Contains("the case plain.packet on 6.12 is missing"));
  }
}

}  // namespace
}  // namespace vethgate::evidence::test
