// `vethgate sweep` and `reap` against a real dockerd: what carries production's own labels goes
// when its time has come, and nothing else does: no job, no sibling's namespace, nothing of the
// host's own network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <future>
#include <memory>
#include <string_view>

#include "base/json.hpp"
#include "docker/custody/custody.hpp"
#include "docker/sweep/selection.hpp"
#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/engine.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/report.hpp"
#include "tests/live/fixture/topology.hpp"
#include "tests/live/on_engine.hpp"

namespace vethgate::live {
namespace {

using docker::kHelperRole;
using docker::kHolderRole;
using docker::kJobRole;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kPast = 1;
constexpr std::uint64_t kFuture = 2'000'000'000;
constexpr std::uint64_t kGrace = 3'600;
constexpr const char* kImage = "vethgate:" VETHGATE_VERSION;
constexpr const char* kPolicy = R"({"version": 1, "deny": ["private", "transition"],
  "allow": [{"to": "203.0.113.2", "protocol": "tcp", "ports": "9999", "why": "a public service"}]})";

std::uint64_t unixNow() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

class Stage {
 public:
  Stage() : engine(EngineKind::kDocker20, host.netns()) {
    engine.loadJobImage();
    engine.need({"load", "--input", VETHGATE_IMAGE});
  }
  Host host;
  LiveEngine engine;
};

class EngineSweep : public testing::Test {
 protected:
  static void SetUpTestSuite() { stage_ = std::make_unique<Stage>(); }
  static void TearDownTestSuite() { stage_.reset(); }

  static LiveEngine& engine() { return stage_->engine; }
  static Host& host() { return stage_->host; }
  static docker::Engine api() { return docker::Engine(engine().socket()); }
  static Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }

  static Finished vethgate(std::vector<std::string> arguments, const std::string& input = "",
                           std::vector<std::string> before = {}) {
    before.emplace_back(std::string(VETHGATE_BIN_DIR) + "/vethgate");
    before.insert(before.end(), arguments.begin(), arguments.end());
    before.insert(before.end(), {"--engine", engine().socket()});
    return run({.argv = before, .input = input, .deadline = std::chrono::seconds(150)});
  }
  static Json sweep(const std::string& owner, int exit = 0, const char* command = "sweep") {
    const Finished finished = vethgate({command, "--owner", owner});
    EXPECT_EQ(finished.exit, exit) << finished.summary() << "\n" << finished.err;
    return finished.out.empty() ? Json() : Json::parse(finished.out);
  }
  static std::vector<std::string> names(const Json& document, const char* list) {
    std::vector<std::string> all;
    for (const Json& entry : document.at(list)) {
      all.push_back(entry.at("name"));
    }
    return all;
  }

  // A running container as an attempt makes it, with its labels; returns its id.
  static std::string make(const std::string& owner, const std::string& job, std::string_view role,
                          std::uint64_t stamp, const std::string& network = "bridge") {
    const docker::Engine made = api();
    docker::Custody custody(made, made,
                            {{docker::kOwnerLabel, owner},
                             {docker::kJobLabel, job},
                             {docker::kRemoveAfterLabel, std::to_string(stamp)}});
    docker::ContainerSpec spec;
    spec.name = role == kHolderRole   ? docker::holderName(job)
                : role == kHelperRole ? docker::helperName(job, "apply")
                                      : "run-of-" + job;
    spec.image = kImage;
    spec.command = {"/vethgate-hold"};
    spec.network = network;
    const std::string id = custody.create(spec, role.data(), soon());
    made.startContainer(id, soon());
    return id;
  }
  // Somebody's container in the network of `id`, running, without a label.
  static void join(const std::string& name, const std::string& id) {
    engine().need(
        {"run", "--detach", "--name", name, "--network", "container:" + id, kJobImage, "--hold"});
  }
  static bool runs(const std::string& name) {
    const auto found = api().findContainer(name, soon());
    return found && found->running;
  }
  static bool exists(const std::string& name) {
    return api().findContainer(name, soon()).has_value();
  }

  static Json establish(const std::string& owner, const std::string& job, std::uint64_t deadline) {
    const Finished finished =
        vethgate({"establish"}, R"({"version": 1, "job": ")" + job + R"(", "owner": ")" + owner +
                                    R"(", "network": "bridge", "deadline": )" +
                                    std::to_string(deadline) + R"(, "policy": )" + kPolicy + "}");
    EXPECT_TRUE(finished.ok()) << finished.summary() << "\n" << engine().log();
    return finished.ok() ? Json::parse(finished.out) : Json();
  }
  static PayloadReport launchIn(const std::string& network, const std::vector<std::string>& targets,
                                const std::vector<std::string>& options = {"--rm"},
                                const std::string& runtime = "runc") {
    std::vector<std::string> all{"--network", network,       "--cap-drop",     "ALL",
                                 "--user",    "65534:65534", "--security-opt", "no-new-privileges"};
    all.insert(all.end(), options.begin(), options.end());
    return PayloadReport(engine().runJob(runtime, all, targets));
  }
  static PayloadReport launch(const Json& answer, const std::vector<std::string>& targets) {
    return launchIn(answer.at("network_mode").get<std::string>(), targets);
  }
  static void expectContained(const PayloadReport& report) {
    EXPECT_EQ(report.outcome(kAllowedTcp), Outcome::kConnected) << report;
    EXPECT_EQ(report.outcome(kDeniedTcp), Outcome::kRefused) << report;
  }

  static std::unique_ptr<Stage> stage_;
};

