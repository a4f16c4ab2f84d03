// `./run`, in a repository of its own whose programs note that they were called: every form of the
// command line comes to its steps, and `accept` refuses for each of its reasons and accepts
// without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/live/fixture/process.hpp"
#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate {
namespace {

namespace fs = std::filesystem;

using evidence::test::Exhibit;
using evidence::test::replaced;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Notes its name and its arguments, and ends like a test program of which one test passed.
constexpr const char* kNoting = R"(#!/bin/bash
echo "${0#"$PWD"/} $*" >>steps
echo '[  PASSED  ] 1 test.'
)";

// In the place of what installs and compiles, and of what takes its time.
constexpr const char* kStubs = R"(
source ./run
build() { echo "build $*" >>steps; }
fuzz() { echo "fuzz $*" >>steps; echo "Done 1 runs in 1 second, cov: 1"; }
lint() { echo lint >>steps; }
)";

class Repository : public testing::Test {
 protected:
  Repository() {
    std::string pattern = testing::TempDir() + "/vethgate-run-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("no folder can be made");
    }
    folder_ = pattern;
    fs::copy(VETHGATE_SOURCE_DIR "/run", folder_ / "run");
    for (const char* program : {"tests/live/vm/boot", "tests/live/vm/prepare",
                                "build/gcc/tests/offline-room", "build/gcc/tests/live-mutants",
                                "build/sanitize/tests/offline-room", "build/gcc/bin/vethgate"}) {
      write(program, kNoting);
      fs::permissions(folder_ / program, fs::perms::owner_all);
    }
    git({"init", "--quiet", "--initial-branch=main"});
    git({"add", "run", "tests"});
    first_ = commit("first");
    git({"checkout", "--quiet", "-b", "aside"});
    aside_ = commit("aside");
    git({"checkout", "--quiet", "main"});
    second_ = commit("second");
  }
  ~Repository() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  std::string git(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(),
                     {"env", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "git",
                      "-c", "user.name=nobody", "-c", "user.email=nobody@invalid"});
    std::string out = live::runOrThrow({.argv = arguments, .directory = folder_}).out;
    return out.substr(0, out.find('\n'));
  }
  [[nodiscard]] std::string commit(const std::string& name) const {
    git({"commit", "--quiet", "--allow-empty", "--message", name});
    return git({"rev-parse", "HEAD"});
  }

  // `./run ARGUMENTS` with `stubs` for some of its functions.
  [[nodiscard]] live::Finished run(const std::vector<std::string>& arguments,
                                   const std::string& stubs = kStubs) const {
    fs::remove(folder_ / "steps");
    std::vector<std::string> argv{"bash", "-c", stubs + "\nmain \"$@\"", "bash"};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    return live::run({.argv = argv, .directory = folder_});
  }
  // What was called by the last run().
  [[nodiscard]] std::vector<std::string> steps() const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / "steps");
    for (std::string line; std::getline(file, line);) {
      lines.push_back(line);
    }
    return lines;
  }

  fs::path folder_;
  std::string first_;
  std::string aside_;  // no ancestor of second_
  std::string second_;
};

class RunForms : public Repository {
 protected:
  void expectSteps(const std::vector<std::string>& arguments,
                   const testing::Matcher<std::vector<std::string>>& expected) {
    const live::Finished finished = run(arguments);
    EXPECT_EQ(finished.exit, 0) << testing::PrintToString(arguments) << "\n"
                                << finished.out << finished.err;
    EXPECT_THAT(steps(), expected) << testing::PrintToString(arguments);
  }
};

const std::vector<std::string> kOffline{"build gcc",
                                        "build sanitize",
                                        "build/gcc/tests/offline-room --gtest_brief=0",
                                        "build/sanitize/tests/offline-room --gtest_brief=0",
                                        "build fuzz",
                                        "fuzz policy 8",
                                        "fuzz plan 8",
                                        "fuzz link 8",
                                        "fuzz capture 8",
                                        "fuzz dump 8"};

std::string booted(const std::string& kernel, const std::string& options) {
  return "tests/live/vm/boot --kernel " + kernel + " --deadline 1800 " + options;
}

const std::vector<std::string> kLive{
    "build gcc",
    "tests/live/vm/prepare --quiet",
    booted("6.1", "--out build/gcc/live/6.1 -- build/gcc/tests/live-tests --gtest_filter=-Engine*"),
    booted("6.1", "-- build/gcc/tests/live-tests --gtest_filter=Engine*-*/*"),
    booted("6.1", "-- build/gcc/tests/live-tests --gtest_filter=Engine*/*"),
    booted("6.12",
           "--out build/gcc/live/6.12 -- build/gcc/tests/live-tests "
           "--gtest_filter=-Engine*:Gvisor*"),
    "build/gcc/bin/vethgate evidence write build/gcc/evidence/record engine-6.1.log "
    "engines-6.1.log kernel-6.1.log kernel-6.12.log",
    "build/gcc/bin/vethgate evidence check build/gcc/evidence/record --root build/gcc",
    "build/gcc/tests/live-mutants 1/2 build/gcc/live/6.1 build/gcc/live/6.12",
    "build/gcc/tests/live-mutants 2/2 build/gcc/live/6.1 build/gcc/live/6.12"};

