// What holds for every policy, not for the ones that somebody thought of.
#include <rapidcheck.h>

#include <algorithm>

#include "base/digest.hpp"
#include "evaluator.hpp"
#include "render/known_prefixes.hpp"
#include "render/translate.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

// Addresses from a small pool, so that prefixes, exceptions and packets meet.
Address anyAddress() {
  const bool v4 = *rc::gen::arbitrary<bool>();
  if (*rc::gen::inRange(0, 4) == 0) {  // one that the product has an opinion on
    static const std::vector<const char*> known{
        "169.254.169.254", "169.254.169.253", "192.0.0.192", "127.0.0.1",
        "127.255.255.255", "128.0.0.0",       "::1",         "::2",
        "fe80::1",         "ff02::1:ff00:1",  "ff02::1",     "fd00:ec2::254",
        "2002:a00:1::",    "64:ff9b::1",      "224.0.0.1"};
    return Address::parse(*rc::gen::elementOf(known)).value();
  }
  std::array<std::uint8_t, 16> bytes{};
  if (v4) {
    bytes[0] = *rc::gen::element<std::uint8_t>(10, 11, 172, 192, 203);
    bytes[1] = *rc::gen::element<std::uint8_t>(0, 16, 31, 168, 255);
  } else {
    bytes[0] = *rc::gen::element<std::uint8_t>(0x20, 0xfc, 0xfd);
    bytes[1] = *rc::gen::element<std::uint8_t>(0x01, 0x02);
    bytes[7] = *rc::gen::element<std::uint8_t>(0, 1, 0x80);
    bytes[15] = *rc::gen::element<std::uint8_t>(0, 1, 255);
  }
  bytes[3] = *rc::gen::element<std::uint8_t>(0, 1, 53, 255);
  return {v4 ? Family::kV4 : Family::kV6, bytes};
}

Prefix anyPrefix(unsigned shortest) {
  const Address address = anyAddress();
  return Prefix::network(address, *rc::gen::inRange(shortest, address.bits() + 1));
}

std::string anyPorts() {
  const unsigned first = *rc::gen::element(1U, 53U, 442U, 443U, 49200U, 65535U);
  const unsigned width = *rc::gen::element(0U, 0U, 1U, 99U);
  return std::to_string(first) + "-" + std::to_string(std::min(first + width, 65535U));
}

std::string anyTransport() { return *rc::gen::element(std::string("tcp"), std::string("udp")); }

Json anyPolicy() {
  Json policy = {{"version", 1U}};
  Json& deny = policy["deny"] = Json::array();
  for (const char* set : {"private", "transition"}) {
    if (*rc::gen::arbitrary<bool>()) {
      deny.push_back(set);
    }
  }
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    const Prefix prefix = anyPrefix(0);
    if (!loopbackOf(prefix.family()).contains(prefix)) {
      deny.push_back(prefix.text());
    }
  }
  Json& allow = policy["allow"] = Json::array();
  for (int i = *rc::gen::inRange(0, 5); i > 0; --i) {
    allow.push_back({{"to", anyPrefix(12).text()},
                     {"protocol", anyTransport()},
                     {"ports", anyPorts()},
                     {"why", "exception"}});
  }
  Json& resolvers = policy["resolvers"] = Json::array();
  for (int i = *rc::gen::inRange(0, 3); i > 0; --i) {
    resolvers.push_back(anyAddress().text());
  }
  const int fallback = *rc::gen::inRange(0, 3);
  policy["default"] = fallback == 0 ? "pass" : "drop";
  if (fallback == 0) {
    for (const unsigned protocol : {41U, 47U, 132U}) {
      if (*rc::gen::arbitrary<bool>()) {
        policy["protocols"].push_back(protocol);
      }
    }
  }
  if (fallback == 2) {
    policy["default"] = Json::array();
    for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
      policy["default"].push_back({{"protocol", anyTransport()}, {"ports", anyPorts()}});
    }
  }
  if (*rc::gen::arbitrary<bool>()) {
    policy["log"] = {{"rate", "6/minute"}, {"burst", 12U}};
  }
  return policy;
}

