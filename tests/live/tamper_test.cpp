// A contained namespace, changed by one who may: the verdict before is `contained`, and after it is
// `refused`, with a reason that names what was found. The changes are made with the usual tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <ostream>

#include "tests/live/fixture/bpf.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

constexpr const char* kPrefix = "10.0.0.0/8";
constexpr const char* kPrefixV6 = "fc00::/7";
// The same as nft writes them, each an element of a set.
constexpr const char* kElement = "0x0a000000-0x0affffff,\n";
constexpr const char* kElementV6 =
    "0xfc000000000000000000000000000000-0xfdffffffffffffffffffffffffffffff,\n";

// The drop of one prefix, in the two layers that write it as a rule of its own: what a change is
// made to.
struct Victim {
  bool v6;
  std::string pref;
  std::string handle;
  std::string rule;  // its number in OUTPUT, from 1

  [[nodiscard]] std::string place() const {
    return std::string("iptables ") + (v6 ? "v6" : "v4") + " #" + rule + ":";
  }
};

Victim findVictim(const std::string& planText, const std::string& prefix) {
  const Json plan = Json::parse(planText);
  Victim victim{.v6 = prefix == kPrefixV6, .pref = {}, .handle = {}, .rule = {}};
  for (const Json& filter : plan.at("flower")) {
    if (filter.value("to", "") == prefix) {
      victim.pref = std::to_string(filter.at("pref").get<int>());
      victim.handle = std::to_string(filter.at("handle").get<int>());
    }
  }
  const Json& rules = plan.at("iptables").at(victim.v6 ? "v6" : "v4");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (rules[i].value("to", "") == prefix && rules[i].at("target") == "DROP") {
      victim.rule = std::to_string(i + 1);
    }
  }
  return victim;
}

using Words = std::vector<std::string>;

// In the words that a reason must hold: the number of the victim's rule.
constexpr const char* kVictimsRule = "the victim's rule";

