// The list of required cases: its form, and that it and tests/live name the same rows.
#include "evidence/required.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "tests/live/fixture/process.hpp"

namespace vethgate::evidence {
namespace {

namespace fs = std::filesystem;

constexpr const char* kList = "tests/live/cases.txt";

TEST(RequiredList, IsReadLineByLine) {
  const std::vector<RequiredCase> cases =
      readRequired("# comment\n\nheld 6.1,6.12 A.B # more\nrefused  6.1 a.b  C/A.B/0\n");
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[1].id, "A.B");
  EXPECT_EQ(cases[1].test, "A.B");
  EXPECT_EQ(cases[1].kernel, "6.12");
  EXPECT_EQ(cases[2].id, "a.b");
  EXPECT_EQ(cases[2].outcome, "refused");
  EXPECT_EQ(cases[2].test, "C/A.B/0");
}

TEST(RequiredList, OfAnotherFormIsADefect) {
  for (const char* text :
       {"", "# nothing\n", "held 6.1\n", "held 6.1 A.B A.B more\n", "dropped 6.1 A.B\n",
        "held 6 A.B\n", "held 6.1, A.B\n", "held 6.1.2 A.B\n", "held .1 A.B\n", "held 6. A.B\n",
        "held x A.B\n", "held 6.1,6.1 A.B\n", "held 6.1 A.B\nheld 6.1 A.B\n", "held\t6.1 A.B\n"}) {
    try {
      (void)readRequired(text);
      ADD_FAILURE() << text;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kDefect) << text;
    }
  }
}

TEST(RequiredList, RowsAndSeriesAreNamedByTheirBeginning) {
  EXPECT_EQ(rowOf("Prefix/Suite.Test/0"), "Prefix/Suite.Test");
  EXPECT_EQ(rowOf("Suite.Test"), "Suite.Test");
  EXPECT_EQ(rowOf("x"), "x");
  EXPECT_EQ(seriesOf("6.1.0-50-amd64"), "6.1");
  EXPECT_EQ(seriesOf("6.12-rc1"), "6.12");
  EXPECT_EQ(seriesOf("7"), "7");
}

// Every instance that there is in tests/live, by its row.
std::map<std::string, std::set<std::string>> liveRows() {
  const live::Finished listed =
      live::runOrThrow({.argv = {VETHGATE_LIVE_TESTS, "--gtest_list_tests"}});
  std::map<std::string, std::set<std::string>> rows;
  std::istringstream lines(listed.out);
  std::string suite;
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find("  #"));
    if (!name.starts_with("  ")) {
      suite = name;
    } else {
      const std::string test = suite + name.substr(2);
      rows[rowOf(test)].insert(test);
    }
  }
  return rows;
}

// As ./run leaves suites out on 6.12.
std::string kernelsOf(const std::string& row) {
  return row.starts_with("Gvisor") || row.starts_with("Engine") ? "6.1" : "6.1,6.12";
}

TEST(RequiredList, HoldsEveryRowOfTheLiveTests) {
  const auto rows = liveRows();
  ASSERT_GT(rows.size(), 50U);
  std::map<std::string, std::string> held;
  for (const RequiredCase& one : requiredCases()) {
    if (one.outcome == kHeld) {
      held[one.id] += (held[one.id].empty() ? "" : ",") + one.kernel;
      EXPECT_EQ(one.id, one.test) << "in " << kList << ": a row is held under its own name";
    }
  }
  for (const auto& [row, instances] : rows) {
    const std::string line = "held " + kernelsOf(row) + " " + row;
    if (!held.contains(row)) {
      ADD_FAILURE() << "no required case covers a live test; add this line to " << kList << ":\n"
                    << line;
    } else {
      EXPECT_EQ(held[row], kernelsOf(row)) << "in " << kList << " the line must be:\n" << line;
    }
  }
}

TEST(RequiredList, HoldsNoTestThatIsNotThere) {
  const auto rows = liveRows();
  std::map<std::string, std::set<std::string>> named;  // instances that cases name, by row
  for (const RequiredCase& one : requiredCases()) {
    const auto row = rows.find(rowOf(one.test));
    EXPECT_TRUE(row != rows.end() && (one.test == row->first || row->second.contains(one.test)))
        << "there is no live test " << one.test << "; take it out of " << kList
        << ", or correct the "
        << "line of " << one.id;
    if (one.test != rowOf(one.test)) {
      named[rowOf(one.test)].insert(one.test);
    }
  }
  // Where the parameter is the claim, each has a case.
  for (const auto& [row, some] : named) {
    for (const std::string& test : rows.contains(row) ? rows.at(row) : some) {
      EXPECT_TRUE(some.contains(test))
          << "no required case covers this instance; add a line to " << kList << ":\n"
          << "OUTCOME " << kernelsOf(row) << " ID " << test;
    }
  }
}

// What the sources measure by name, and the beginnings of names that they put together.
TEST(RequiredList, HoldsWhatTheSourcesMeasure) {
  std::set<std::string> ids;
  std::set<std::string> beginnings;
  for (const auto& entry : fs::directory_iterator(fs::path(VETHGATE_SOURCE_DIR) / "tests/live")) {
    if (entry.path().extension() != ".cpp") {
      continue;
    }
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    const std::regex call(R"re([mM]easured\(\s*"([^"]+)"\s*(\+?))re");
    for (std::sregex_iterator found(source.begin(), source.end(), call), end; found != end;
         ++found) {
      ((*found)[2].length() == 0 ? ids : beginnings).insert((*found)[1]);
    }
  }
  ASSERT_GT(ids.size(), 10U);
  ASSERT_GT(beginnings.size(), 1U);
  std::set<std::string> listed;
  for (const RequiredCase& one : requiredCases()) {
    listed.insert(one.id);
    EXPECT_TRUE(one.outcome == kHeld || ids.contains(one.id) ||
                std::ranges::any_of(beginnings,
                                    [&](const auto& begin) { return one.id.starts_with(begin); }))
        << "no test measures " << one.id << "; take its line out of " << kList;
  }
  for (const std::string& id : ids) {
    EXPECT_TRUE(listed.contains(id)) << "a measured case is not required; add a line to " << kList
                                     << ":\nOUTCOME 6.1,6.12 " << id << " Suite.Test";
  }
}

}  // namespace
}  // namespace vethgate::evidence
