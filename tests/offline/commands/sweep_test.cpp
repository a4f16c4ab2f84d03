// `vethgate sweep` and `vethgate reap` as programs: exit codes, the document, the log, a signal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <thread>

#include "base/json.hpp"
#include "base/program.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/offline/docker/sweep/yard.hpp"

namespace vethgate {
namespace {

using docker::kHolderRole;
using docker::test::Fault;
using docker::test::kOwner;
using docker::test::Yard;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kNever = 100'000'000'000;

class SweepCommand : public testing::Test {
 protected:
  [[nodiscard]] live::Finished run(std::vector<std::string> arguments,
                                   std::vector<std::string> before = {}) const {
    before.emplace_back(VETHGATE_BIN_DIR "/vethgate");
    before.insert(before.end(), arguments.begin(), arguments.end());
    before.insert(before.end(), {"--engine", yard_.socket()});
    return live::run({.argv = before});
  }
  static std::vector<std::string> events(const live::Finished& finished) {
    std::vector<std::string> names;
    std::istringstream log(finished.err);
    for (std::string line; std::getline(log, line);) {
      if (line.starts_with("{")) {
        names.push_back(Json::parse(line).at("event"));
      }
    }
    return names;
  }
  Yard yard_;
};

TEST_F(SweepCommand, RemovesAndAnswers) {
  yard_.addHolder("old", 1);
  yard_.addHolder("new", kNever);
  const live::Finished dry = run({"sweep", "--owner", kOwner, "--dry-run"});
  EXPECT_TRUE(dry.ok()) << dry.summary();
  EXPECT_EQ(Json::parse(dry.out).at("would_remove").size(), 1U);
  EXPECT_THAT(yard_.removals(), IsEmpty());
  const live::Finished finished = run({"sweep", "--owner", kOwner});
  EXPECT_TRUE(finished.ok()) << finished.summary();
  const Json document = Json::parse(finished.out);
  EXPECT_EQ(document.at("removed").at(0).at("name"), "vethgate-old");
  EXPECT_EQ(document.at("skipped").at(0).at("reason"), "not-due");
  EXPECT_THAT(events(finished), ElementsAre("sweep.removed", "sweep.pass"));
  EXPECT_THAT(yard_.names(), ElementsAre("vethgate-new"));
}

TEST_F(SweepCommand, SaysWhatItLeftByItsExitCode) {
  const std::string old = yard_.addHolder("old", 1);
  yard_.add({.name = "somebody", .mode = "container:" + old});
  const live::Finished kept = run({"sweep", "--owner", kOwner});
  EXPECT_EQ(kept.exit, 5) << kept.summary();
  EXPECT_THAT(kept.lastErrorLine(), HasSubstr("vethgate: 1 kept, whose network others use"));
  yard_.vanish("somebody");

  yard_.fail("remove vethgate-old", Fault::kRefuse);
  const live::Finished failed = run({"sweep", "--owner", kOwner});
  EXPECT_EQ(failed.exit, 9) << failed.summary();
  EXPECT_THAT(failed.lastErrorLine(), HasSubstr("may still exist"));

  yard_.fail("list", Fault::kRefuse);
  const live::Finished blind = run({"sweep", "--owner", kOwner});
  EXPECT_EQ(blind.exit, 9) << blind.summary();
  EXPECT_EQ(blind.out, "");
  EXPECT_THAT(events(blind), ElementsAre("sweep.error"));

  yard_.add({.name = "from-the-future", .created = kNever});
  const live::Finished back = run({"sweep", "--owner", kOwner});
  EXPECT_EQ(back.exit, 6) << back.summary();
  EXPECT_THAT(events(back), ElementsAre("sweep.clock"));
  EXPECT_THAT(back.lastErrorLine(), HasSubstr("the clock went back"));
}

TEST_F(SweepCommand, IsForOneOwner) {
  yard_.addHolder("old", 1);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"sweep"},
        {"sweep", "--owner", ""},
        {"sweep", "--owner", "*"},
        {"sweep", "--owner", "worker-*"},
        {"sweep", "--owner", "a,b"},
        {"sweep", "--owner", kOwner, "--owner", "worker-2"},
        {"sweep", "--all"},
        {"sweep", "--owner", kOwner, "--watch", "--dry-run"},
        {"sweep", "--owner", kOwner, "--interval", "300"},
        {"sweep", "--owner", kOwner, "--watch", "--interval", "1"},
        {"reap"},
        {"reap", "--owner", "*"}}) {
    const live::Finished finished = run(arguments);
    EXPECT_EQ(finished.exit, 2) << testing::PrintToString(arguments) << finished.summary();
  }
  EXPECT_THAT(yard_.calls(), IsEmpty());
}