struct Change {
  const char* name;
  std::function<void(const Job&, const Victim&, const Rendered&)> make;
  std::vector<const char*> named;  // in the reasons
  const char* prefix = kPrefix;    // the victim's
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

// `tc filter VERB dev eth0 HOOK protocol ip|ipv6 pref P [chain C] handle H flower REST`
void filter(const Job& job, const Victim& victim, const char* verb, const Words& rest,
            const char* hook = "egress", const char* chain = "0") {
  Words argv{"tc",     "filter",      verb,       "dev",
             kJobLink, hook,          "protocol", victim.v6 ? "ipv6" : "ip",
             "pref",   victim.pref,   "chain",    chain,
             "handle", victim.handle, "flower"};
  argv.insert(argv.end(), rest.begin(), rest.end());
  tool(job, argv);
}

void replaceFilter(const Job& job, const Victim& victim, const Words& rest,
                   const char* hook = "egress", const char* chain = "0") {
  filter(job, victim, "del", {});
  filter(job, victim, "add", rest, hook, chain);
}

// A change that is one command, whatever the plan.
std::function<void(const Job&, const Victim&, const Rendered&)> command(Words argv) {
  return
      [argv = std::move(argv)](const Job& job, const Victim&, const Rendered&) { tool(job, argv); };
}

std::function<void(const Job&, const Victim&, const Rendered&)> newFilter(
    Words rest, const char* hook = "egress", const char* chain = "0") {
  return
      [rest = std::move(rest), hook, chain](const Job& job, const Victim& victim, const Rendered&) {
        replaceFilter(job, victim, rest, hook, chain);
      };
}

std::function<void(const Job&, const Victim&, const Rendered&)> newRule(Words rest) {
  return [rest = std::move(rest)](const Job& job, const Victim& victim, const Rendered&) {
    Words argv{victim.v6 ? "ip6tables-nft" : "iptables-nft", "-R", "OUTPUT", victim.rule};
    argv.insert(argv.end(), rest.begin(), rest.end());
    tool(job, argv);
  };
}

std::function<void(const Job&, const Victim&, const Rendered&)> nft(std::string script) {
  return [script = std::move(script)](const Job& job, const Victim&, const Rendered&) {
    tool(job, {"nft", "-f", "-"}, script);
  };
}

void deleteFilter(const Job& job, const Victim& victim, const Rendered&) {
  filter(job, victim, "del", {});
}

void deleteRule(const Job& job, const Victim& victim, const Rendered&) {
  tool(job, {victim.v6 ? "ip6tables-nft" : "iptables-nft", "-D", "OUTPUT", victim.rule});
}

// Our own table made anew in one transaction, with one line of it changed: what is in its sets
// cannot be changed while a rule looks them up.
std::function<void(const Job&, const Victim&, const Rendered&)> newTable(std::string from,
                                                                         std::string to) {
  return [from = std::move(from), to = std::move(to)](const Job& job, const Victim&,
                                                      const Rendered& rendered) {
    std::string text = render(rendered.policy, rendered.link, "nft").out;
    const std::size_t at = text.find(from);
    if (at == std::string::npos) {
      throw std::runtime_error("no such line in the table: " + from);
    }
    text.replace(at, from.size(), to);
    tool(job, {"nft", "-f", "-"}, "delete table netdev vethgate\n" + text);
  };
}

std::string actionIndexOf(const Job& job, const Victim& victim) {
  const Json filters =
      Json::parse(tool(job, {"tc", "-json", "filter", "show", "dev", kJobLink, "egress"}));
  for (const Json& one : filters) {
    if (one.contains("options") && one.at("options").contains("actions") &&
        std::to_string(one.at("pref").get<int>()) == victim.pref &&
        std::to_string(one.at("options").at("handle").get<int>()) == victim.handle) {
      return std::to_string(one.at("options").at("actions").at(0).at("index").get<int>());
    }
  }
  throw std::runtime_error("tc does not show the filter");
}

void changeTheActionItself(const Job& job, const Victim& victim, const Rendered&) {
  tool(job,
       {"tc", "actions", "change", "action", "gact", "pass", "index", actionIndexOf(job, victim)});
}

void shareTheAction(const Job& job, const Victim& victim, const Rendered&) {
  tool(job, {"tc", "actions", "add", "action", "gact", "drop", "index", "4242"});
  replaceFilter(job, victim, {"dst_ip", kPrefix, "action", "gact", "index", "4242"});
}

void bindTheActionTwice(const Job& job, const Victim& victim, const Rendered&) {
  Victim other = victim;
  other.handle = "999";
  const std::string index = actionIndexOf(job, victim);
  filter(job, other, "add",
         {"dst_ip", kPrefix, "src_ip", "192.0.2.1", "action", "gact", "index", index});
}

// The same filters, on a block that any other device could join.
void moveToASharedBlock(const Job& job, const Victim&, const Rendered& rendered) {
  tool(job, {"tc", "qdisc", "del", "dev", kJobLink, "clsact"});
  std::string text = render(rendered.policy, rendered.link, "tc").out;
  const auto replaceAll = [&](const std::string& from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
      text.replace(at, from.size(), to);
    }
  };
  replaceAll("qdisc add dev eth0 clsact", "qdisc add dev eth0 egress_block 22 clsact");
  replaceAll("filter add dev eth0 egress", "filter add block 22");
  tool(job, {"tc", "-batch", "-"}, text);
}

