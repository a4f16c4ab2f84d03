// The netdev layer as bytes (rules against those that nft 1.0.6 sends, golden/record, masked
// destinations aside, where nft names the operation and the kernel takes it for granted; sets
// against what the kernel's headers say), its place in the transaction, and what the applier makes
// of a kernel that has no such hook.
#include "applier/netdev.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/netfilter/nf_tables.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <vector>

#include "applier/apply.hpp"
#include "applier/steps.hpp"
#include "tests/offline/applier/fake_kernel.hpp"
#include "tests/offline/applier/plans.hpp"

namespace vethgate {
namespace {

using test::FakeKernel;
using test::Outcome;
using test::outcomeOf;
using ::testing::HasSubstr;

NetdevRule pass(EtherType protocol, const char* to = nullptr) {
  NetdevRule rule{.protocol = protocol, .action = FilterAction::kPass, .why = "pass"};
  if (to != nullptr) rule.to.push_back(Prefix::parse(to, "test"));
  return rule;
}

NetdevRule service(NetdevRule rule, std::uint8_t protocol, std::uint16_t first,
                   std::uint16_t last) {
  rule.ipProtocol = protocol;
  rule.ports = PortRange(first, last);
  return rule;
}

NetdevRule neighbour(NetdevRule rule, std::uint8_t type) {
  rule.ipProtocol = kProtocolIcmpV6;
  rule.icmpType = type;
  rule.hopLimit = 255;
  return rule;
}

NetdevRule arp(const char* address) {
  NetdevRule rule = pass(EtherType::kArp);
  rule.sender = ArpSender{test::someLink().mac, Address::parse(address).value()};
  return rule;
}

NetdevRule dropSet(EtherType protocol, const char* set, const std::vector<const char*>& to) {
  NetdevRule rule{.protocol = protocol, .set = set, .why = "denied"};
  for (const char* prefix : to) rule.to.push_back(Prefix::parse(prefix, "test"));
  return rule;
}

TEST(AppendNetdevRule, IsWhatNftSends) {
  std::ifstream file(std::string(VETHGATE_SOURCE_DIR) +
                     "/tests/offline/applier/golden/netdev.golden");
  NetdevRule dropV4{.protocol = EtherType::kIpv4, .why = "drop"};
  NetdevRule dropAll{.why = "everything else"};
  const std::vector<NetdevRule> rules = {
      service(pass(EtherType::kIpv4, "172.31.0.1"), kProtocolTcp, 49200, 49299),
      service(pass(EtherType::kIpv4, "172.31.0.0/16"), kProtocolUdp, 53, 53),
      neighbour(pass(EtherType::kIpv6, "ff02::1:ff00:0/104"), 135),
      neighbour(pass(EtherType::kIpv6), 136),
      dropV4,
      pass(EtherType::kIpv6),
      arp("172.17.0.2"),
      dropAll};
  std::size_t count = 0;
  for (std::string line, hex; std::getline(file, line) && std::getline(file, hex); ++count) {
    ASSERT_LT(count, rules.size());
    EXPECT_EQ(toHex(appendNetdevRule(rules[count])), hex) << line;
  }
  EXPECT_EQ(count, rules.size());
}

// [len, type, value] of one NFTA_LIST_ELEM, written by hand from linux/netfilter/nf_tables.h.
std::string element(const std::string& key, bool end) {
  const std::size_t bytes = key.size() / 2;
  const auto length = [](std::size_t value) {
    return toHex(Bytes{static_cast<std::uint8_t>(value), 0});
  };
  return length(8 + bytes + (end ? 8 : 0) + 4) + "0180" + (end ? "0800030000000001" : "") +
         length(8 + bytes) + "0180" + length(4 + bytes) + "0100" + key;
}

std::string elementsOf(const NetdevRule& rule) {
  std::string text;
  for (const RawMessage& message : newSetElements(rule)) text += toHex(message);
  return text;
}

TEST(SetElements, AreStartsAndEndsBehindTheEndAtZero) {
  EXPECT_THAT(
      elementsOf(dropSet(EtherType::kIpv4, "v4_1", {"10.0.0.0/8", "172.16.0.0/12"})),
      HasSubstr(element("00000000", true) + element("0a000000", false) + element("0b000000", true) +
                element("ac100000", false) + element("ac200000", true)));
}

TEST(SetElements, MergeNeighboursAndLeaveTheTopOpen) {
  const std::string text = elementsOf(
      dropSet(EtherType::kIpv4, "v4_1", {"0.0.0.0/8", "8.0.0.0/7", "10.0.0.0/8", "240.0.0.0/4"}));
  EXPECT_THAT(text, HasSubstr(element("00000000", false) + element("01000000", true) +
                              element("08000000", false) + element("0b000000", true) +
                              element("f0000000", false)));
  EXPECT_THAT(text, ::testing::EndsWith(element("f0000000", false)));
  EXPECT_THAT(elementsOf(dropSet(EtherType::kIpv6, "v6_1", {"fe80::/10", "ff00::/8"})),
              ::testing::EndsWith(element("fe800000000000000000000000000000", false) +
                                  element("fec00000000000000000000000000000", true) +
                                  element("ff000000000000000000000000000000", false)));
}

TEST(SetElements, AreSplitIntoMessagesThatFit) {
  NetdevRule rule = dropSet(EtherType::kIpv6, "v6_1", {});
  for (unsigned i = 0; i < 1000; ++i) {
    std::array<std::uint8_t, 16> bytes{0x20, 1, static_cast<std::uint8_t>(i >> 8),
                                       static_cast<std::uint8_t>(i & 0xff)};
    bytes[5] = 1;
    rule.to.emplace_back(Address(Family::kV6, bytes), 64);
  }
  const std::vector<RawMessage> messages = newSetElements(rule);
  EXPECT_GT(messages.size(), 10U);
  std::size_t elements = 0;
  for (const RawMessage& message : messages) {
    const std::string text = toHex(message);
    for (std::size_t at = 0; (at = text.find("180001801400010", at)) != std::string::npos; ++at) {
      ++elements;
    }
  }
  EXPECT_EQ(elements, 2001U);
}

TEST(NewSet, IsConstantAndOfIntervals) {
  const std::string set = toHex(newSet(dropSet(EtherType::kIpv6, "v6_1", {"fc00::/7"}), 7));
  EXPECT_THAT(set, HasSubstr("0800030000000006"));  // NFT_SET_CONSTANT | NFT_SET_INTERVAL
  EXPECT_THAT(set, HasSubstr("0800050000000010"));  // keys of 16 bytes
  EXPECT_THAT(set, HasSubstr("08000a0000000007"));  // NFTA_SET_ID
}

TEST(NewEgressChain, HooksTheLinkAndDrops) {
  const std::string chain = toHex(newEgressChain("eth0"));
  EXPECT_THAT(chain, HasSubstr("0800010000000001"));          // NF_NETDEV_EGRESS
  EXPECT_THAT(chain, HasSubstr("090003006574683000000000"));  // "eth0"
  EXPECT_THAT(chain, HasSubstr("0800050000000000"));          // policy NF_DROP
}

TEST(AppendNetdevRule, RefusesWhatMakesNoSense) {
  const auto refused = [](NetdevRule rule) {
    return outcomeOf([&] { (void)appendNetdevRule(rule); }).code == ExitCode::kUntouchable;
  };
  EXPECT_TRUE(refused(pass(EtherType::kIpv4, "fc00::/7")));
  EXPECT_TRUE(refused(pass(EtherType::kArp, "10.0.0.0/8")));
  EXPECT_TRUE(refused(pass(EtherType::kArp)));
  EXPECT_TRUE(refused(pass(EtherType::kAll)));
  EXPECT_TRUE(refused(service(pass(EtherType::kIpv4), 132, 1, 1)));
  EXPECT_TRUE(refused(neighbour(pass(EtherType::kIpv4), 135)));
  EXPECT_TRUE(refused(dropSet(EtherType::kIpv4, "", {"10.0.0.0/8", "172.16.0.0/12"})));
  EXPECT_TRUE(refused(dropSet(EtherType::kIpv4, "v4_1", {})));
  NetdevRule narrowed = dropSet(EtherType::kIpv4, "v4_1", {"10.0.0.0/8"});
  EXPECT_FALSE(refused(narrowed));
  narrowed.ipProtocol = kProtocolTcp;
  EXPECT_TRUE(refused(narrowed));
}

Plan threeLayers() {
  Plan plan = test::somePlan();
  plan.netdev = {dropSet(EtherType::kIpv4, "v4_1", {"10.0.0.0/8"}), pass(EtherType::kIpv4),
                 NetdevRule{.why = "everything else"}};
  return plan;
}

Outcome applyTo(FakeKernel& kernel, const Plan& plan, Applied* applied = nullptr) {
  return outcomeOf([&] {
    const Applied result = applyPlan(kernel, plan, test::someLink(), buildSteps(plan),
                                     Deadline::after(std::chrono::seconds(5)));
    if (applied != nullptr) *applied = result;
  });
}

std::vector<std::string> subjects(const Plan& plan, const Step& step) {
  std::vector<std::string> names;
  for (const StepMessage& message : step.messages) names.push_back(describe(plan, message));
  return names;
}

TEST(NetdevSteps, AreOneTransactionWithTheOtherTables) {
  const Plan plan = threeLayers();
  const std::vector<Step> steps = buildSteps(plan);
  ASSERT_GT(steps.size(), 2U);
  EXPECT_EQ(steps[0].kind, StepKind::kSeal);
  EXPECT_EQ(steps[1].kind, StepKind::kTables);
  const std::vector<std::string> names = subjects(plan, steps[1]);
  const std::vector<std::string> tail(names.end() - 8, names.end());
  EXPECT_EQ(tail, (std::vector<std::string>{
                      "table netdev vethgate", "chain egress of table netdev vethgate",
                      "set v4_1 of table netdev vethgate", "the elements of set v4_1",
                      "rule 1 of 3 of netdev (\"denied\")", "rule 2 of 3 of netdev (\"pass\")",
                      "rule 3 of 3 of netdev (\"everything else\")",
                      "the transaction of nf_tables as a whole"}));
  EXPECT_EQ(expectedAnswers(steps[1]), 1U);
}

TEST(NetdevSteps, NeedNoSealWithoutFlower) {
  Plan plan = threeLayers();
  plan.flower.reset();
  EXPECT_EQ(buildSteps(plan).size(), 1U);
  FakeKernel kernel;
  Applied applied;
  const Outcome outcome = applyTo(kernel, plan, &applied);
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.message;
  EXPECT_EQ(applied, (Applied{3, 2, 0, 3}));
  EXPECT_FALSE(kernel.clsact);
  plan.iptables.reset();
  FakeKernel alone;
  EXPECT_EQ(applyTo(alone, plan, &applied).code, ExitCode::kDone);
  EXPECT_EQ(applied, (Applied{0, 0, 0, 3}));
}

// The fake kernel's third chain is ours: those of ip and ip6 come before it.
void refuseChain(FakeKernel& kernel, int error) {
  kernel.refuse = [error](const nlmsghdr& header, const RawMessage& message) {
    const bool netdev = message.at(NLMSG_HDRLEN) == NFPROTO_NETDEV;
    return header.nlmsg_type == test::kNewChain && netdev ? FakeKernel::Error{error, ""}
                                                          : FakeKernel::Error{};
  };
}

TEST(ApplyNetdev, NamesTheHookThatTheKernelLacksAndTakesTheSealBack) {
  for (const int error : {EOPNOTSUPP, ENOENT}) {
    FakeKernel kernel;
    refuseChain(kernel, error);
    const Outcome outcome = applyTo(kernel, threeLayers());
    EXPECT_EQ(outcome.code, ExitCode::kUnsupported) << outcome.message;
    EXPECT_THAT(outcome.message, HasSubstr("CONFIG_NETFILTER_EGRESS"));
    EXPECT_THAT(outcome.message, HasSubstr("\"layers\" can leave netdev out"));
    EXPECT_FALSE(kernel.clsact);
    EXPECT_EQ(kernel.rules, 0U);
  }
  FakeKernel other;
  refuseChain(other, EBUSY);
  EXPECT_EQ(applyTo(other, threeLayers()).code, ExitCode::kPartialWrite);
  EXPECT_TRUE(other.guard);
}

TEST(ApplyNetdev, RefusesANamespaceThatHoldsATableOfNetdev) {
  FakeKernel kernel;
  kernel.otherTables = {FakeKernel::table(NFPROTO_NETDEV, "other")};
  const Outcome outcome = applyTo(kernel, threeLayers());
  EXPECT_EQ(outcome.code, ExitCode::kUntouchable);
  EXPECT_THAT(outcome.message, HasSubstr("table netdev other"));
  EXPECT_EQ(kernel.sends, 0U);
  kernel.otherTables = {FakeKernel::table(NFPROTO_IPV4, "nat")};
  EXPECT_EQ(applyTo(kernel, threeLayers()).code, ExitCode::kDone);
}

}  // namespace
}  // namespace vethgate