// timeout(1) sends the signal, to the command alone and so once, and passes the exit status on.
TEST_F(SweepCommand, AWatchEndsAtASignal) {
  yard_.addHolder("old", 1);
  const auto started = std::chrono::steady_clock::now();
  const live::Finished finished =
      run({"sweep", "--owner", kOwner, "--watch"},
          {"timeout", "--foreground", "--preserve-status", "--signal=TERM", "3"});
  EXPECT_EQ(finished.exit, 0) << finished.summary();
  EXPECT_EQ(finished.signal, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(60));
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(events(finished), ElementsAre("sweep.removed", "sweep.pass"));
  EXPECT_THAT(yard_.names(), IsEmpty());
}

TEST_F(SweepCommand, ASignalWaitsForTheRemovalInFlight) {
  yard_.addHolder("a", 1);
  yard_.addHolder("b", 1);
  yard_.before("remove vethgate-a", [] { std::this_thread::sleep_for(std::chrono::seconds(5)); });
  yard_.before("remove vethgate-b", [] { std::this_thread::sleep_for(std::chrono::seconds(5)); });
  const live::Finished finished =
      run({"sweep", "--owner", kOwner, "--watch"},
          {"timeout", "--foreground", "--preserve-status", "--signal=TERM", "3"});
  EXPECT_EQ(finished.exit, 0) << finished.summary();
  EXPECT_EQ(yard_.names().size(), 1U);
  EXPECT_EQ(yard_.removals().size(), 1U);
  EXPECT_THAT(events(finished), ElementsAre("sweep.removed", "sweep.deferred", "sweep.pass"));
}

TEST_F(SweepCommand, ReapsWhatNobodyUses) {
  yard_.addHolder("idle", kNever);
  const std::string busy = yard_.addHolder("busy", 1);
  yard_.add({.name = "somebody", .mode = "container:" + busy});
  const live::Finished dry = run({"reap", "--owner", kOwner, "--dry-run"});
  EXPECT_TRUE(dry.ok()) << dry.summary();
  EXPECT_THAT(yard_.removals(), IsEmpty());
  const live::Finished finished = run({"reap", "--owner", kOwner});
  EXPECT_TRUE(finished.ok()) << finished.summary();
  EXPECT_THAT(yard_.removals(), ElementsAre("vethgate-idle"));
  EXPECT_EQ(Json::parse(finished.out).at("kept").at(0).at("name"), "vethgate-busy");
}

// Each unit's command line is one that the command accepts, up to the engine that is not there.
TEST(SweepUnits, StartWhatThereIs) {
  constexpr std::string_view kStart = "ExecStart=/usr/local/bin/vethgate ";
  constexpr std::size_t kMaxBytes = 10'000;
  std::size_t services = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(VETHGATE_SOURCE_DIR "/docker/units")) {
    std::istringstream unit(readFile(entry.path(), "unit", kMaxBytes));
    for (std::string line; std::getline(unit, line);) {
      if (!line.starts_with(kStart)) {
        continue;
      }
      ++services;
      std::vector<std::string> argv{"timeout",
                                    "--foreground",
                                    "--preserve-status",
                                    "--signal=TERM",
                                    "3",
                                    VETHGATE_BIN_DIR "/vethgate"};
      std::istringstream words(line.substr(kStart.size()));
      for (std::string word; words >> word;) {
        argv.push_back(word == "%i" ? kOwner : word);
      }
      argv.insert(argv.end(), {"--engine", "/run/vethgate-no-engine"});
      const live::Finished finished = live::run({.argv = argv});
      const bool watches = line.find("--watch") != std::string::npos;
      EXPECT_EQ(finished.exit, watches ? 0 : 9) << line << "\n" << finished.summary();
    }
  }
  EXPECT_EQ(services, 3U);
}

}  // namespace
}  // namespace vethgate