// An accepted policy. What the reader refuses is shaped until it is not: an exception is taken out.
Policy acceptedPolicy() {
  Json document = anyPolicy();
  for (const char* list : {"allow", "resolvers"}) {
    Json kept = Json::array();
    for (const Json& entry : document[list]) {
      Json alone = {{"version", 1U}, {"deny", document["deny"]}, {list, {entry}}};
      if (outcomeOf([&] { static_cast<void>(readPolicy(alone)); }).code == ExitCode::kDone) {
        kept.push_back(entry);
      }
    }
    document[list] = kept;
  }
  return readPolicy(document);
}

Packet anyPacket(const Policy& policy) {
  Packet packet;
  Address to = anyAddress();
  if (!policy.allow.empty() && *rc::gen::arbitrary<bool>()) {
    to = (*rc::gen::elementOf(policy.allow)).to.base();
  } else if (!policy.resolvers.empty() && *rc::gen::arbitrary<bool>()) {
    to = *rc::gen::elementOf(policy.resolvers);
  }
  packet.family = to.family();
  packet.to = to.bytes();
  packet.protocol = static_cast<std::uint8_t>(*rc::gen::element<int>(
      kProtocolTcp, kProtocolTcp, kProtocolUdp, kProtocolIcmpV6, kProtocolIcmp, 4, 41, 132));
  packet.port = *rc::gen::element<std::uint16_t>(0, 1, 53, 54, 442, 443, 444, 49200, 49299, 65535);
  packet.syn = *rc::gen::arbitrary<bool>();
  packet.icmpType = *rc::gen::element<std::uint8_t>(128, 133, 135, 136, 143);
  packet.hopLimit = *rc::gen::element<std::uint8_t>(1, 64, 254, 255);
  packet.fragment = *rc::gen::element(Packet::Fragment::kNone, Packet::Fragment::kNone,
                                      Packet::Fragment::kFirst, Packet::Fragment::kLater);
  return packet;
}

// The one packet that may go anywhere: a neighbour is told where it asked from.
bool isAdvertisement(const Packet& packet) {
  return packet.family == Family::kV6 && packet.protocol == kProtocolIcmpV6 &&
         packet.icmpType == 136 && packet.hopLimit == 255 &&
         packet.fragment == Packet::Fragment::kNone;
}

Packet unfragmentedFirst(Packet packet) {
  if (packet.fragment == Packet::Fragment::kFirst) {
    packet.fragment = Packet::Fragment::kNone;
  }
  return packet;
}

std::vector<NetdevRule> netdevOf(const Policy& policy) {
  return netdevRules(orderedRules(policy), goldenLink());
}

constexpr int kPacketsPerPolicy = 40;

TEST(EveryPolicy, meansTheSameInEveryLayerAsInItsList) {
  EXPECT_TRUE(rc::check([] {
    const Policy policy = acceptedPolicy();
    const std::vector<Rule> rules = orderedRules(policy);
    Plan plan;
    const Outcome outcome = outcomeOf([&] { plan = renderPlan(policy, goldenLink()); });
    RC_PRE(outcome.code == ExitCode::kDone);
    const std::vector<NetdevRule> thirdLayer = netdevOf(policy);
    for (int i = 0; i < kPacketsPerPolicy; ++i) {
      const Packet packet = anyPacket(policy);
      const bool list = listLets(rules, packet);
      const EtherType type = packet.family == Family::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
      const bool flower = flowerLets(*plan.flower, type, packet);
      const bool netdev = netdevLets(thirdLayer, type, packet);
      RC_ASSERT(iptablesLets(*plan.iptables, packet) == list);
      if (lies(packet, loopbackOf(packet.family))) {
        RC_ASSERT(list);
        RC_ASSERT(flower == isAdvertisement(packet));
        // nft finds the type in a first fragment as well.
        RC_ASSERT(netdev == isAdvertisement(unfragmentedFirst(packet)));
      } else if (packet.fragment == Packet::Fragment::kFirst) {
        RC_ASSERT(list || !flower);  // never more than the list
        RC_ASSERT(netdev == list);
      } else {
        RC_ASSERT(flower == list);
        RC_ASSERT(netdev == list);
      }
    }
  }));
}