// Lanes take turns as they like.
TEST_F(RunForms, TestComesToEveryTestAndToTheRecord) {
  std::vector<std::string> all = kOffline;
  all.insert(all.end(), kLive.begin(), kLive.end());
  expectSteps({"test"}, testing::UnorderedElementsAreArray(all));
  expectSteps({"test", "all"}, testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(run({"test"}).out, HasSubstr("\n14 passed, 0 failed, 0 skipped\n"));
}

TEST_F(RunForms, TestOfOneKindComesToThatAlone) {
  expectSteps({"test", "offline"}, testing::UnorderedElementsAreArray(kOffline));
  expectSteps({"test", "live"}, testing::UnorderedElementsAreArray(kLive));
}

TEST_F(RunForms, TestOfAPatternComesToBothKernels) {
  const std::string program = "-- build/gcc/tests/live-tests --gtest_filter=";
  expectSteps(
      {"test", "live", "Frames.*"},
      ElementsAre("build gcc", "tests/live/vm/prepare --quiet", booted("6.1", program + "Frames.*"),
                  booted("6.12", program + "Frames.*:-Gvisor*:Engine*")));
  expectSteps({"test", "live", "Frames.*-Frames.No*"},
              ElementsAre("build gcc", "tests/live/vm/prepare --quiet",
                          booted("6.1", program + "Frames.*-Frames.No*"),
                          booted("6.12", program + "Frames.*-Frames.No*:Gvisor*:Engine*")));
}

TEST_F(RunForms, TheOthersComeToTheirSteps) {
  write("build/gcc/image/vethgate-image.digest", "sha256:1\n");
  expectSteps({"build"}, ElementsAre("build gcc"));
  expectSteps({"build", "clang"}, ElementsAre("build clang"));
  expectSteps({"image"}, ElementsAre("build gcc --target image"));
  expectSteps({"lint"}, ElementsAre("lint"));
  expectSteps({"fuzz", "plan"}, ElementsAre("build fuzz", "fuzz plan 60"));
  expectSteps({"fuzz", "dump", "5"}, ElementsAre("build fuzz", "fuzz dump 5"));
  expectSteps({"demo"}, ElementsAre("build gcc", "tests/live/vm/prepare --quiet",
                                    HasSubstr("-- build/gcc/tests/demo")));
  expectSteps({"bench"}, ElementsAre("build gcc", "tests/live/vm/prepare --quiet",
                                     testing::EndsWith("-- build/gcc/bench/bench")));
  for (const char* what : {"processes", "randomised", "packets", "establish", "concurrent"}) {
    expectSteps({"bench", what, "3"},
                Contains(testing::EndsWith("build/gcc/bench/bench " + std::string(what) + " 3")));
    EXPECT_THAT(run({}).err, HasSubstr(what));
  }
}

TEST_F(RunForms, AnyOtherIsRefusedBeforeAnything) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"tset"}, Arguments{"test", "onlin"}, Arguments{"test", "Frames.*"},
        Arguments{"bench", "packet"}, Arguments{"bench", "all"}, Arguments{"fuzz"},
        Arguments{"fuzz", "plans"}, Arguments{"fuzz", "policy plan"}}) {
    const live::Finished finished = run(arguments);
    EXPECT_EQ(finished.exit, 2) << testing::PrintToString(arguments) << finished.summary();
    EXPECT_THAT(finished.err, HasSubstr("usage: ./run COMMAND"));
    EXPECT_THAT(steps(), IsEmpty()) << testing::PrintToString(arguments);
  }
}

TEST_F(RunForms, AFailedTestProgramFailsTheRun) {
  write("build/gcc/tests/offline-room",
        "#!/bin/bash\necho '[  PASSED  ] 1 test.'\necho '[  FAILED  ] 2 tests, listed below:'\n"
        "exit 1\n");
  const live::Finished finished = run({"test", "offline"});
  EXPECT_EQ(finished.exit, 1) << finished.summary();
  EXPECT_THAT(finished.out, HasSubstr("\n7 passed, 2 failed, 0 skipped\n"));
}

// The offline tests are not run from within an offline test.
constexpr const char* kPassing = "source ./run\ntest_offline() { passed=3; echo tested >>steps; }";

class RunAccept : public Repository {
 protected:
  RunAccept() {
    fs::remove(folder_ / "build/gcc/bin/vethgate");
    fs::create_symlink(VETHGATE_BIN_DIR "/vethgate", folder_ / "build/gcc/bin/vethgate");
  }

  // Of all that is required, measured at `head`.
  [[nodiscard]] std::string recordOf(const std::string& head) const {
    std::vector<std::string> argv{VETHGATE_BIN_DIR "/vethgate", "evidence", "write",
                                  exhibit_.folder() / "record"};
    for (const std::string& log : exhibit_.writeRequired(head)) {
      argv.push_back(log);
    }
    live::runOrThrow({.argv = argv});
    return argv[3];
  }