std::unique_ptr<Stage> EngineSweep::stage_;

// Of the containers that production labels, the one whose second has passed, alone.
TEST_F(EngineSweep, RemovesTheExpiredHolderAndNoOther) {
  make("ten", "expired", kHolderRole, kPast);
  make("ten", "current", kHolderRole, kFuture);
  make("ten-not", "another", kHolderRole, kPast);
  engine().need({"run", "--detach", "--name", "nobodys", kJobImage, "--hold"});
  const Json document = sweep("ten");
  EXPECT_THAT(names(document, "removed"), ElementsAre("vethgate-expired"));
  EXPECT_THAT(names(document, "failed"), IsEmpty());
  EXPECT_THAT(names(document, "skipped"), ElementsAre("vethgate-current"));
  EXPECT_EQ(document.at("skipped").at(0).at("remove_after"), kFuture);
  EXPECT_FALSE(exists("vethgate-expired"));
  for (const char* name : {"vethgate-current", "vethgate-another", "nobodys"}) {
    EXPECT_TRUE(runs(name)) << name;
  }
}

TEST_F(EngineSweep, RemovesAHelperInTheHoldersNetworkBeforeTheHolder) {
  const std::string holder = make("twentysix", "helped", kHolderRole, kPast);
  make("twentysix", "helped", kHelperRole, kPast, "container:" + holder);
  make("twentysix", "helped", kJobRole, kPast, "container:" + holder);
  const Json document = sweep("twentysix");
  const std::vector<std::string> removed = names(document, "removed");
  EXPECT_THAT(removed,
              UnorderedElementsAre("run-of-helped", "vethgate.apply-helped", "vethgate-helped"));
  // Which of the two in its namespace is gone first is the engine's matter.
  EXPECT_EQ(removed.empty() ? "" : removed.back(), "vethgate-helped");
  EXPECT_THAT(names(document, "failed"), IsEmpty());
  EXPECT_THAT(names(document, "deferred"), IsEmpty());
  EXPECT_FALSE(exists("vethgate-helped"));
}

TEST_F(EngineSweep, KeepsAHolderThatSomebodyRunsIn) {
  const std::string holder = make("kept", "used", kHolderRole, kPast);
  join("somebody", holder);
  const Json document = sweep("kept", 5);
  EXPECT_THAT(names(document, "kept"), ElementsAre("vethgate-used"));
  EXPECT_EQ(document.at("kept").at(0).at("attached").at("name"), "somebody");
  EXPECT_TRUE(runs("vethgate-used"));
  EXPECT_TRUE(runs("somebody"));
  engine().need({"rm", "--force", "somebody"});
  EXPECT_THAT(names(sweep("kept"), "removed"), ElementsAre("vethgate-used"));
}