TEST(EveryPolicy, letsNoOtherEtherTypeOut) {
  EXPECT_TRUE(rc::check([] {
    const Policy policy = acceptedPolicy();
    Plan plan;
    const Outcome outcome = outcomeOf([&] { plan = renderPlan(policy, goldenLink()); });
    RC_PRE(outcome.code == ExitCode::kDone);
    const auto type = *rc::gen::arbitrary<std::uint16_t>();
    const Packet packet = anyPacket(policy);
    RC_PRE(type != 0x0800 && type != 0x86dd && type != 0x0806);
    RC_ASSERT(!flowerLets(*plan.flower, static_cast<EtherType>(type), packet));
    RC_ASSERT(!netdevLets(netdevOf(policy), static_cast<EtherType>(type), packet));
    RC_ASSERT(flowerLets(*plan.flower, EtherType::kArp, packet));
  }));
}

TEST(EveryPolicy, keepsMetadataShut) {
  EXPECT_TRUE(rc::check([] {
    const Policy policy = acceptedPolicy();
    Plan plan;
    const Outcome outcome = outcomeOf([&] { plan = renderPlan(policy, goldenLink()); });
    RC_PRE(outcome.code == ExitCode::kDone);
    for (const Prefix& host : metadataHosts()) {
      Packet packet = anyPacket(policy);
      packet.family = host.family();
      packet.to = host.base().bytes();
      // Neighbour discovery is no way to a service.
      RC_PRE(packet.protocol != kProtocolIcmpV6);
      RC_ASSERT(!iptablesLets(*plan.iptables, packet));
      RC_ASSERT(!flowerLets(*plan.flower,
                            host.family() == Family::kV4 ? EtherType::kIpv4 : EtherType::kIpv6,
                            packet));
    }
  }));
}

TEST(EveryPlan, survivesItsText) {
  EXPECT_TRUE(rc::check([] {
    const Policy policy = acceptedPolicy();
    Plan plan;
    const Outcome outcome = outcomeOf([&] { plan = renderPlan(policy, goldenLink()); });
    RC_PRE(outcome.code == ExitCode::kDone);
    const std::string text = planText(plan);
    RC_ASSERT(readPlan(text) == plan);
    RC_ASSERT(canonicalText(parseDocument(text, "plan", kMaxPlanBytes)) == text);
  }));
}

TEST(EveryPlan, isRefusedWhenOneOfItsBytesIsAnother) {
  const std::string text = planText(goldenPlan("reference"));
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < 20; ++i) {
      std::string changed = text;
      const auto position = *rc::gen::inRange<std::size_t>(0, text.size());
      // Near neighbours (a digit for a digit) as often as any byte.
      changed[position] = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                          rc::gen::element('0', '1', '9', ' ', ',', '"', 'a', 'f'));
      if (changed != text) {
        RC_ASSERT(outcomeOf([&] { static_cast<void>(readPlan(changed)); }).code != ExitCode::kDone);
      }
    }
  }));
}

// What an attacker of the applier would send: a plan that is wrong and whose digest is right.
TEST(EveryPlan, thatIsReadAtAllIsReadAsItIsWritten) {
  const std::string text = planText(goldenPlan("default-list-log"));
  const std::string rest = "{" + text.substr(text.find(',') + 1);
  int accepted = 0;
  EXPECT_TRUE(rc::check([&] {
    for (int i = 0; i < 20; ++i) {
      std::string changed = rest;
      changed[*rc::gen::inRange<std::size_t>(0, rest.size())] = *rc::gen::oneOf(
          rc::gen::arbitrary<char>(), rc::gen::element('0', '1', '9', ' ', ',', '"', 'a', 'f'));
      Json document;
      if (outcomeOf([&] { document = parseDocument(changed, "plan", kMaxPlanBytes); }).code !=
          ExitCode::kDone) {
        continue;
      }
      if (document.is_object()) {
        const std::string digest = sha256Hex(canonicalText(document));
        document["digest"] = digest;
      }
      Plan plan;
      if (outcomeOf([&] { plan = readPlan(document.dump()); }).code == ExitCode::kDone) {
        ++accepted;
        RC_ASSERT(readPlan(planText(plan)) == plan);
      }
    }
  }));
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace vethgate::test
