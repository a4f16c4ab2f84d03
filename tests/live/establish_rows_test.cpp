// What `vethgate establish` must be seen to do, row by row, on docker 20.10 with real runc and
// runsc. The rows that hold on every engine are in establish_everywhere_test.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <csignal>
#include <set>
#include <sstream>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/on_engine.hpp"

namespace vethgate::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr const char* kBridge = "172.17.0.1";  // docker's default one

std::string text(std::string_view target) { return std::string(target); }

std::string toolIn(const Namespace& netns, const std::vector<std::string>& argv) {
  return runOrThrow({.argv = argv, .in = &netns}).out;
}

std::vector<std::string> linesWith(const std::string& all, const std::string& part) {
  std::vector<std::string> found;
  std::istringstream lines(all);
  for (std::string line; std::getline(lines, line);) {
    if (line.find(part) != std::string::npos) {
      found.push_back(line.substr(line.find_first_not_of(" \t")));
    }
  }
  return found;
}

// The flower filters of the veth, as tc's own JSON has them: chains without a filter are left out.
std::vector<Json> filters(const Namespace& netns) {
  std::vector<Json> found;
  for (const Json& one :
       Json::parse(toolIn(netns, {"tc", "-json", "filter", "show", "dev", kJobLink, "egress"}))) {
    if (one.contains("options") && one.at("options").contains("keys")) {
      found.push_back(one);
    }
  }
  return found;
}

std::string verdictOf(const Json& filter) {
  return filter.at("options").at("actions").at(0).at("control_action").at("type");
}

// --- The plan, as other tools see it ---

constexpr const char* kListPolicy = R"({"version": 1, "default": "drop",
  "deny": ["private", "transition", "192.0.2.0/24"],
  "allow": [{"to": "host-gateway", "protocol": "tcp", "ports": "49220-49229", "why": "the proxy"}],
  "resolvers": ["192.0.2.53"]})";