TEST_F(EngineSweep, ReapsTheIdleHolderAlone) {
  make("six", "idle", kHolderRole, kFuture);
  const std::string busy = make("six", "busy", kHolderRole, kFuture);
  join("a-job", busy);
  make("six-not", "foreign", kHolderRole, kFuture);
  const Json document = sweep("six", 0, "reap");
  EXPECT_THAT(names(document, "removed"), ElementsAre("vethgate-idle"));
  EXPECT_THAT(names(document, "failed"), IsEmpty());
  EXPECT_THAT(names(document, "kept"), ElementsAre("vethgate-busy"));
  EXPECT_FALSE(exists("vethgate-idle"));
  for (const char* name : {"vethgate-busy", "a-job", "vethgate-foreign"}) {
    EXPECT_TRUE(runs(name)) << name;
  }
}

TEST_F(EngineSweep, AWatchSweepsAtOnceAndEndsAtASignal) {
  make("watched", "expired", kHolderRole, kPast);
  const Finished finished =
      vethgate({"sweep", "--owner", "watched", "--watch"}, "",
               {"timeout", "--foreground", "--preserve-status", "--signal=TERM", "15"});
  EXPECT_EQ(finished.exit, 0) << finished.summary();
  EXPECT_THAT(finished.err, HasSubstr(R"("event":"sweep.removed")"));
  EXPECT_FALSE(exists("vethgate-expired"));
}

