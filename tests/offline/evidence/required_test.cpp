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
#include <string>
#include <vector>

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

std::string contentOf(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

// The first group of each match.
std::set<std::string> found(const std::string& text, const std::regex& what) {
  std::set<std::string> all;
  for (std::sregex_iterator at(text.begin(), text.end(), what), end; at != end; ++at) {
    all.insert((*at)[1]);
  }
  return all;
}

// What is measured on every engine, under its own runtime and under gVisor.
struct Composed {
  const char* family;
  const char* source;
  const char* test;  // behind the engine's instantiation
  std::set<std::string> suffixes;
};
const std::vector<Composed>& composed() {
  static const std::vector<Composed> all{
      {"engine",
       "engine_test.cpp",
       "EngineTest.JobOfEachRuntimeMeetsTheFiltersOnItsHoldersVeth",
       {".allowed", ".denied"}},
      {"establish",
       "establish_everywhere_test.cpp",
       "OnEngine.EstablishedJobsReachWhatThePolicyAllowsAlone",
       {".allowed", ".denied", ".metadata", ".proxy", ".proxy-other-port", ".machine"}}};
  return all;
}
struct OnEngine {
  const char* engine;
  const char* instantiation;
  std::vector<std::string> runtimes;
};
const std::vector<OnEngine>& engines() {
  static const std::vector<OnEngine> all{
      {"docker-20.10", "EngineDocker20", {"runc", "runsc-bookworm"}},
      {"docker-26.1", "EngineDocker26", {"runc", "runsc-backports"}},
      {"podman-4.3", "EnginePodman4", {"crun", "runsc-backports"}},
      {"podman-5.4", "EnginePodman5", {"crun", "runsc-bookworm"}}};
  return all;
}
// The test of each case whose id is put together, by that: a second statement of which there are.
// What reach measures is told from its instances.
std::map<std::string, std::string> composedCases() {
  std::map<std::string, std::string> tests;
  for (const Composed& kind : composed()) {
    for (const OnEngine& on : engines()) {
      for (const std::string& runtime : on.runtimes) {
        for (const std::string& suffix : kind.suffixes) {
          tests[std::string(kind.family) + "." + on.engine + "." + runtime + suffix] =
              std::string(on.instantiation) + "/" + kind.test;
        }
      }
    }
  }
  for (const std::string job : {"establish.runc", "establish.bundle"}) {
    for (const char* outcome : {".allowed", ".denied"}) {
      tests[job + outcome] = "EngineEstablish.StatusJudgesTheNamespaceAgain";
    }
  }
  for (const std::string layer : {"flower", "netdev"}) {
    tests["tunnels." + layer] = "Layer/TunnelsByLayer.AloneLetsNoneOut/" + layer;
  }
  const std::string without = "without-flower.";
  for (const std::string kernel : {"cls_flower", "act_gact", "neither"}) {
    for (const char* frame : {".denied-frame", ".allowed-frame"}) {
      tests[without + kernel + frame] =
          "Kernel/WithoutFlower.TheOtherTwoLayersHoldEveryFrame/" + kernel;
    }
  }
  for (const char* target :
       {"allowed", "allowed-v6", "denied", "denied-udp", "denied-v6", "metadata"}) {
    const std::string test = "WithoutFlower.TheOtherTwoLayersHoldThePayload";
    tests[without + "runc." + target] = "Runc" + test;
    tests[without + "runsc-bookworm." + target] = "Gvisor" + test;
  }
  return tests;
}

TEST(RequiredList, HoldsEachOutcomeThatATestPutsTogether) {
  std::map<std::string, std::string> listed;
  for (const RequiredCase& one : requiredCases()) {
    listed[one.id] = one.test;
  }
  for (const auto& [id, test] : composedCases()) {
    EXPECT_EQ(listed[id], test) << "in " << kList << " there must be a line:\nOUTCOME KERNELS "
                                << id << " " << test;
  }
  for (const Composed& kind : composed()) {
    const std::string source =
        contentOf(fs::path(VETHGATE_SOURCE_DIR) / "tests/live" / kind.source);
    EXPECT_EQ(found(source, std::regex(R"re(caseMeasured\(\s*id \+ "([^"]+)")re")), kind.suffixes)
        << kind.source << " measures other outcomes than are stated here";
  }
  std::set<std::string> instantiations;
  for (const OnEngine& on : engines()) {
    instantiations.insert(on.instantiation);
  }
  const std::string source =
      contentOf(fs::path(VETHGATE_SOURCE_DIR) / "tests/live/engine_test.cpp");
  EXPECT_EQ(found(source, std::regex(R"re(INSTANTIATE_TEST_SUITE_P\((\w+),)re")), instantiations)
      << "there are other engines than are stated here";
}

// "Runc/ReachTest.IsAsThePolicySays/Reference_Denied": "reach.runc.Reference.Denied".
std::string reachOf(const std::string& test) {
  static const std::map<std::string, std::string> kRuntimes{{"GvisorBookworm", "runsc-bookworm"},
                                                            {"GvisorBackports", "runsc-backports"},
                                                            {"GvisorNetdev", "runsc-bookworm"},
                                                            {"GvisorFlower", "runsc-bookworm"},
                                                            {"Runc", "runc"},
                                                            {"RuncNetdev", "runc"},
                                                            {"Crun", "crun"}};
  const std::string instance = test.substr(test.rfind('/') + 1);
  const auto runtime = kRuntimes.find(test.substr(0, test.find('/')));
  return "reach." + (runtime == kRuntimes.end() ? "?" : runtime->second) + "." +
         std::regex_replace(instance, std::regex("_"), ".");
}

TEST(RequiredList, HoldsWhatTheSourcesMeasure) {
  std::set<std::string> ids;
  std::set<std::string> beginnings;
  for (const auto& entry : fs::directory_iterator(fs::path(VETHGATE_SOURCE_DIR) / "tests/live")) {
    if (entry.path().extension() == ".cpp") {
      const std::string source = contentOf(entry.path());
      ids.merge(found(source, std::regex(R"re([mM]easured\(\s*"([^"]+)"\s*[^+\s])re")));
      beginnings.merge(found(source, std::regex(R"re([mM]easured\(\s*"([^"]+)"\s*\+)re")));
    }
  }
  ASSERT_GT(ids.size(), 10U);
  EXPECT_EQ(beginnings, (std::set<std::string>{"engine.", "establish.", "reach.", "tunnels.",
                                               "without-flower."}))
      << "ids that are put together must be stated here whole";
  const std::map<std::string, std::string> together = composedCases();
  std::set<std::string> listed;
  for (const RequiredCase& one : requiredCases()) {
    listed.insert(one.id);
    EXPECT_TRUE(one.outcome == kHeld || ids.contains(one.id) || together.contains(one.id) ||
                one.id == reachOf(one.test))
        << "no test measures " << one.id << "; take its line out of " << kList;
  }
  for (const std::string& id : ids) {
    EXPECT_TRUE(listed.contains(id)) << "a measured case is not required; add a line to " << kList
                                     << ":\nOUTCOME 6.1,6.12 " << id << " Suite.Test";
  }
}

// `id`, where '*' stands for anything.
bool isShownBy(const std::string& id, const std::string& pattern) {
  std::string text = std::regex_replace(pattern, std::regex(R"re(\.)re"), R"re(\.)re");
  text = std::regex_replace(text, std::regex(R"re(\*)re"), ".*");
  return std::regex_match(id, std::regex(text));
}

// The page names cases so that a reader can look them up.
TEST(RequiredList, HoldsEveryCaseThatThePageNames) {
  std::set<std::string> families;
  std::set<std::string> ids;
  for (const RequiredCase& one : requiredCases()) {
    if (one.outcome != kHeld) {
      ids.insert(one.id);
      families.insert(one.id.substr(0, one.id.find('.')));
    }
  }
  const std::string page = contentOf(fs::path(VETHGATE_SOURCE_DIR) / "docs/evidence.md");
  std::set<std::string> named = found(page, std::regex(R"re(`([a-z]+\.[^`\s]+)`)re"));
  named.merge(found(page, std::regex(R"re(\bid=([a-z]+\.[\w.-]+))re")));
  named.merge(found(page, std::regex(R"re(caseMeasured\("([^"]+)")re")));
  std::size_t count = 0;
  for (const std::string& name : named) {
    if (families.contains(name.substr(0, name.find('.')))) {
      ++count;
      EXPECT_TRUE(std::ranges::any_of(ids, [&](const auto& id) { return isShownBy(id, name); }))
          << "docs/evidence.md names " << name << ", which is no required case";
    }
  }
  EXPECT_GT(count, 20U);
}

}  // namespace
}  // namespace vethgate::evidence