TEST_F(EngineEstablish, InstallsThePassesOfThePolicyAndNoOthers) {
  const Json answer = site().establish("list", kListPolicy);
  const std::string id = answer.at("id").get<std::string>();
  const pid_t holder = site().engine().pidOf(id);
  const Namespace netns = site().netnsOf(id);
  EXPECT_NE(answer.at("link").at("name"), "lo");
  EXPECT_EQ(gatewayOf(answer), kBridge);

  const std::string v4 = toolIn(netns, {"iptables-nft", "-S", "OUTPUT"});
  EXPECT_THAT(linesWith(v4, "-j ACCEPT"),
              ElementsAre("-A OUTPUT -d 172.17.0.1/32 -p tcp -m tcp --dport 49220:49229 -j ACCEPT",
                          "-A OUTPUT -d 192.0.2.53/32 -p udp -m udp --dport 53 -j ACCEPT",
                          "-A OUTPUT -d 192.0.2.53/32 -p tcp -m tcp --dport 53 -j ACCEPT",
                          "-A OUTPUT -d 127.0.0.0/8 -j ACCEPT"));
  const std::string v6 = toolIn(netns, {"ip6tables-nft", "-S", "OUTPUT"});
  EXPECT_THAT(
      linesWith(v6, "-j ACCEPT"),
      ElementsAre("-A OUTPUT -d ff02::1:ff00:0/104 -p ipv6-icmp -m icmp6 --icmpv6-type 135 -m hl "
                  "--hl-eq 255 -j ACCEPT",
                  "-A OUTPUT -p ipv6-icmp -m icmp6 --icmpv6-type 136 -m hl --hl-eq 255 -j ACCEPT",
                  "-A OUTPUT -d ::1/128 -j ACCEPT"));
  std::vector<std::string> passes;
  for (const Json& filter : filters(netns)) {
    if (verdictOf(filter) == "pass") {
      passes.push_back(filter.at("protocol").get<std::string>() + " " +
                       filter.at("options").at("keys").dump());
    }
  }
  EXPECT_THAT(
      passes,
      UnorderedElementsAre(
          R"(ip {"dst_ip":"172.17.0.1","dst_port":{"end":49229,"start":49220},"eth_type":"ipv4","ip_proto":"tcp"})",
          R"(ip {"dst_ip":"192.0.2.53","dst_port":53,"eth_type":"ipv4","ip_proto":"udp"})",
          R"(ip {"dst_ip":"192.0.2.53","dst_port":53,"eth_type":"ipv4","ip_proto":"tcp"})",
          R"(ipv6 {"dst_ip":"ff02::1:ff00:0/104","eth_type":"ipv6","icmp_type":"135","ip_proto":"icmpv6","ip_ttl":255})",
          R"(ipv6 {"eth_type":"ipv6","icmp_type":"136","ip_proto":"icmpv6","ip_ttl":255})",
          R"(arp {"eth_type":"arp"})"));
  const std::string netdev =
      toolIn(netns, {"nft", "--stateless", "list", "table", "netdev", "vethgate"});
  EXPECT_EQ(linesWith(netdev, " accept").size(), passes.size()) << netdev;

  // Both families, both tools and the answer count the same, and metadata is among what is denied.
  const Json& counts = answer.at("counts");
  EXPECT_EQ(linesWith(v4, "-A OUTPUT").size(), counts.at("iptables").at("v4"));
  EXPECT_EQ(linesWith(v6, "-A OUTPUT").size(), counts.at("iptables").at("v6"));
  EXPECT_EQ(filters(netns).size(), counts.at("flower"));
  EXPECT_THAT(v4, HasSubstr("-A OUTPUT -d 169.254.169.254/32 -j DROP\n"));
  EXPECT_THAT(v6, HasSubstr("-A OUTPUT -d fd00:ec2::254/128 -j DROP\n"));

  // The plan, derived a second time from what the answer says.
  const std::string policy = answer.at("policy").dump();
  const std::string link = answer.at("link").dump();
  const Finished plan = render(policy, link, "plan");
  ASSERT_TRUE(plan.ok()) << plan.summary();
  EXPECT_EQ(Json::parse(plan.out).at("digest"), answer.at("digests").at("plan"));
  const Verdict verdict = verify(netns, policy, link);
  EXPECT_TRUE(verdict.contained()) << verdict;
  EXPECT_EQ(verdict.document.at("readback"), answer.at("digests").at("readback"));

  // All else is shut, the neighbour of the pinhole and the public included.
  const std::string proxy = std::string("tcp:") + kBridge + ":49221";
  const std::string beside = std::string("tcp:") + kBridge + ":49230";
  site().listenOn(proxy);
  site().listenOn(beside);
  const Reach reach{{proxy, text(kResolverUdp), text(kResolverTcp)},
                    {beside, text(kResolverOtherTcp), text(kAllowedTcp), text(kDeniedTcp)}};
  expectAliveForOthers(site(), site().network(), reach.all());
  (void)expectReach(site(), answer, "listed", site().gvisor(), reach);
  expectAliveAfterwards(site(), reach.all());

  // The holder's end is the namespace's: only our own descriptor keeps it here.
  site().release("list");
  EXPECT_EQ(site().containers(), "");
  EXPECT_NE(kill(holder, 0), 0);
  EXPECT_FALSE(site().engine().run({"inspect", id}).ok());
  site().engine().need({"rm", "--force", "listed"});
}

TEST_F(EngineEstablish, OneRuleLessInWhatWasEstablishedIsRefused) {
  const Json answer = site().establish("less", kSitePolicy);
  const Namespace netns = site().netnsOf(answer.at("id"));
  const auto judged = [&] {
    return verify(netns, answer.at("policy").dump(), answer.at("link").dump());
  };
  ASSERT_TRUE(judged().contained()) << judged();

  // The metadata endpoint alone, in favour of a drop that is there already: the counts are right.
  const std::vector<std::string> rules =
      linesWith(toolIn(netns, {"iptables-nft", "-S", "OUTPUT"}), "-A OUTPUT");
  const auto metadata =
      std::find(rules.begin(), rules.end(), "-A OUTPUT -d 169.254.169.254/32 -j DROP");
  ASSERT_NE(metadata, rules.end());
  const std::string number = std::to_string(metadata - rules.begin() + 1);
  const auto replace = [&](const char* destination) {
    toolIn(netns, {"iptables-nft", "-R", "OUTPUT", number, "-d", destination, "-j", "DROP"});
  };
  replace("10.0.0.0/8");
  const Verdict swapped = judged();
  EXPECT_TRUE(swapped.refused()) << swapped;
  EXPECT_THAT(swapped.reasons(), HasSubstr("169.254.169.254"));
  replace("169.254.169.254/32");
  ASSERT_TRUE(judged().contained()) << judged();

  const Json last = filters(netns).back();
  std::ostringstream handle;
  handle << "0x" << std::hex << last.at("options").at("handle").get<unsigned>();
  toolIn(netns,
         {"tc", "filter", "del", "dev", kJobLink, "egress", "protocol",
          last.at("protocol").get<std::string>(), "pref",
          std::to_string(last.at("pref").get<unsigned>()), "handle", handle.str(), "flower"});
  const Verdict shorter = judged();
  EXPECT_TRUE(shorter.refused()) << shorter;
  EXPECT_THAT(shorter.reasons(), HasSubstr("flower"));
  site().release("less");
}