// A live job beside it: what the daemon holds of its stamp, and what the selection makes of that;
// another job's whole life and end; a clock set forward; the host's own network all the while.
TEST_F(EngineSweep, LeavesALiveJobAndTheHostAlone) {
  const std::uint64_t deadline = unixNow() + 600;
  const Json sibling = establish("live", "sibling", deadline);
  ASSERT_TRUE(sibling.is_object());

  // Restated, never rebuilt: by the daemon's word, through the real list and selection.
  const auto holder = api().findContainer(sibling.at("id"), soon());
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->labels.at(docker::kRemoveAfterLabel), std::to_string(deadline + kGrace));
  EXPECT_EQ(holder->labels.at(docker::kRoleLabel), kHolderRole);
  EXPECT_EQ(holder->labels.at(docker::kOwnerLabel), "live");
  EXPECT_EQ(holder->labels.at(docker::kJobLabel), "sibling");
  EXPECT_THAT(docker::selectDue({*holder}, "live", deadline + kGrace - 1).due, IsEmpty());
  EXPECT_EQ(docker::selectDue({*holder}, "live", deadline + kGrace).due.size(), 1U);
  EXPECT_EQ(sweep("live").at("skipped").at(0).at("remove_after"), deadline + kGrace);
  const std::vector<std::string> both{std::string(kAllowedTcp), std::string(kDeniedTcp)};
  expectContained(launch(sibling, both));

  // A listener beyond the host, and the host's own way there.
  Job beyond(host());
  Services canary(beyond.netns());
  const std::string there = "tcp:" + beyond.addressV4() + ":9996";
  const std::string nobodyThere = "tcp:" + beyond.addressV4() + ":9997";
  canary.listenOn(there);
  const auto fromHost = [&](const std::string& target) {
    return PayloadReport(run({.argv = {VETHGATE_PAYLOAD, target}, .in = &host().netns()}))
        .outcome(target);
  };
  EXPECT_EQ(fromHost(there), Outcome::kConnected);
  EXPECT_EQ(fromHost(nobodyThere), Outcome::kFailed);
  // A container that nobody contains, on the same network, reaches all of it, before and after.
  const std::vector<std::string> targets{both[0], both[1], there};
  const auto expectAlive = [&](const char* when) {
    const PayloadReport neighbour = launchIn("bridge", targets);
    expectAll(neighbour, targets, Outcome::kConnected, when);
    return neighbour.outcome(kDeniedTcp);
  };
  caseMeasured("sweep.neighbour.denied-before-cleanup", expectAlive("before"));
  std::atomic<bool> over = false;
  std::future<std::array<int, 2>> during = std::async(std::launch::async, [&] {
    std::array<int, 2> tried{};
    while (!over) {
      ++tried[fromHost(there) == Outcome::kConnected ? 0 : 1];
    }
    return tried;
  });
  // The whole life of another job, and the end of a third that was forgotten.
  const Json second = establish("live", "second", deadline);
  ASSERT_TRUE(second.is_object());
  const PayloadReport report = launch(second, {std::string(kAllowedTcp), there});
  caseMeasured("sweep.host.beyond-from-a-job", report.outcome(there));
  EXPECT_EQ(report.outcome(kAllowedTcp), Outcome::kConnected) << report;
  EXPECT_EQ(report.outcome(there), Outcome::kRefused) << report;
  EXPECT_TRUE(vethgate({"release", "second", "--owner", "live"}).ok());
  make("live", "forgotten", kHolderRole, kPast);
  EXPECT_THAT(names(sweep("live"), "removed"), ElementsAre("vethgate-forgotten"));
  over = true;
  const std::array<int, 2> tried = during.get();
  caseMeasured("sweep.host.beyond-during-cleanup",
               tried[0] > 0 && tried[1] == 0 ? Outcome::kConnected : Outcome::kFailed);
  EXPECT_GE(tried[0], 1);
  EXPECT_EQ(tried[1], 0);
  EXPECT_EQ(fromHost(there), Outcome::kConnected);
  EXPECT_TRUE(runs("vethgate-sibling"));
  // The last one in there, since gVisor takes the addresses with it.
  const PayloadReport after = launchIn(sibling.at("network_mode").get<std::string>(), both,
                                       {"--name", "siblings"}, kRunscBookwormName);
  expectContained(after);
  expectIdentity(engine(), after, "siblings", kRunscBookwormName, sibling);
  caseMeasured("sweep.neighbour.denied-after-cleanup", expectAlive("after"));
  caseMeasured("sweep.sibling.allowed-after-cleanup", after.outcome(kAllowedTcp));
  caseMeasured("sweep.sibling.denied-after-cleanup", after.outcome(kDeniedTcp));
}

// The machine's clock, set forward under a job that has an hour and ten minutes left, and back.
TEST_F(EngineSweep, AClockSetForwardRemovesNoLiveJob) {
  make("clock", "live", kHolderRole, unixNow() + kGrace + 600);
  const auto set = [](std::int64_t by) {
    timespec now{};
    ASSERT_EQ(clock_gettime(CLOCK_REALTIME, &now), 0);
    now.tv_sec += by;
    ASSERT_EQ(clock_settime(CLOCK_REALTIME, &now), 0);
  };
  constexpr std::int64_t kJump = 86'400;
  set(kJump);
  const Json document = sweep("clock", 5);
  const bool there = runs("vethgate-live");
  // One made by the clock as it is now is due by that.
  make("clock", "expired", kHolderRole, unixNow() - 10);
  const Json again = sweep("clock", 5);
  set(-kJump);
  EXPECT_TRUE(there);
  EXPECT_THAT(names(document, "removed"), IsEmpty());
  EXPECT_EQ(document.at("skipped").at(0).at("reason"), "clock-jumped");
  EXPECT_THAT(names(again, "removed"), ElementsAre("vethgate-expired"));
  // What the engine made in between is in the future now.
  set(kJump);
  make("clock", "later", kHolderRole, kFuture);
  set(-kJump);
  const Finished back = vethgate({"sweep", "--owner", "clock"});
  EXPECT_EQ(back.exit, 6) << back.summary();
  EXPECT_THAT(back.err, HasSubstr("the clock went back"));
  EXPECT_TRUE(runs("vethgate-live"));
}

}  // namespace
}  // namespace vethgate::live