std::vector<Change> changes() {
  return {
      // The veth's filters.
      {"FilterDeleted", deleteFilter, {kPrefix}},
      {"FilterDeletedV6", deleteFilter, {kPrefixV6}, kPrefixV6},
      {"FilterFlippedToPass", newFilter({"dst_ip", kPrefix, "action", "gact", "pass"}), {"pass"}},
      {"FilterInChain7",
       newFilter({"dst_ip", kPrefix, "action", "gact", "drop"}, "egress", "7"),
       {"chain"}},
      {"FilterOnIngress",
       newFilter({"dst_ip", kPrefix, "action", "gact", "drop"}, "ingress"),
       {"ingress"}},
      {"FilterWithSecondAction",
       newFilter({"dst_ip", kPrefix, "action", "gact", "drop", "action", "gact", "drop"}),
       {"action"}},
      {"FilterWithOtherAction",
       newFilter({"dst_ip", kPrefix, "action", "skbedit", "priority", "1"}),
       {"skbedit"}},
      {"FilterWithoutAction", newFilter({"dst_ip", kPrefix}), {"FLOWER_ACT"}},
      {"FilterThatDropsAtRandom",
       newFilter({"dst_ip", kPrefix, "action", "gact", "drop", "random", "netrand", "pass", "2"}),
       {"PROB"}},
      {"FilterNarrowedToTcp",
       newFilter({"ip_proto", "tcp", "dst_ip", kPrefix, "action", "gact", "drop"}),
       {"protocol is 6"}},
      {"FilterNarrowedToTcpV6",
       newFilter({"ip_proto", "tcp", "dst_ip", kPrefixV6, "action", "gact", "drop"}),
       {"protocol is 6"},
       kPrefixV6},
      {"FilterNarrowedToASource",
       newFilter({"src_ip", "172.31.0.11", "dst_ip", kPrefix, "action", "gact", "drop"}),
       {"SRC"}},
      {"FilterOfAShorterPrefix",
       newFilter({"dst_ip", "10.0.0.0/9", "action", "gact", "drop"}),
       {"10.0.0.0/9"}},
      {"FilterOfAnotherClassifier",
       [](const Job& job, const Victim&, const Rendered&) {
         tool(job, {"tc", "filter", "add", "dev", kJobLink, "egress", "protocol", "ip", "pref",
                    "99", "matchall", "action", "gact", "pass"});
       },
       {"matchall"}},
      {"ActionChangedUnderTheFilter", changeTheActionItself, {"pass"}},
      {"ActionShared", shareTheAction, {"ref 2 and bind 1"}},
      {"ActionBoundTwice", bindTheActionTwice, {"ref 2 and bind 2"}},
      {"FilterAtPref99",
       command({"tc", "filter", "add", "dev", kJobLink, "egress", "protocol", "ip", "pref", "99",
                "flower", "dst_ip", "10.9.8.7", "action", "gact", "pass"}),
       {"99"}},
      {"EmptyChainWithTemplate",
       command({"tc", "chain", "add", "dev", kJobLink, "egress", "chain", "5", "protocol", "ip",
                "flower", "dst_ip", "0.0.0.0/8"}),
       {"chain"}},
      {"SharedBlock", moveToASharedBlock, {"TCA_EGRESS_BLOCK"}},
      {"FilterOnIngressAsWell",
       command({"tc", "filter", "add", "dev", kJobLink, "ingress", "protocol", "all", "pref", "1",
                "flower", "action", "gact", "drop"}),
       {"ingress"}},
      {"ClsactRemoved", command({"tc", "qdisc", "del", "dev", kJobLink, "clsact"}), {"clsact"}},
      {"SecondQdisc", command({"tc", "qdisc", "add", "dev", kJobLink, "root", "pfifo"}), {"pfifo"}},
      {"QdiscOnLoopback", command({"tc", "qdisc", "add", "dev", "lo", "clsact"}), {"clsact"}},

      // The OUTPUT rules.
      {"RuleNarrowedToTcp",
       newRule({"-d", kPrefix, "-p", "tcp", "-j", "DROP"}),
       {kVictimsRule, "protocol is 6"}},
      {"RuleNarrowedToTcpV6",
       newRule({"-d", kPrefixV6, "-p", "tcp", "-j", "DROP"}),
       {kVictimsRule, "protocol is 6"},
       kPrefixV6},
      {"RuleNarrowedToASource",
       newRule({"-s", "172.31.0.11", "-d", kPrefix, "-j", "DROP"}),
       {kVictimsRule}},
      {"RuleNarrowedToALink", newRule({"-o", "eth1", "-d", kPrefix, "-j", "DROP"}), {kVictimsRule}},
      {"RuleReplacedByReturn", newRule({"-d", kPrefix, "-j", "RETURN"}), {kVictimsRule}},
      {"RuleReplacedByAccept", newRule({"-d", kPrefix, "-j", "ACCEPT"}), {kVictimsRule, "accept"}},
      {"RuleReplacedByAcceptV6",
       newRule({"-d", kPrefixV6, "-j", "ACCEPT"}),
       {kVictimsRule, "accept"},
       kPrefixV6},
      {"RuleReplacedByAShorterPrefix",
       newRule({"-d", "10.0.0.0/9", "-j", "DROP"}),
       {kVictimsRule, "10.0.0.0/9"}},
      {"RuleDeleted", deleteRule, {kPrefix}},
      {"RuleDeletedV6", deleteRule, {kPrefixV6}, kPrefixV6},
      {"AcceptInserted", command({"iptables-nft", "-I", "OUTPUT", "-j", "ACCEPT"}), {"accept"}},
      {"AcceptInsertedV6", command({"ip6tables-nft", "-I", "OUTPUT", "-j", "ACCEPT"}), {"accept"}},
      {"AcceptAppended", command({"iptables-nft", "-A", "OUTPUT", "-j", "ACCEPT"}), {"accept"}},
      {"ChainPolicyChanged",
       command({"iptables-nft", "-P", "OUTPUT", "DROP"}),
       {"NFTA_CHAIN_POLICY"}},
      {"UserChain", command({"iptables-nft", "-N", "OTHER"}), {"OTHER"}},
      {"InputChain", command({"iptables-nft", "-A", "INPUT", "-j", "DROP"}), {"INPUT"}},
      {"NatTable", command({"iptables-nft", "-t", "nat", "-N", "OTHER"}), {"nat"}},
      {"LegacyTable", command({"iptables-legacy", "-A", "OUTPUT", "-j", "ACCEPT"}), {"legacy"}},
      {"LegacyTableV6", command({"ip6tables-legacy", "-A", "OUTPUT", "-j", "ACCEPT"}), {"legacy"}},

      // Our own table of the egress hook.
      {"EgressTableDeleted",
       nft("delete table netdev vethgate\n"),
       {"table netdev vethgate is missing"}},
      {"EverythingDeleted",
       nft("flush ruleset\n"),
       {"table ip filter is missing", "table ip6 filter is missing",
        "table netdev vethgate is missing"}},
      {"EgressChainFlushed",
       nft("flush chain netdev vethgate egress\n"),
       {"netdev: 0 rules are there"}},
      {"EgressAcceptInserted",
       nft("insert rule netdev vethgate egress counter accept\n"),
       {"netdev #1: ", "pass"}},
      {"EgressPolicyChanged",
       nft("chain netdev vethgate egress { policy accept; }\n"),
       {"NFTA_CHAIN_POLICY"}},
      {"EgressElementDeleted", newTable(kElement, ""), {"destinations lack", kPrefix}},
      {"EgressElementDeletedV6", newTable(kElementV6, ""), {"destinations lack", kPrefixV6}},
      {"EgressDropTurnedRound",
       newTable("@v4_2 counter drop", "@v4_2 counter accept"),
       {"netdev #", "action is pass"}},
      {"EgressArpOfAnybody",
       newTable("@ll,96,64 0x0806000108000604 ",
                "@ll,96,64 0x0806000108000604 counter accept\n@ll,96,64 0x0806000108000604 "),
       {"netdev", "arp"}},

      // nf_tables in any family.
      {"OutputChainInTableInet",
       nft("table inet other {\n chain output {\n type filter hook output priority -10\n"
           "accept\n }\n }\n"),
       {"inet", "other"}},
      {"TableNetdev",
       nft("table netdev other {\n chain out {\n type filter hook ingress device eth0 priority 0\n"
           "}\n }\n"),
       {"netdev", "other"}},
      {"TableBridge", nft("table bridge other { }"), {"bridge", "other"}},
      {"TableArp", nft("table arp other { }"), {"arp", "other"}},
      {"TableIp", nft("table ip other { }"), {"other"}},
      {"TableDormant", nft("table ip filter { flags dormant; }"), {"NFTA_TABLE_FLAGS"}},
      {"Set", nft("add set ip filter other { type ipv4_addr; }\n"), {"other"}},
      {"Object", nft("add counter ip filter other\n"), {"other"}},
      {"Flowtable",
       nft("add flowtable ip filter other { hook ingress priority 0; devices = { eth0 }; }\n"),
       {"other"}},
  };
}

