// Our messages against those that iptables-nft 1.8.9 and iproute2 6.1 send for the same lines, byte
// for byte (golden/record), and against bytes written down from the kernel's headers.
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "applier/flower.hpp"
#include "applier/iptables.hpp"
#include "applier/steps.hpp"
#include "tests/offline/applier/plans.hpp"

namespace vethgate {
namespace {

using test::filter;
using test::outcomeOf;
using test::rule;
using test::withLog;
using test::withNeighbour;
using test::withPorts;
using test::withSyn;

struct Recorded {
  std::string command;
  std::string hex;
};

std::vector<Recorded> recorded(const std::string& name) {
  std::ifstream file(std::string(VETHGATE_SOURCE_DIR) + "/tests/offline/applier/golden/" + name);
  std::vector<Recorded> pairs;
  for (Recorded pair; std::getline(file, pair.command) && std::getline(file, pair.hex);) {
    pairs.push_back(pair);
  }
  return pairs;
}

void expectRecorded(const std::string& name, Family family,
                    const std::vector<IptablesRule>& rules) {
  const std::vector<Recorded> golden = recorded(name);
  ASSERT_EQ(golden.size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    EXPECT_EQ(toHex(appendRule(family, rules[i])), golden[i].hex) << golden[i].command;
  }
}

const RateLimit kSixAMinute{6, 60, 12};

TEST(AppendRule, IsWhatIptablesSendsForIpv4) {
  IptablesRule icmpV6 = rule(Target::kDrop);
  icmpV6.protocol = kProtocolIcmpV6;
  expectRecorded(
      "v4.golden", Family::kV4,
      {withSyn(withLog(rule(Target::kLog), kSixAMinute, "vg-conn:")),
       withPorts(withLog(rule(Target::kLog), {1, 1, 1}, "abcdefghijklmnopqrstuvwxyz012"),
                 kProtocolUdp, 53, 53),
       rule(Target::kDrop, "169.254.169.254/32"),
       withPorts(rule(Target::kAccept, "172.31.0.1"), kProtocolTcp, 49200, 49299),
       withPorts(rule(Target::kAccept, "172.31.0.1"), kProtocolTcp, 53, 53),
       rule(Target::kDrop, "10.0.0.0/8"),
       withLog(rule(Target::kLog, "172.16.0.0/12"), kSixAMinute, "vg-deny:"),
       rule(Target::kDrop, "198.18.0.0/15"), rule(Target::kDrop, "192.168.0.0/16"),
       rule(Target::kDrop, "203.0.113.0/24"), rule(Target::kDrop, "203.0.113.8/31"),
       withPorts(rule(Target::kAccept, "128.0.0.0/1"), kProtocolUdp, 1, 65535),
       withPorts(rule(Target::kAccept), kProtocolTcp, 443, 443),
       withSyn(withPorts(withLog(rule(Target::kLog, "192.0.2.0/24"), {2, 3600, 3}, "vg-all:"),
                         kProtocolTcp, 80, 80)),
       icmpV6, rule(Target::kDrop)});
}

TEST(AppendRule, IsWhatIptablesSendsForIpv6) {
  expectRecorded(
      "v6.golden", Family::kV6,
      {withPorts(rule(Target::kAccept, "2001:db8::53"), kProtocolUdp, 53, 53),
       withNeighbour(rule(Target::kAccept, "ff02::1:ff00:0/104"), 135),
       withNeighbour(rule(Target::kAccept), 136),
       withSyn(withLog(rule(Target::kLog, "fc00::/7"), kSixAMinute, "vg-conn:")),
       rule(Target::kDrop, "fe80::/10"), rule(Target::kDrop, "ff00::/8"),
       rule(Target::kDrop, "64:ff9b:1::/48"),
       withPorts(rule(Target::kAccept, "2001:db8:0:0:8000::/65"), kProtocolTcp, 8000, 8080),
       rule(Target::kDrop, "2001:db8::4/127"), rule(Target::kDrop)});
}

FlowerFilter narrowed(FlowerFilter filter, std::uint8_t protocol,
                      std::optional<PortRange> ports = std::nullopt) {
  filter.ipProtocol = protocol;
  filter.ports = ports;
  return filter;
}

FlowerFilter neighbour(FlowerFilter filter, std::uint8_t type) {
  filter.ipProtocol = kProtocolIcmpV6;
  filter.icmpType = type;
  filter.hopLimit = 255;
  return filter;
}

FlowerFilter withHandle(FlowerFilter filter, std::uint32_t handle) {
  filter.handle = handle;
  return filter;
}

TEST(NewFilter, IsWhatTcSends) {
  constexpr EtherType kV4 = EtherType::kIpv4;
  constexpr EtherType kV6 = EtherType::kIpv6;
  constexpr FilterAction kPass = FilterAction::kPass;
  constexpr FilterAction kDrop = FilterAction::kDrop;
  const std::vector<FlowerFilter> filters{
      filter(100, EtherType::kAll, kDrop),
      filter(101, kV4, kDrop, "169.254.169.254"),
      narrowed(filter(102, kV4, kPass, "172.31.0.1"), kProtocolTcp, PortRange(49200, 49299)),
      narrowed(filter(103, kV4, kPass, "192.0.2.53"), kProtocolUdp, PortRange(53, 53)),
      narrowed(filter(104, kV4, kPass, "192.0.2.53"), kProtocolTcp, PortRange(53, 53)),
      withHandle(filter(105, kV4, kDrop, "10.0.0.0/8"), 0x10),
      withHandle(filter(105, kV4, kDrop, "172.16.0.0/12"), 0x11),
      neighbour(filter(106, kV6, kPass, "ff02::1:ff00:0/104"), 135),
      neighbour(filter(107, kV6, kPass), 136),
      narrowed(filter(108, kV6, kPass, "2001:db8::53"), kProtocolUdp, PortRange(1, 65535)),
      filter(109, kV6, kDrop, "fe80::/10"),
      filter(110, EtherType::kArp, kPass),
      narrowed(filter(111, kV4, kPass), kProtocolTcp, PortRange(443, 443)),
      filter(65534, kV4, kPass),
      filter(65535, EtherType::kAll, kDrop)};
  const std::vector<Recorded> golden = recorded("tc.golden");
  ASSERT_EQ(golden.size(), filters.size());
  constexpr std::uint32_t kLoopback = 1;
  for (std::size_t i = 0; i < filters.size(); ++i) {
    Step step;
    step.append(newFilter(kLoopback, filters[i]), Subject::kFilter);
    step.acknowledgeLast();  // as tc does
    EXPECT_EQ(toHex(step.datagram), golden[i].hex) << golden[i].command;
  }
  EXPECT_EQ(toHex(newGuard(kLoopback)), toHex(newFilter(kLoopback, filters[0])));
}

// The messages for which iptables and tc send something else, or nothing.
// clang-format off

TEST(Batch, BeginsAndEndsForNfTables) {
  EXPECT_EQ(toHex(batchBegin()),
            "14000000" "1000" "0100" "00000000" "00000000"  // NFNL_MSG_BATCH_BEGIN, REQUEST
            "00" "00" "000a");                              // AF_UNSPEC, version, NFNL_SUBSYS_NFTABLES
  EXPECT_EQ(toHex(batchEnd()),
            "14000000" "1100" "0100" "00000000" "00000000"  // NFNL_MSG_BATCH_END
            "00" "00" "000a");
}

TEST(NewFilterTable, IsExclusive) {
  EXPECT_EQ(toHex(newFilterTable(Family::kV6)),
            "20000000" "000a" "0106" "00000000" "00000000"  // NEWTABLE, REQUEST CREATE EXCL
            "0a" "00" "0000"
            "0b00" "0100" "66696c74657200" "00");                // NFTA_TABLE_NAME "filter"
}

TEST(NewOutputChain, IsABaseChainThatAccepts) {
  EXPECT_EQ(toHex(newOutputChain(Family::kV4)),
            "70000000" "030a" "0106" "00000000" "00000000"  // NEWCHAIN, REQUEST CREATE EXCL
            "02" "00" "0000"
            "0b00" "0100" "66696c74657200" "00"             // NFTA_CHAIN_TABLE "filter"
            "0b00" "0300" "4f555450555400" "00"             // NFTA_CHAIN_NAME "OUTPUT"
            "1400" "0480"                                   // NFTA_CHAIN_HOOK
            "0800" "0100" "00000003"                        //   NF_INET_LOCAL_OUT
            "0800" "0200" "00000000"                        //   priority 0
            "0800" "0500" "00000001"                        // NFTA_CHAIN_POLICY NF_ACCEPT
            "1c00" "0880"                                   // NFTA_CHAIN_COUNTERS
            "0c00" "0200" "0000000000000000"
            "0c00" "0100" "0000000000000000"
            "0b00" "0700" "66696c74657200" "00");                // NFTA_CHAIN_TYPE "filter"
}

TEST(ExtensionQuery, AsksForTargetsAndMatches) {
  EXPECT_EQ(toHex(extensionQuery(Family::kV4, Extension::kLogTarget)),
            "2c000000" "000b" "0100" "00000000" "00000000"  // NFNL_MSG_COMPAT_GET, REQUEST
            "02" "00" "0000"
            "0800" "0100" "4c4f4700"                        // NFTA_COMPAT_NAME "LOG"
            "0800" "0200" "00000000"                        // revision 0
            "0800" "0300" "00000001");                      // a target
  EXPECT_EQ(toHex(extensionQuery(Family::kV6, Extension::kHopLimitMatch)),
            "2c000000" "000b" "0100" "00000000" "00000000"
            "0a" "00" "0000"
            "0700" "0100" "686c0000"                        // "hl"
            "0800" "0200" "00000000"
            "0800" "0300" "00000000");                      // a match
}

TEST(Clsact, IsAddedExclusivelyAndRemoved) {
  EXPECT_EQ(toHex(newClsact(3)),
            "30000000" "2400" "0106" "00000000" "00000000"  // RTM_NEWQDISC, REQUEST CREATE EXCL
            "00" "000000" "03000000"                        // AF_UNSPEC, ifindex
            "0000ffff" "f1ffffff" "00000000"                // handle ffff:, parent TC_H_CLSACT
            "0b00" "0100" "636c7361637400" "00");                // TCA_KIND "clsact"
  EXPECT_EQ(toHex(deleteClsact(3)),
            "30000000" "2500" "0100" "00000000" "00000000"  // RTM_DELQDISC
            "00" "000000" "03000000"
            "0000ffff" "f1ffffff" "00000000"
            "0b00" "0100" "636c7361637400" "00");
}

TEST(Guard, IsRemovedByPrefProtocolAndHandle) {
  EXPECT_EQ(toHex(deleteGuard(3)),
            "30000000" "2d00" "0100" "00000000" "00000000"  // RTM_DELTFILTER
            "00" "000000" "03000000"
            "01000000" "f3ffffff" "00036400"                // handle 1, egress, pref 100, ETH_P_ALL
            "0b00" "0100" "666c6f77657200" "00");                // TCA_KIND "flower"
}

TEST(Probes, AreMalformed) {
  EXPECT_EQ(toHex(malformedClsact(3)),
            "38000000" "2400" "0106" "00000000" "00000000"
            "00" "000000" "03000000"
            "0000ffff" "f1ffffff" "00000000"
            "0b00" "0100" "636c7361637400" "00"
            "0800" "0d00" "00000000");                      // TCA_INGRESS_BLOCK 0: there is no such block
  EXPECT_EQ(toHex(malformedGact()),
            "28000000" "3000" "0106" "00000000" "00000000"  // RTM_NEWACTION
            "00" "000000"
            "1400" "0100"                                   // TCA_ACT_TAB
            "1000" "0100"                                   //   action 1
            "0900" "0100" "6761637400" "000000");           //   TCA_ACT_KIND "gact", no options
}

// clang-format on
// What no encoder may write. The controls are the recorded rules above, of the same shapes.

TEST(AppendRule, RefusesWhatTheFamilyOrProtocolDoesNotAllow) {
  const auto refused = [](Family family, const IptablesRule& rule) {
    return outcomeOf([&] { (void)appendRule(family, rule); }).code == ExitCode::kUntouchable;
  };
  EXPECT_TRUE(refused(Family::kV6, rule(Target::kDrop, "10.0.0.0/8")));
  EXPECT_TRUE(refused(Family::kV4, rule(Target::kDrop, "fc00::/7")));
  EXPECT_TRUE(refused(Family::kV4, rule(Target::kDrop, "0.0.0.0/0")));
  EXPECT_TRUE(refused(Family::kV4, withNeighbour(rule(Target::kAccept), 136)));
  IptablesRule udpSyn = withSyn(rule(Target::kDrop));
  udpSyn.protocol = kProtocolUdp;
  EXPECT_TRUE(refused(Family::kV4, udpSyn));
  EXPECT_TRUE(refused(Family::kV6, withPorts(rule(Target::kDrop), kProtocolIcmpV6, 1, 2)));
  EXPECT_TRUE(refused(Family::kV4, withLog(rule(Target::kLog), kSixAMinute,
                                           "abcdefghijklmnopqrstuvwxyz0123")));  // 30 characters
}

TEST(NewFilter, RefusesWhatFlowerCannotHold) {
  const auto refused = [](const FlowerFilter& filter) {
    return outcomeOf([&] { (void)newFilter(3, filter); }).code == ExitCode::kUntouchable;
  };
  constexpr FilterAction kDrop = FilterAction::kDrop;
  EXPECT_TRUE(refused(filter(0, EtherType::kIpv4, kDrop)));
  EXPECT_TRUE(refused(withHandle(filter(101, EtherType::kIpv4, kDrop), 0)));
  EXPECT_TRUE(refused(filter(101, EtherType::kIpv4, kDrop, "fc00::/7")));
  EXPECT_TRUE(refused(filter(101, EtherType::kIpv6, kDrop, "10.0.0.0/8")));
  EXPECT_TRUE(refused(filter(101, EtherType::kAll, kDrop, "10.0.0.0/8")));
  EXPECT_TRUE(refused(filter(101, EtherType::kIpv4, kDrop, "0.0.0.0/0")));
  EXPECT_TRUE(refused(narrowed(filter(101, EtherType::kArp, kDrop), kProtocolTcp)));
  EXPECT_TRUE(
      refused(narrowed(filter(101, EtherType::kIpv6, kDrop), kProtocolIcmpV6, PortRange(1, 2))));
  EXPECT_TRUE(refused(neighbour(filter(101, EtherType::kIpv4, kDrop), 136)));
}

}  // namespace
}  // namespace vethgate