  [[nodiscard]] live::Finished accept(const std::string& record,
                                      const std::string& stubs = kPassing) const {
    return run({"accept", record}, stubs);
  }
  void expectRefused(const live::Finished& finished, const std::string& reason) const {
    EXPECT_EQ(finished.exit, 1) << finished.summary();
    EXPECT_THAT(finished.err, HasSubstr("NOT ACCEPTED: " + reason));
    EXPECT_THAT(finished.out, Not(HasSubstr("ACCEPTED")));
  }
  void expectAccepted(const live::Finished& finished) const {
    EXPECT_EQ(finished.exit, 0) << finished.summary();
    EXPECT_THAT(
        finished.out,
        AllOf(HasSubstr("ACCEPTED (offline): " + std::to_string(evidence::requiredCases().size()) +
                        " cases, and 3 offline tests."),
              HasSubstr("HEAD    " + second_)));
  }

  Exhibit exhibit_;
};

TEST_F(RunAccept, TakesAGoodRecordOfThisCommitOrOfOneBefore) {
  for (const std::string& head : {first_, second_}) {
    expectAccepted(accept(recordOf(head)));
    EXPECT_THAT(steps(), ElementsAre("tested"));
  }
}

TEST_F(RunAccept, EndsWithTwoWithoutARecord) {
  for (const std::string& record :
       {std::string(), (exhibit_.folder() / "none").string(), exhibit_.folder().string()}) {
    const live::Finished finished = accept(record);
    EXPECT_EQ(finished.exit, 2) << finished.summary();
    EXPECT_THAT(finished.err, HasSubstr("there is no record that can be read"));
  }
  EXPECT_EQ(run({"accept"}, kPassing).exit, 2);
}

TEST_F(RunAccept, RefusesInATreeThatIsNotItsHeads) {
  const std::string record = recordOf(second_);
  std::ofstream(folder_ / "run", std::ios::app) << "# changed\n";
  expectRefused(accept(record), "this tree differs from its HEAD");
  git({"checkout", "--quiet", "run"});
  expectAccepted(accept(record));
}

TEST_F(RunAccept, RefusesARecordOfNoCommitBeforeThisOne) {
  expectRefused(accept(recordOf(aside_)), aside_ + " is no ancestor of HEAD");
  const std::string none(40, 'd');
  expectRefused(accept(recordOf(none)), "the record is of '" + none + "', which is no commit here");
  EXPECT_THAT(steps(), IsEmpty());
}

TEST_F(RunAccept, RefusesARecordOfADirtyTree) {
  const std::string record = recordOf(second_);
  exhibit_.write("record", replaced(exhibit_.read("record"), "tree=clean", "tree=dirty"));
  expectRefused(accept(record), "the record is not of a clean tree");
}

TEST_F(RunAccept, RefusesWhereAnOfflineTestFailsOrIsSkippedOrNoneRan) {
  const std::string record = recordOf(second_);
  for (const char* counts : {"passed=3 failed=1", "passed=3 skipped=1", "passed=0"}) {
    expectRefused(accept(record, std::string("source ./run\ntest_offline() { ") + counts + "; }"),
                  "offline tests: ");
  }
}

TEST_F(RunAccept, RefusesARecordThatIsRefused) {
  const std::string record = recordOf(second_);
  exhibit_.write("record", replaced(exhibit_.read("record"), "outcome=refused", "outcome=held"));
  const live::Finished finished = accept(record);
  expectRefused(finished, "{");
  EXPECT_THAT(finished.err, HasSubstr("outcome is \\\"held\\\""));
}

// The record was changed between two looks at it, or the judge says nothing that can be relied on.
TEST_F(RunAccept, RefusesAJudgementOfAnotherRecord) {
  const std::string record = recordOf(second_);
  const auto judged = [&](const std::string& said) {
    fs::remove(folder_ / "build/gcc/bin/vethgate");
    write("build/gcc/bin/vethgate", "#!/bin/bash\necho '" + said + "'\n");
    fs::permissions(folder_ / "build/gcc/bin/vethgate", fs::perms::owner_all);
    return accept(record);
  };
  const auto document = [](const std::string& head, const std::string& tree, int cases) {
    return R"({"cases":)" + std::to_string(cases) +
           R"(,"evidence":"good","logs":2,"problems":[],"source_head":")" + head +
           R"(","tests":9,"tree":")" + tree + "\"}";
  };
  EXPECT_EQ(judged(document(second_, "clean", 1)).exit, 0);
  expectRefused(judged(document(first_, "clean", 1)), "two readings of the record differ");
  expectRefused(judged(document(second_, "dirty", 1)), "two readings of the record differ");
  expectRefused(judged(document(second_, "clean", 0)), "no case was judged");
  expectRefused(judged(""), "no case was judged");
}

}  // namespace
}  // namespace vethgate
