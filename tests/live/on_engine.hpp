// The two suites of the rows that need an engine, each in several files, so that they share it:
// EngineDocker20/OnEngine and so on, what must hold on every engine, and EngineEstablish, what is
// shown on docker 20.10 alone.
#pragma once

#include <gtest/gtest.h>

#include <iostream>

#include "tests/live/fixture/site.hpp"

namespace vethgate::live {

// What a row that failed has left must not fail the next one.
inline void tellLogAndTidyOnFailure() {
  if (testing::Test::HasFailure() && Site::sharedIfAny() != nullptr) {
    const LiveEngine& engine = Site::sharedIfAny()->engine();
    std::cerr << "the engine's log:\n" << engine.log() << '\n';
    for (const char* left : {"conformance-joined", "conformance"}) {
      (void)engine.run({"rm", "--force", left});
    }
  }
}

class OnEngine : public testing::TestWithParam<EngineKind> {
 protected:
  static void TearDownTestSuite() { Site::dropShared(); }
  void TearDown() override { tellLogAndTidyOnFailure(); }
  static Site& site() { return Site::shared(GetParam()); }
};

class EngineEstablish : public testing::Test {
 protected:
  static void TearDownTestSuite() { Site::dropShared(); }
  void TearDown() override { tellLogAndTidyOnFailure(); }
  static Site& site() { return Site::shared(EngineKind::kDocker20); }
};

// A proxy on the machine, and what a worker's policy says of it and of its resolver; the ranges of
// documentation hold the resolvers, and stand for what else a worker denies.
inline constexpr const char* kSitePolicy = R"({"version": 1,
  "deny": ["private", "transition", "192.0.2.0/24", "2001:db8::/48"],
  "allow": [{"to": "host-gateway", "protocol": "tcp", "ports": "49220-49229", "why": "the proxy"}],
  "resolvers": ["192.0.2.53"]})";

// What that comes to for a job, each target alive on the machine or behind its uplink.
struct Reach {
  std::vector<std::string> allowed;
  std::vector<std::string> denied;

  [[nodiscard]] std::vector<std::string> all() const {
    std::vector<std::string> both = allowed;
    both.insert(both.end(), denied.begin(), denied.end());
    return both;
  }
};

// The host as the job sees it, by the answer of establish.
inline std::string gatewayOf(const Json& answer) {
  return answer.at("policy").at("allow").at(0).at("to").get<std::string>();
}

inline void expectAll(const PayloadReport& report, const std::vector<std::string>& targets,
                      Outcome expected, const char* when) {
  for (const std::string& target : targets) {
    EXPECT_EQ(report.outcome(target), expected) << target << " " << when << "\n" << report;
  }
}

// That the job ran as it was asked for: by its own kernel banner, by the engine's record of its
// runtime, and by its one network, the holder's.
inline void expectIdentity(const LiveEngine& engine, const PayloadReport& report,
                           const std::string& job, const std::string& runtime, const Json& answer) {
  const bool gvisor = runtime.starts_with("runsc");
  EXPECT_EQ(report.onGvisor(), gvisor) << report;
  EXPECT_EQ(report.onThisKernel(), !gvisor) << report;
  EXPECT_EQ(engine.recordedRuntime(job), runtime);
  EXPECT_EQ(
      engine.need({"inspect", "--format",
                   "{{.HostConfig.NetworkMode}} {{.State.ExitCode}} "
                   "{{len .NetworkSettings.Networks}}",
                   job}),
      // Podman shows the networks that are the holder's.
      answer.at("network_mode").get<std::string>() + " 0 " + (isPodman(engine.kind()) ? "1" : "0"));
}

// Runs a job in what `answer` offers, and holds it against `reach`. `options`: further ones.
inline PayloadReport expectReach(const Site& site, const Json& answer, const std::string& job,
                                 const std::string& runtime, const Reach& reach,
                                 const std::vector<std::string>& options = {}) {
  PayloadReport report =
      site.run(job, runtime, answer.at("network_mode").get<std::string>(), reach.all(), options);
  expectAll(report, reach.allowed, Outcome::kConnected, "for the job");
  expectAll(report, reach.denied, Outcome::kRefused, "for the job");
  expectIdentity(site.engine(), report, job, runtime, answer);
  return report;
}

// That everything is alive for whoever is not contained: a container of the same network before
// the job, or the machine itself after it.
inline void expectAliveForOthers(const Site& site, const std::string& network,
                                 const std::vector<std::string>& targets) {
  const PayloadReport neighbour =
      site.run("neighbour", site.engine().defaultRuntime(), network, targets, {"--rm"});
  expectAll(neighbour, targets, Outcome::kConnected, "for a container that is not contained");
}
inline void expectAliveAfterwards(const Site& site, const std::vector<std::string>& targets) {
  expectAll(site.runOnMachine(targets), targets, Outcome::kConnected,
            "from the machine afterwards");
}

}  // namespace vethgate::live
