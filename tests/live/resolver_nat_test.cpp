// The rules that dockerd has iptables-nft write for its resolver, written here without an engine,
// so on every kernel of the tests: contained with them, and refused with any of them changed. That
// an engine writes the same: engine_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"

namespace vethgate::live {
namespace {

using Words = std::vector<std::string>;

void nat(const Job& job, Words arguments) {
  arguments.insert(arguments.begin(), {"iptables-nft", "-t", "nat"});
  tool(job, arguments);
}

// In dockerd's order.
void writeResolverRules(const Job& job) {
  nat(job, {"-N", "DOCKER_OUTPUT"});
  nat(job, {"-I", "OUTPUT", "-d", "127.0.0.11", "-j", "DOCKER_OUTPUT"});
  nat(job, {"-N", "DOCKER_POSTROUTING"});
  nat(job, {"-I", "POSTROUTING", "-d", "127.0.0.11", "-j", "DOCKER_POSTROUTING"});
  for (const auto& [protocol, port] : {std::pair<std::string, std::string>{"udp", "40123"},
                                       std::pair<std::string, std::string>{"tcp", "38411"}}) {
    nat(job, {"-I", "DOCKER_OUTPUT", "-d", "127.0.0.11", "-p", protocol, "--dport", "53", "-j",
              "DNAT", "--to-destination", "127.0.0.11:" + port});
    nat(job, {"-I", "DOCKER_POSTROUTING", "-s", "127.0.0.11", "-p", protocol, "--sport", port, "-j",
              "SNAT", "--to-source", ":53"});
  }
}

TEST(ResolverNat, IsAcceptedAndStated) {
  Host host;
  const Job job(host);
  writeResolverRules(job);
  const Rendered rendered = contain(job, kReferencePolicy);
  const Verdict verdict = verify(job.netns(), rendered.policy, rendered.link);
  EXPECT_TRUE(verdict.contained()) << verdict;
  EXPECT_EQ(verdict.document.at("engine"),
            Json::parse(R"({"resolver": {"tcp": 38411, "udp": 40123}})"));
}

TEST(ResolverNat, IsRefusedWithAnyOtherRule) {
  struct Change {
    Words make;
    const char* named;
  };
  const std::vector<Change> changes = {
      {{"-R", "OUTPUT", "1", "-j", "DOCKER_OUTPUT"}, "ip nat OUTPUT #1"},
      {{"-R", "POSTROUTING", "1", "-d", "127.0.0.0/8", "-j", "DOCKER_POSTROUTING"},
       "ip nat POSTROUTING #1"},
      {{"-A", "POSTROUTING", "-j", "MASQUERADE"}, "ip nat POSTROUTING #2"},
      {{"-A", "PREROUTING", "-j", "RETURN"}, "chain PREROUTING of table ip nat"},
      {{"-D", "DOCKER_POSTROUTING", "2"}, "rule ip nat DOCKER_POSTROUTING #2"},
      {{"-R", "DOCKER_OUTPUT", "1", "-d", "127.0.0.11", "-p", "tcp", "--dport", "53", "-j", "DNAT",
        "--to-destination", "10.0.0.1:38411"},
       "ip nat DOCKER_OUTPUT #1"},
      {{"-R", "DOCKER_POSTROUTING", "1", "-s", "127.0.0.11", "-p", "tcp", "--sport", "38411", "-j",
        "SNAT", "--to-source", "203.0.113.9:53"},
       "ip nat DOCKER_POSTROUTING #1"},
      {{"-N", "OTHER"}, "chain OTHER of table ip nat"}};
  Host host;
  for (const Change& change : changes) {
    const Job job(host);
    writeResolverRules(job);
    const Rendered rendered = contain(job, kReferencePolicy);
    nat(job, change.make);
    const Verdict verdict = verify(job.netns(), rendered.policy, rendered.link);
    EXPECT_TRUE(verdict.refused()) << change.named << verdict;
    EXPECT_THAT(verdict.reasons(), testing::HasSubstr(change.named));
    EXPECT_EQ(verdict.document.at("engine"), Json::parse(R"({"resolver": null})"));
  }
}

}  // namespace
}  // namespace vethgate::live
