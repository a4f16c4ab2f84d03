// What each container engine does with a job's namespace, and that a job which an engine starts
// under a runtime meets what was put on its holder's veth. docs/engines.md states these facts; the
// captures of tests/offline/verifier/captures/engine-* are what the resolver's rows leave in
// $VETHGATE_OUT.
#include "tests/live/fixture/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <utility>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/engine_files.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/report.hpp"
#include "tests/live/fixture/topology.hpp"

namespace vethgate::live {
namespace {

constexpr const char* kNobody = "65534:65534";
constexpr unsigned kNetAdmin = 12;  // linux/capability.h

std::string readFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// One engine, and a holder on each kind of network: `resolving` on one of the user's making, as
// another user than root; `holder` on the engine's own, as root. Both have NET_ADMIN alone, as far
// as the engine gives it to their user.
class Stage {
 public:
  explicit Stage(EngineKind kind) : engine(kind, host.netns()) {
    engine.loadJobImage();
    engine.need({"network", "create", "jobs"});
    std::vector<std::string> asUser{"--network", "jobs", "--user", kNobody};
    if (kind != EngineKind::kPodman4) {  // does not know the word
      asUser.insert(asUser.end(), {"--add-host", "proxy:host-gateway"});
    }
    resolving = hold("resolving", asUser);
    holder = hold("holder", {"--user", "0:0"});
  }

  Host host;
  LiveEngine engine;
  pid_t resolving = -1;
  pid_t holder = -1;

 private:
  pid_t hold(const std::string& name, const std::vector<std::string>& options) const {
    std::vector<std::string> run{"run",
                                 "--detach",
                                 "--name",
                                 name,
                                 "--read-only",
                                 "--cap-drop",
                                 "ALL",
                                 "--cap-add",
                                 "NET_ADMIN",
                                 "--security-opt",
                                 "no-new-privileges"};
    run.insert(run.end(), options.begin(), options.end());
    run.insert(run.end(), {kJobImage, "--hold"});
    engine.need(run);
    return engine.pidOf(name);
  }
};

class EngineTest : public testing::TestWithParam<EngineKind> {
 protected:
  static void TearDownTestSuite() {
    stage_.reset();
    tried_ = false;
  }

  // Made by the first row that asks, since a suite does not know its parameter.
  static Stage& stage() {
    if (stage_ == nullptr) {
      if (std::exchange(tried_, true)) {
        throw std::runtime_error("the engine could not be started: see the first row");
      }
      stage_ = std::make_unique<Stage>(GetParam());
    }
    return *stage_;
  }

  void TearDown() override {
    if (HasFailure() && stage_ != nullptr) {
      std::cerr << "log of " << GetParam() << ":\n" << stage_->engine.log() << '\n';
    }
  }