// --- Jobs ---

TEST_F(EngineEstablish, OutputRulesAloneLetAGvisorJobOut) {
  const Json answer = site().establish("leak", R"({"version": 1, "layers": ["iptables"]})");
  const std::vector<std::string> denied{text(kDeniedTcp), text(kDeniedUdp), text(kMetadata)};
  const std::vector<std::string> allowed{text(kAllowedTcp)};
  expectAliveForOthers(site(), site().network(), denied);
  const PayloadReport plain = expectReach(site(), answer, "leak-plain", "runc", {allowed, denied});
  caseMeasured("establish.output-rules.runc.denied", plain.outcome(kDeniedTcp));
  // The leak, asserted as one: who takes all silence for containment sees it closed here as well.
  Reach open{allowed, {}};
  open.allowed.insert(open.allowed.end(), denied.begin(), denied.end());
  const PayloadReport leak = expectReach(site(), answer, "leak-gvisor", site().gvisor(), open);
  caseMeasured("establish.output-rules.runsc.denied", leak.outcome(kDeniedTcp));
  site().release("leak");
  site().engine().need({"rm", "--force", "leak-plain", "leak-gvisor"});
}

constexpr const char* kOnePortPolicy = R"({"version": 1,
  "allow": [{"to": "host-gateway", "protocol": "tcp", "ports": "49221-49221", "why": "one port"}]})";

TEST_F(EngineEstablish, PinholeOfOnePortOpensThatPort) {
  const Json answer = site().establish("one-port", kOnePortPolicy);
  const std::string mode = answer.at("network_mode").get<std::string>();
  const std::string host = std::string("tcp:") + kBridge + ":";
  for (const char* port : {"49220", "49221", "49222"}) {
    site().listenOn(host + port);
  }
  const Reach reach{{host + "49221"}, {host + "49220", host + "49222"}};

  // A payload that never ran says nothing, and not that anything is refused. Under gVisor it takes
  // the link's addresses all the same, so there it comes behind the job.
  const auto neverStarts = [&](const std::string& runtime) {
    const PayloadReport absent = site().run("absent-" + runtime, runtime, mode, reach.all(),
                                            {"--rm", "--entrypoint", "/absent"});
    EXPECT_FALSE(absent.finished().ok());
    EXPECT_EQ(absent.finished().out, "");
    expectAll(absent, reach.all(), Outcome::kNeverStarted, "where no program is");
    return absent.outcome(host + "49221");
  };
  caseMeasured("establish.runc.no-such-program", neverStarts("runc"));
  expectAliveForOthers(site(), site().network(), reach.all());
  const PayloadReport job = expectReach(site(), answer, "one-port-job", site().gvisor(), reach);
  caseMeasured("establish.one-port.port", job.outcome(host + "49221"));
  caseMeasured("establish.one-port.below", job.outcome(host + "49220"));
  caseMeasured("establish.one-port.above", job.outcome(host + "49222"));
  caseMeasured("establish.runsc.no-such-program", neverStarts(site().gvisor()));
  expectAliveAfterwards(site(), reach.all());
  site().release("one-port");
  site().engine().need({"rm", "--force", "one-port-job"});
}

// --- What cannot be established ---

