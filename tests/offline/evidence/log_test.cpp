// What keeps a log from being that of one whole run in which everything passed.
#include "evidence/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate::evidence::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const kHeld = "vethgate-case id=A.B outcome=held";

std::string goodLog() {
  return logOf("6.1.0-50-amd64", {{.name = "A.B", .lines = {kHeld}}, {.name = "A.C"}});
}

TEST(Log, OfAWholeRunIsRead) {
  Problems problems;
  const Log log = readLog(goodLog(), "a.log", problems);
  EXPECT_THAT(problems, IsEmpty());
  EXPECT_EQ(log.tests.size(), 2U);
  EXPECT_TRUE(log.tests.at("A.C"));
  EXPECT_EQ(log.run.at("kernel"), "6.1.0-50-amd64");
  EXPECT_EQ(log.runtimes.at("runc"), "1.1.5");
  EXPECT_EQ(log.artifacts.size(), std::size(kArtifacts));
  ASSERT_EQ(log.measured.size(), 1U);
  EXPECT_EQ(log.measured.front().test, "A.B");
}

TEST(Log, OfOneTestIsWrittenInTheSingular) {
  std::string text = logOf("6.1", {{.name = "A.B"}});
  text = replaced(text, "Running 1 tests from 2 test suites.", "Running 1 test from 1 test suite.");
  text = replaced(text, "1 tests from 2 test suites ran.", "1 test from 1 test suite ran.");
  text = replaced(text, "[  PASSED  ] 1 tests.", "[  PASSED  ] 1 test.");
  Problems problems;
  (void)readLog(text, "a.log", problems);
  EXPECT_THAT(problems, IsEmpty());
}

struct Spoilt {
  const char* from;
  const char* to;
  const char* problem;
};

void PrintTo(const Spoilt& spoilt, std::ostream* out) { *out << spoilt.problem; }

class SpoiltLog : public testing::TestWithParam<Spoilt> {};

TEST_P(SpoiltLog, IsNotGreen) {
  Problems problems;
  (void)readLog(replaced(goodLog(), GetParam().from, GetParam().to), "a.log", problems);
  EXPECT_THAT(problems, Contains(HasSubstr(GetParam().problem)));
}

INSTANTIATE_TEST_SUITE_P(
    Test, SpoiltLog,
    testing::Values(
        Spoilt{"[       OK ] A.C (12 ms)", "[  FAILED  ] A.C (12 ms)", "A.C failed"},
        Spoilt{"[       OK ] A.C (12 ms)", "[  FAILED  ] A.C, where GetParam() = 1 (12 ms)",
               "A.C failed"},
        Spoilt{"[       OK ] A.C (12 ms)", "[  SKIPPED ] A.C (12 ms)", "A.C was skipped"},
        Spoilt{"[       OK ] A.C (12 ms)\n", "", "A.C has no end"},
        Spoilt{"[       OK ] A.C (12 ms)", "[       OK ] A.D (12 ms)",
               "A.D passed, but A.C is running"},
        Spoilt{"[       OK ] A.C (12 ms)", "[       OK ] A.C (12 ms)\n[       OK ] A.C (1 ms)",
               "A.C passed, but no test is running"},
        Spoilt{"[       OK ] A.B (12 ms)\n", "", "A.C begins before A.B has ended"},
        Spoilt{"[ RUN      ] A.C", "[ RUN      ] A.B", "A.B runs again"},
        Spoilt{"[ RUN      ] A.C\n", "", "A.C passed, but no test is running"},
        Spoilt{"[  PASSED  ] 2 tests.\n",
               "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n",
               "says that 1 tests failed"},
        Spoilt{"[  PASSED  ] 2 tests.\n",
               "[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n",
               "says that 1 tests were skipped"}));

INSTANTIATE_TEST_SUITE_P(
    Run, SpoiltLog,
    testing::Values(
        Spoilt{"[  PASSED  ] 2 tests.\n", "", "does not say how many tests passed"},
        Spoilt{"[  PASSED  ] 2 tests.", "[  PASSED  ] 0 tests.", "with 0 tests, but holds 2"},
        Spoilt{"[  PASSED  ] 2 tests.", "[  PASSED  ] 3 tests.", "with 3 tests, but holds 2"},
        Spoilt{"[  PASSED  ] 2 tests.", "[  PASSED  ] 2 tests.\n[  PASSED  ] 2 tests.",
               "says again how many tests passed"},
        Spoilt{"[==========] 2 tests from 2 test suites ran. (40 ms total)\n", "",
               "does not say that the run of tests ended"},
        Spoilt{"[==========] Running 2 tests from 2 test suites.\n", "",
               "does not say that a run of tests begins"},
        Spoilt{"Running 2 tests", "Running 9 tests",
               "says that a run of tests begins with 9 tests, but holds 2"},
        Spoilt{"[  PASSED  ] 2 tests.", "[  PASSED  ] 2 tests.\n[ RUN      ] A.D",
               "A.D is outside the run of tests"}));

INSTANTIATE_TEST_SUITE_P(
    Own, SpoiltLog,
    testing::Values(
        Spoilt{"vethgate-run ", "vethgate-ran ", R"("vethgate-ran" is unknown)"},
        Spoilt{"vethgate-run ", "vethgate-ran ", "holds 0 lines vethgate-run, expected 1"},
        Spoilt{"vethgate-run ", "vethgate-run x=1 ", R"(the field "x" is unknown)"},
        Spoilt{" tree=clean", "", R"(the field "tree" is missing)"},
        Spoilt{"vethgate-case id=A.B ", "vethgate-case ", R"(the field "id" is missing)"},
        Spoilt{"vethgate-case id=A.B ", "vethgate-case id=A.B id=A.C ",
               R"(the field "id" is repeated)"},
        Spoilt{"outcome=held", "outcome=", R"(the field "outcome" is empty)"},
        Spoilt{"vethgate-case id=A.B outcome=held",
               "vethgate-case id=A.B outcome=held\nvethgate-case id=A.B outcome=held",
               "the case A.B is measured again"},
        Spoilt{"[ RUN      ] A.B", "vethgate-case id=x outcome=held\n[ RUN      ] A.B",
               "the case x is outside a test"},
        Spoilt{"[ RUN      ] A.B", "vethgate-runtime name=crun version=1\n[ RUN      ] A.B",
               "comes after the tests began"},
        Spoilt{"vethgate-runtime name=runc version=1.1.5",
               "vethgate-runtime name=runc version=1.1.5\nvethgate-runtime name=runc version=1.2",
               "runc has another version than before"}));

TEST(Log, WithoutATestIsNotGreen) {
  Problems problems;
  (void)readLog(logOf("6.1", {}), "a.log", problems);
  EXPECT_THAT(problems, testing::ElementsAre("a.log: no test ran and passed"));
  problems.clear();
  (void)readLog("", "a.log", problems);
  EXPECT_THAT(problems, Contains("a.log: no test ran and passed"));
}

// Wherever it is cut, and whichever end is lost.
TEST(Log, ThatIsCutIsNotGreen) {
  const std::string whole = goodLog();
  for (std::size_t at = whole.find('\n') + 1; at < whole.size(); at = whole.find('\n', at) + 1) {
    Problems problems;
    (void)readLog(whole.substr(at), "a.log", problems);
    EXPECT_THAT(problems, testing::Not(IsEmpty())) << "from byte " << at;
    problems.clear();
    (void)readLog(whole.substr(0, at), "a.log", problems);
    EXPECT_THAT(problems, testing::Not(IsEmpty())) << "to byte " << at;
  }
}

}  // namespace
}  // namespace vethgate::evidence::test