 private:
  static std::unique_ptr<Stage> stage_;
  static bool tried_;
};

std::unique_ptr<Stage> EngineTest::stage_;
bool EngineTest::tried_ = false;

// The payload, run by the engine in the namespace of `holder` as a job is run.
PayloadReport runJob(const LiveEngine& engine, const std::string& runtime, const std::string& job,
                     const std::string& holder) {
  return PayloadReport(
      engine.runJob(runtime,
                    {"--name", job, "--network", "container:" + holder, "--cap-drop", "ALL",
                     "--user", kNobody, "--security-opt", "no-new-privileges", "--read-only"},
                    {std::string(kAllowedTcp), std::string(kAllowedUdp), std::string(kDeniedTcp),
                     std::string(kDeniedUdp)}));
}

void measured(const std::string& id, const PayloadReport& report) {
  caseMeasured(id + ".allowed", report.outcome(kAllowedTcp));
  caseMeasured(id + ".denied", report.outcome(kDeniedTcp));
}

void expectReach(const PayloadReport& report, Outcome denied) {
  EXPECT_EQ(report.outcome(kAllowedTcp), Outcome::kConnected) << report;
  EXPECT_EQ(report.outcome(kAllowedUdp), Outcome::kConnected) << report;
  EXPECT_EQ(report.outcome(kDeniedTcp), denied) << report;
  EXPECT_EQ(report.outcome(kDeniedUdp), denied) << report;
}

// What the egress hook, which comes before clsact, dropped of what the policy denies: v4_2 is that
// set of the reference.
std::uint64_t deniedOnVeth(const Verdict& verdict) {
  std::uint64_t packets = 0;
  for (const auto& [rule, count] : verdict.document.at("drops").items()) {
    if (rule.starts_with("netdev ") && rule.find(" drop v4_2 ") != std::string::npos) {
      packets += count.get<std::uint64_t>();
    }
  }
  return packets;
}

TEST_P(EngineTest, JobOfEachRuntimeMeetsTheFiltersOnItsHoldersVeth) {
  const LiveEngine& engine = stage().engine;
  const Namespace netns = Namespace::of(stage().holder);
  expectReach(runJob(engine, engine.defaultRuntime(), "before", "holder"), Outcome::kConnected);

  const Finished link = probe(netns);
  ASSERT_TRUE(link.ok()) << link.summary();
  const Finished plan = render(kReferencePolicy, link.out, "plan");
  ASSERT_TRUE(plan.ok()) << plan.summary();
  const Finished applied = applyPlan(netns, plan.out);
  ASSERT_TRUE(applied.ok()) << applied.summary();
  const Verdict fresh = verify(netns, kReferencePolicy, link.out);
  ASSERT_TRUE(fresh.contained()) << fresh;
  EXPECT_EQ(deniedOnVeth(fresh), 0U);

  const PayloadReport plain = runJob(engine, engine.defaultRuntime(), "plain", "holder");
  const std::string engineName(name(GetParam()));
  measured("engine." + engineName + "." + engine.defaultRuntime(), plain);
  expectReach(plain, Outcome::kRefused);
  EXPECT_TRUE(plain.onThisKernel()) << plain;
  EXPECT_EQ(engine.recordedRuntime("plain"), engine.defaultRuntime());
  // OUTPUT stops an ordinary socket's packets before they come to the veth.
  EXPECT_EQ(deniedOnVeth(verify(netns, kReferencePolicy, link.out)), 0U);

  const char* gvisor = GetParam() == EngineKind::kDocker20 || GetParam() == EngineKind::kPodman5
                           ? kRunscBookwormName
                           : kRunscBackportsName;
  const PayloadReport inside = runJob(engine, gvisor, "gvisor", "holder");
  measured("engine." + engineName + "." + gvisor, inside);
  expectReach(inside, Outcome::kRefused);
  EXPECT_TRUE(inside.onGvisor()) << inside;
  EXPECT_EQ(engine.recordedRuntime("gvisor"), gvisor);
  EXPECT_EQ(engine.need({"inspect", "--format", "{{.HostConfig.NetworkMode}}", "gvisor"}),
            "container:" + engine.need({"inspect", "--format", "{{.Id}}", "holder"}));
  const Verdict used = verify(netns, kReferencePolicy, link.out);
  EXPECT_TRUE(used.contained()) << used;
  EXPECT_GT(deniedOnVeth(used), 0U) << used.document;
}

// What docker writes into the namespace for its resolver, on a network of the user's making; the
// ports are its listener's, chosen by the kernel.
constexpr const char* kDockerRules = R"(table ip nat {
	chain DOCKER_OUTPUT {
		ip daddr 127.0.0.11 tcp dport 53 counter dnat to 127.0.0.11:TCP
		ip daddr 127.0.0.11 udp dport 53 counter dnat to 127.0.0.11:UDP
	}

	chain OUTPUT {
		type nat hook output priority -100; policy accept;
		ip daddr 127.0.0.11 counter jump DOCKER_OUTPUT
	}

	chain DOCKER_POSTROUTING {
		ip saddr 127.0.0.11 tcp sport TCP counter snat to :53
		ip saddr 127.0.0.11 udp sport UDP counter snat to :53
	}

	chain POSTROUTING {
		type nat hook postrouting priority srcnat; policy accept;
		ip daddr 127.0.0.11 counter jump DOCKER_POSTROUTING
	}
}
)";

// Where the rules lead one protocol's questions; empty when nowhere.
std::string portOf(const std::string& protocol, const std::string& rules) {
  std::smatch found;
  const std::regex dnat(protocol + " dport 53 counter dnat to 127\\.0\\.0\\.11:([0-9]+)");
  return std::regex_search(rules, found, dnat) ? found[1].str() : "";
}

// The ports are named only where both halves of a translation agree on them.
std::string withoutPorts(std::string rules) {
  for (const char* protocol : {"tcp", "udp"}) {
    if (const std::string port = portOf(protocol, rules); !port.empty()) {
      const std::string word = protocol == std::string("tcp") ? "TCP" : "UDP";
      rules = std::regex_replace(
          rules, std::regex("(" + std::string(protocol) + " [^\n]*[: ])" + port + "\\b"),
          "$1" + word);
    }
  }
  return rules;
}