class Tampered : public testing::TestWithParam<Change> {};

TEST_P(Tampered, IsRefusedByName) {
  Host host;
  const Job job(host);
  const Rendered rendered = contain(job, kReferencePolicy);
  const Victim victim = findVictim(rendered.plan, GetParam().prefix);
  GetParam().make(job, victim, rendered);
  const Verdict verdict = verify(job.netns(), rendered.policy, rendered.link);
  EXPECT_TRUE(verdict.refused()) << verdict;
  for (const char* word : GetParam().named) {
    const std::string expected = word == kVictimsRule ? victim.place() : std::string(word);
    EXPECT_THAT(verdict.reasons(), HasSubstr(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Namespace, Tampered, testing::ValuesIn(changes()),
                         [](const auto& one) { return std::string(one.param.name); });

// Not the link that the plan was made for: exit 7, as for every other command.
TEST(Tampering, AnotherLinkIsNotTheOneMeasured) {
  struct LinkChange {
    const char* lines;
    const char* named;
  };
  constexpr std::array kLinkChanges = {
      LinkChange{"link add dummy0 type dummy\n", "dummy0"},
      LinkChange{"link set dev eth0 address 02:00:00:00:99:02\n", "02:00:00:00:99:02"},
      LinkChange{"link set dev eth0 down\nlink set dev eth0 name eth9\nlink set dev eth9 up\n",
                 "eth9"},
      LinkChange{"link set dev eth0 down\n", "eth0"}};
  Host host;
  for (const LinkChange& change : kLinkChanges) {
    const Job job(host);
    const Rendered rendered = contain(job, kReferencePolicy);
    configure(job.netns(), change.lines);
    const Verdict verdict = verify(job.netns(), rendered.policy, rendered.link);
    EXPECT_EQ(verdict.finished.exit, 7) << change.lines << verdict;
    EXPECT_FALSE(verdict.contained()) << verdict;
    EXPECT_THAT(verdict.reasons(), HasSubstr(change.named)) << change.lines;
  }
}

// An XDP program acts before every filter of the link.
TEST(Tampering, XdpProgramIsRefused) {
  Host host;
  const Job job(host);
  const Rendered rendered = contain(job, kReferencePolicy);
  {
    const XdpProgram program(job);
    const Verdict verdict = verify(job.netns(), rendered.policy, rendered.link);
    EXPECT_EQ(verdict.finished.exit, 7) << verdict;
    EXPECT_THAT(verdict.reasons(), HasSubstr("XDP"));
    EXPECT_EQ(probe(job.netns()).exit, 7);
  }
  EXPECT_TRUE(verify(job.netns(), rendered.policy, rendered.link).contained());
}

TEST(Tampering, AnotherPolicyIsNotTheOneInPlace) {
  Host host;
  const Job job(host);
  const Rendered rendered = contain(job, kReferencePolicy);
  const Verdict verdict = verify(job.netns(), kEmptyDenyPolicy, rendered.link);
  EXPECT_TRUE(verdict.refused()) << verdict;
  EXPECT_TRUE(verify(job.netns(), kReferencePolicy, rendered.link).contained());
}

}  // namespace
}  // namespace vethgate::live
