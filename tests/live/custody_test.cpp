// What a real dockerd has left after `vethgate establish` was killed or told to end at each of its
// steps, and after the daemon itself was killed. The moments are events of the calls between the
// two, never times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "base/json.hpp"
#include "docker/sweep/pass.hpp"
#include "tests/live/fixture/engine.hpp"
#include "tests/live/fixture/relay.hpp"
#include "tests/live/fixture/topology.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOwner = "worker-1";
constexpr std::uint64_t kGrace = 3'600;
constexpr std::chrono::seconds kPatience{200};
constexpr std::chrono::seconds kMany{600};

std::uint64_t now() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

// The `time`th call whose first line holds `part`.
struct Point {
  const char* name;
  const char* part;
  int time;
  Moment moment;
};

struct Stage {
  Stage() : engine(EngineKind::kDocker20, host.netns()), relay(engine.socket()) {
    engine.need({"load", "--input", VETHGATE_IMAGE});
  }

  Host host;
  LiveEngine engine;
  Relay relay;
};

class EngineCustody : public testing::Test {
 protected:
  static void SetUpTestSuite() { stage_ = std::make_unique<Stage>(); }
  static void TearDownTestSuite() { stage_.reset(); }

  void SetUp() override { deadline_ = now() + 1'800; }
  void TearDown() override { stage_->relay.watch(nullptr); }

  static LiveEngine& engine() { return stage_->engine; }
  static Relay& relay() { return stage_->relay; }

  static Finished vethgate(std::vector<std::string> arguments, const std::string& input = "",
                           std::chrono::seconds patience = kPatience) {
    arguments.insert(arguments.begin(), std::string(VETHGATE_BIN_DIR) + "/vethgate");
    arguments.insert(arguments.end(), {"--engine", relay().socket()});
    return run({.argv = arguments, .input = input, .deadline = patience});
  }
  [[nodiscard]] Finished establish(const std::string& job, const std::string& owner = kOwner,
                                   std::chrono::seconds within = std::chrono::seconds(120)) const {
    const Json request{{"version", 1},
                       {"job", job},
                       {"owner", owner},
                       {"network", "bridge"},
                       {"deadline", deadline_},
                       {"within", within.count()},
                       {"policy", {{"version", 1}}}};
    return vethgate({"establish"}, request.dump(), within + kPatience);
  }

  // Does it once, in the thread of the call.
  static void at(const Point& point, std::function<void(pid_t)> deed) {
    relay().watch([point, deed = std::move(deed), times = std::make_shared<std::atomic<int>>(0)](
                      const std::string& call, pid_t client, Moment moment) {
      if (moment == point.moment && call.find(point.part) != std::string::npos &&
          ++*times == point.time) {
        deed(client);
      }
    });
  }

  // name → stamp, of everything there is.
  static std::map<std::string, std::string> containers() {
    std::map<std::string, std::string> all;
    std::istringstream lines(engine().need(
        {"ps", "--all", "--format",
         R"({{.Names}} {{.Label "vethgate.owner"}}/{{.Label "vethgate.remove-after"}})"}));
    std::string name;
    std::string stamp;
    while (lines >> name >> stamp) {
      all[name] = stamp;
    }
    return all;
  }

  // Before the stamp a sweep leaves everything, after it nothing.
  void expectSwept() const {
    const docker::Engine client(engine().socket());
    const auto before = containers();
    for (const auto& [name, stamp] : before) {
      EXPECT_EQ(stamp, std::string(kOwner) + "/" + std::to_string(deadline_ + kGrace)) << name;
    }
    docker::Cursor cursor;
    EXPECT_THAT(docker::sweep(client, kOwner, deadline_ + kGrace - 1, cursor).removed, IsEmpty());
    EXPECT_EQ(containers(), before);
    EXPECT_EQ(docker::sweep(client, kOwner, deadline_ + kGrace, cursor).removed.size(),
              before.size());
    EXPECT_THAT(containers(), IsEmpty());
  }

  std::uint64_t deadline_ = 0;
  static std::unique_ptr<Stage> stage_;
};

std::unique_ptr<Stage> EngineCustody::stage_;

constexpr const char* kHolderCreate = "/containers/create?name=vethgate-";
constexpr const char* kHostCreate = "/containers/create?name=vethgate.host";

TEST_F(EngineCustody, AKilledEstablishLeavesAtWorstWhatASweepTakes) {
  std::size_t most = 0;
  for (const Point& point : std::vector<Point>{
           {"the host's helper is being created", kHostCreate, 1, Moment::kPassedOn},
           {"the holder is being created", kHolderCreate, 1, Moment::kPassedOn},
           {"the holder is created", kHolderCreate, 1, Moment::kAnswered},
           {"the first one is being started", "/start ", 1, Moment::kPassedOn},
           {"the host's helper and the holder are being started", "/start ", 2, Moment::kPassedOn},
           {"the applier is being created", "create?name=vethgate.apply", 1, Moment::kPassedOn},
           {"the verifier is being created", "create?name=vethgate.verify", 1, Moment::kPassedOn},
           {"the rules are being written", "/start ", 3, Moment::kPassedOn},
           {"the rules are being read", "/start ", 4, Moment::kPassedOn},
           {"helpers are being removed", "DELETE ", 3, Moment::kPassedOn}}) {
    SCOPED_TRACE(point.name);
    at(point, [](pid_t client) { kill(client, SIGKILL); });
    const Finished finished = establish("killed");
    EXPECT_EQ(finished.signal, SIGKILL) << finished.summary();
    EXPECT_EQ(finished.out, "");
    relay().awaitCreates();
    most = std::max(most, containers().size());
    expectSwept();
  }
  // The sweeps had something to take.
  EXPECT_GE(most, 3U);
}

TEST_F(EngineCustody, ACancelledEstablishLeavesNothing) {
  for (const Point& point : std::vector<Point>{
           {"the host's helper is being created", kHostCreate, 1, Moment::kPassedOn},
           {"the holder is being created", kHolderCreate, 1, Moment::kPassedOn},
           {"the first one is being started", "/start ", 1, Moment::kPassedOn},
           {"both are started", "/start ", 2, Moment::kAnswered},
           {"the verifier is being created", "create?name=vethgate.verify", 1, Moment::kPassedOn},
           {"the rules are being written", "/start ", 3, Moment::kPassedOn},
           {"the rules are being read", "/start ", 4, Moment::kPassedOn}}) {
    SCOPED_TRACE(point.name);
    at(point, [](pid_t client) { kill(client, SIGTERM); });
    const Finished finished = establish("cancelled");
    EXPECT_EQ(finished.exit, 10) << finished.summary();
    EXPECT_EQ(finished.lastErrorLine(),
              "vethgate: job cancelled of worker-1: a signal ended the attempt; nothing of the "
              "attempt is left");
    for (int answer = 0; answer < 5; ++answer) {
      EXPECT_THAT(containers(), IsEmpty());
    }
  }
}

// Docker works on all of them together, so each is late, and the request says that it may be.
TEST_F(EngineCustody, TwentyOwnersAtOnceAreServedEachWithItsOwn) {
  constexpr std::size_t kOwners = 20;
  const auto job = [](std::size_t i) { return "job-" + std::to_string(i); };
  const auto owner = [](std::size_t i) { return "owner-" + std::to_string(i); };
  const auto all = [](const std::function<Finished(std::size_t)>& one) {
    std::vector<std::future<Finished>> started;
    for (std::size_t i = 0; i < kOwners; ++i) {
      started.push_back(std::async(std::launch::async, one, i));
    }
    std::vector<Finished> finished;
    for (std::future<Finished>& each : started) {
      finished.push_back(each.get());
    }
    return finished;
  };

  // The first one loads modules of the kernel, and what appears while a namespace is read is
  // refused.
  const Finished first = establish("first", owner(0), kMany);
  ASSERT_TRUE(first.ok()) << first.summary();
  ASSERT_TRUE(vethgate({"release", "first", "--owner", owner(0)}, "", kMany).ok());

  const std::vector<Finished> made =
      all([&](std::size_t i) { return establish(job(i), owner(i), kMany); });
  std::map<std::string, std::string> expected;
  std::set<std::uint64_t> namespaces;
  for (std::size_t i = 0; i < kOwners; ++i) {
    EXPECT_TRUE(made[i].ok()) << made[i].summary();
    const Json answer = Json::parse(made[i].out, nullptr, false);
    if (answer.is_discarded()) {
      continue;
    }
    EXPECT_EQ(answer.at("owner"), owner(i));
    namespaces.insert(answer.at("link").at("netns").get<std::uint64_t>());
    expected["vethgate-" + job(i)] = owner(i) + "/" + std::to_string(deadline_ + kGrace);
  }
  EXPECT_EQ(namespaces.size(), kOwners);
  EXPECT_EQ(containers(), expected);

  for (const Finished& released : all([&](std::size_t i) {
         return vethgate({"release", job(i), "--owner", owner(i), "--within", "300"}, "", kMany);
       })) {
    EXPECT_EQ(released.out, "{\"released\":1}\n") << released.summary();
  }
  EXPECT_THAT(containers(), IsEmpty());
}

TEST_F(EngineCustody, ADaemonThatDiesMeanwhileLeavesAtWorstWhatASweepTakes) {
  std::promise<void> died;
  at({"the rules are being written", "/start ", 3, Moment::kPassedOn}, [&](pid_t) {
    engine().kill();
    died.set_value();
  });
  std::future<Finished> establishing =
      std::async(std::launch::async, [&] { return establish("orphaned"); });
  ASSERT_EQ(died.get_future().wait_for(kPatience), std::future_status::ready);
  // In this thread: a daemon ends with the one that started it.
  engine().restart();
  const Finished finished = establishing.get();
  EXPECT_EQ(finished.exit, 9) << finished.summary();
  EXPECT_EQ(finished.out, "");
  const std::string said = finished.lastErrorLine();
  const bool nothing = said.find("; nothing of the attempt is left") != std::string::npos;
  for (const auto& [name, stamp] : containers()) {
    EXPECT_FALSE(nothing) << name << ": " << said;
    EXPECT_THAT(said, HasSubstr(" " + name));
  }
  std::cout << said << "\n";
  expectSwept();
}

}  // namespace
}  // namespace vethgate::live