TEST_P(EngineTest, NamespaceHoldsTheResolversRulesAndNoOthers) {
  const Namespace netns = Namespace::of(stage().resolving);
  // Debian's nft says on stderr that the table is iptables-nft's.
  const Finished rules =
      runOrThrow({.argv = {"nft", "--stateless", "list", "ruleset"}, .in = &netns});
  EXPECT_EQ(withoutPorts(rules.out), isPodman(GetParam()) ? "" : kDockerRules);

  const PayloadReport asked(run({.argv = {VETHGATE_PAYLOAD, "tcp:127.0.0.11:53"}, .in = &netns}));
  EXPECT_EQ(asked.outcome("tcp:127.0.0.11:53"),
            isPodman(GetParam()) ? Outcome::kFailed : Outcome::kConnected)
      << asked;

  EXPECT_THAT(readFile("/proc/" + std::to_string(stage().resolving) + "/root/etc/resolv.conf"),
              testing::HasSubstr(isPodman(GetParam()) ? "nameserver 10.89.0.1\n"
                                                      : "nameserver 127.0.0.11\n"));

  // With the plan of a small policy in place; the captures serve the verifier's own tests.
  const std::string policy =
      readFile(VETHGATE_SOURCE_DIR "/tests/offline/verifier/captures/tiny.policy.json");
  const Finished link = probe(netns);
  ASSERT_TRUE(link.ok()) << link.summary();
  const Finished plan = render(policy, link.out, "plan");
  ASSERT_TRUE(plan.ok()) << plan.summary();
  const Finished applied = applyPlan(netns, plan.out);
  ASSERT_TRUE(applied.ok()) << applied.summary();
  const std::string file = vmVariable("VETHGATE_OUT") + "/engine-" + std::string(name(GetParam()));
  std::ofstream(file + ".link.json") << link.out;
  const Verdict verdict = verify(netns, policy, link.out, file + ".json");
  EXPECT_TRUE(verdict.contained()) << verdict;
  Json resolver;  // what the verdict says of it: nothing of podman's
  if (!isPodman(GetParam())) {
    resolver = {{"tcp", std::stoi(portOf("tcp", rules.out))},
                {"udp", std::stoi(portOf("udp", rules.out))}};
  }
  EXPECT_EQ(verdict.document.at("engine").at("resolver"), resolver);

  if (!isPodman(GetParam())) {
    // One rule more among them, which leads elsewhere.
    const auto iptables = [&netns](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), {"iptables-nft", "-t", "nat"});
      runOrThrow({.argv = arguments, .in = &netns});
    };
    iptables({"-I", "DOCKER_OUTPUT", "-d", "127.0.0.11", "-p", "tcp", "-j", "DNAT",
              "--to-destination", "203.0.113.9:53"});
    const Verdict changed = verify(netns, policy, link.out);
    EXPECT_TRUE(changed.refused()) << changed;
    EXPECT_THAT(changed.reasons(), testing::HasSubstr("ip nat DOCKER_OUTPUT #1: "));
    EXPECT_EQ(changed.document.at("engine").at("resolver"), Json());
    iptables({"-D", "DOCKER_OUTPUT", "1"});
    const Verdict restored = verify(netns, policy, link.out);
    EXPECT_TRUE(restored.contained()) << restored;
  }
}

// The line of /etc/hosts that names `host`, as the container sees the file.
std::string hostsLine(pid_t pid, const std::string& host) {
  std::istringstream lines(readFile("/proc/" + std::to_string(pid) + "/root/etc/hosts"));
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, std::regex("\\s" + host + "(\\s|$)"))) {
      return line.substr(0, line.find_first_of(" \t"));
    }
  }
  return {};
}

TEST_P(EngineTest, HostGatewayIsAnAddressOfTheHost) {
  const pid_t pid = stage().resolving;
  switch (GetParam()) {
    case EngineKind::kDocker20:
    case EngineKind::kDocker26:  // of the default bridge, whatever network the container is on
      EXPECT_EQ(hostsLine(pid, "proxy"), "172.17.0.1");
      break;
    case EngineKind::kPodman4:
      EXPECT_EQ(hostsLine(pid, "host.containers.internal"), "10.89.0.1");
      break;
    case EngineKind::kPodman5:
      EXPECT_EQ(hostsLine(pid, "proxy"), "10.89.0.1");
      EXPECT_EQ(hostsLine(pid, "host.containers.internal"), "10.89.0.1");
      break;
  }
}

std::uint64_t capabilities(pid_t pid, const std::string& field) {
  std::istringstream words(readFile("/proc/" + std::to_string(pid) + "/status"));
  for (std::string word; words >> word;) {
    if (word == field) {
      words >> word;
      return std::stoull(word, nullptr, 16);
    }
  }
  throw std::runtime_error("no " + field + " in the status of a process");
}

TEST_P(EngineTest, OnlyPodmanGivesACapabilityToAnotherUserThanRoot) {
  constexpr std::uint64_t kAlone = 1U << kNetAdmin;
  const std::uint64_t expected = isPodman(GetParam()) ? kAlone : 0;
  const pid_t pid = stage().resolving;
  EXPECT_EQ(capabilities(stage().holder, "CapEff:"), kAlone) << "as root";
  EXPECT_EQ(capabilities(pid, "CapBnd:"), kAlone);
  EXPECT_EQ(capabilities(pid, "CapEff:"), expected);
  EXPECT_EQ(capabilities(pid, "CapAmb:"), expected);
}

INSTANTIATE_TEST_SUITE_P(EngineDocker20, EngineTest, testing::Values(EngineKind::kDocker20));
INSTANTIATE_TEST_SUITE_P(EngineDocker26, EngineTest, testing::Values(EngineKind::kDocker26));
INSTANTIATE_TEST_SUITE_P(EnginePodman4, EngineTest, testing::Values(EngineKind::kPodman4));
INSTANTIATE_TEST_SUITE_P(EnginePodman5, EngineTest, testing::Values(EngineKind::kPodman5));

}  // namespace
}  // namespace vethgate::live