TEST_F(EngineEstablish, NothingCanBeLaunchedWhereEstablishingFailed) {
  const std::string before = site().engine().need({"ps", "--all", "--quiet"});
  const auto withImages = [&](const char* holder, const char* helper) {
    Json request = Json::parse(site().request("failed", kSitePolicy));
    request["images"] = {{"holder", holder}, {"helper", helper}};
    return request.dump();
  };
  const std::string product = "vethgate:" VETHGATE_VERSION;
  struct Failing {
    const char* what;
    std::string request;
    int exit;
  };
  bool launched = false;
  for (const Failing& failing : std::vector<Failing>{
           {"network", site().request("failed", kSitePolicy, "no-such-network"), 2},
           {"image", withImages("vethgate:absent", product.c_str()), 6},
           {"holder", withImages(kJobImage, product.c_str()), 9},
           {"helper", withImages(product.c_str(), kJobImage), 9},
           {"time", site().request("failed", kSitePolicy, "", std::chrono::seconds(2)), 10}}) {
    const Finished finished = site().vethgate({"establish"}, failing.request);
    EXPECT_EQ(finished.exit, failing.exit) << failing.what << ": " << finished.summary();
    EXPECT_EQ(finished.out, "") << failing.what;
    EXPECT_NE(finished.lastErrorLine(), "") << failing.what;
    EXPECT_EQ(site().engine().need({"ps", "--all", "--quiet"}), before) << failing.what;
    // Who starts the job all the same, by the only name that there could be, starts nothing.
    const PayloadReport report =
        site().run("unlawful", "runc", "container:vethgate-failed", {text(kAllowedTcp)}, {"--rm"});
    EXPECT_EQ(report.outcome(kAllowedTcp), Outcome::kNeverStarted) << failing.what << report;
    EXPECT_FALSE(report.finished().ok()) << failing.what;
    launched = launched || finished.ok() || report.outcome(kAllowedTcp) != Outcome::kNeverStarted;
    if (site().engine().run({"inspect", "unlawful"}).ok()) {
      EXPECT_EQ(site().inspect("unlawful", "{{.State.StartedAt}}"), "0001-01-01T00:00:00Z");
      site().engine().need({"rm", "--force", "unlawful"});
    }
  }
  caseMeasured("establish.failed", launched ? "launched" : "launch-refused");
  (void)site().establish("failed", kSitePolicy);  // the same job, with nothing in its way
  site().release("failed");
}

// --- IPv6 ---

TEST_F(EngineEstablish, JobOfANetworkWithIpv6IsHeldInBothFamilies) {
  constexpr const char* kNetwork = "jobs6";
  site().engine().need({"network", "create", "--ipv6", "--subnet", "2001:db8:1:6::/64", "--gateway",
                        "2001:db8:1:6::1", "--opt", "com.docker.network.bridge.name=jobs6",
                        kNetwork});
  // The bridge's own link-local address, as each side writes it; docker gives it this one.
  site().listenOn("tcp:[fe80::1%jobs6]:9999");
  site().listenOn("tcp:[2001:db8:1:6::1]:9999");
  const Reach reach{
      {text(kAllowedTcpV6), text(kAllowedTcpV6SecondPort), text(kAllowedUdpV6), text(kAllowedTcp)},
      {text(kDeniedTcpV6), text(kDeniedUdpV6), text(kDeniedNat64), text(kMetadataV6),
       "tcp:[fe80::1%eth0]:9999", "tcp:[2001:db8:1:6::1]:9999", text(kDeniedTcp)}};
  expectAliveForOthers(site(), kNetwork, reach.all());
  const Json answer = site().establish("six", kSitePolicy, kNetwork);
  // Docker's own rules for its resolver are on such a network, and the answer says so.
  EXPECT_TRUE(answer.at("engine").at("resolver").is_object()) << answer;
  const PayloadReport plain = expectReach(site(), answer, "six-plain", "runc", reach);
  caseMeasured("establish.ipv6.runc.allowed", plain.outcome(kAllowedTcpV6));
  caseMeasured("establish.ipv6.runc.denied", plain.outcome(kDeniedTcpV6));
  caseMeasured("establish.ipv6.runc.link-local", plain.outcome("tcp:[fe80::1%eth0]:9999"));
  const PayloadReport inside = expectReach(site(), answer, "six-gvisor", site().gvisor(), reach);
  caseMeasured("establish.ipv6.runsc.allowed", inside.outcome(kAllowedTcpV6));
  caseMeasured("establish.ipv6.runsc.denied", inside.outcome(kDeniedTcpV6));
  caseMeasured("establish.ipv6.runsc.link-local", inside.outcome("tcp:[fe80::1%eth0]:9999"));
  expectAliveForOthers(site(), kNetwork, reach.all());
  site().release("six");
  site().engine().need({"rm", "--force", "six-plain", "six-gvisor"});
  site().engine().need({"network", "rm", kNetwork});
}

}  // namespace
}  // namespace vethgate::live
