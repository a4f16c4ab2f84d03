// The second judgement: policies against the rules that they lead to, and against rules that a
// renderer with a mistake in both layers would have made.
#include "verifier/proof.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "render/known_prefixes.hpp"
#include "render/policy.hpp"
#include "render/render.hpp"
#include "support.hpp"
#include "verifier/named_sets.hpp"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define VETHGATE_SLOW
#endif
#endif

namespace vethgate {
namespace {

const Link kLink{3, "eth0", {0x02, 0x42, 0xac, 0x11, 0x00, 0x02}, 4, 4026532290};

const Deadline kSoon = Deadline::after(std::chrono::minutes(10));

Policy policyOf(std::string_view text) { return readPolicy(text); }

std::optional<Counterexample> firstDisagreement(const Policy& policy, const Plan& plan) {
  const PolicyMeaning meaning(policy);
  if (plan.iptables) {
    if (auto found = disagreement(meaning, iptablesReach(*plan.iptables), kSoon)) {
      return found;
    }
  }
  if (plan.flower) {
    if (auto found = disagreement(meaning, flowerReach(*plan.flower), kSoon)) {
      return found;
    }
  }
  return plan.netdev ? disagreement(meaning, netdevReach(*plan.netdev, plan.link), kSoon)
                     : std::nullopt;
}

std::string refusal(const Policy& policy, const Plan& plan) {
  const auto found = firstDisagreement(policy, plan);
  return found ? found->text() : "";
}

const std::string kPolicy = R"({"version":1,"deny":["private","transition"],
  "allow":[{"to":"172.31.0.1","protocol":"tcp","ports":"49200-49299"}],
  "resolvers":["192.0.2.53","2001:db8::53"],"log":{"rate":"6/minute","burst":12}})";

TEST(Proof, EveryGoldenPolicyMeansWhatItsPlanLetsThrough) {
  std::size_t seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(VETHGATE_SOURCE_DIR) +
                                                               "/tests/offline/render/golden")) {
    if (!entry.is_directory()) {
      continue;
    }
    std::ostringstream text;
    text << std::ifstream(entry.path() / "policy.json").rdbuf();
    const Policy policy = policyOf(text.str());
    EXPECT_EQ(refusal(policy, renderPlan(policy, kLink)), "") << entry.path();
    ++seen;
  }
  EXPECT_GT(seen, 20U);
}

// What a renderer that forgot one denied prefix would make: both layers agree with each other.
Plan withoutPrefix(Plan plan, const std::string& prefix) {
  const auto forgotten = [&](const auto& rule) { return rule.to && rule.to->text() == prefix; };
  std::erase_if(plan.iptables->v4, forgotten);
  std::erase_if(plan.iptables->v6, forgotten);
  std::erase_if(*plan.flower, forgotten);
  return plan;
}

TEST(Proof, ADenialMissingFromBothLayersIsNamedBySmallestPacket) {
  const Policy policy = policyOf(kPolicy);
  const Plan plan = renderPlan(policy, kLink);
  ASSERT_EQ(refusal(policy, plan), "");
  const auto found = firstDisagreement(policy, withoutPrefix(plan, "10.0.0.0/8"));
  ASSERT_TRUE(found);
  EXPECT_EQ(addressFromNumber(found->family, found->to).text(), "10.0.0.0");
  EXPECT_TRUE(found->leaves);
  EXPECT_EQ(found->layer, "iptables");
  EXPECT_NE(refusal(policy, withoutPrefix(plan, "fc00::/7")), "");
  // 169.254.0.0/16 is denied as well, and still covers this one.
  EXPECT_EQ(refusal(policy, withoutPrefix(plan, "169.254.169.254/32")), "");
}

TEST(Proof, MetadataIsDeniedEvenToAnEmptyDenyList) {
  const Policy policy = policyOf(R"({"version":1,"deny":[]})");
  const Plan plan = renderPlan(policy, kLink);
  ASSERT_EQ(refusal(policy, plan), "");
  EXPECT_EQ(refusal(policy, withoutPrefix(plan, "169.254.169.254/32")),
            "tcp 169.254.169.254:1 may leave by iptables v4 #5; the policy denies it");
}

TEST(Proof, AWidenedPinholeIsNamedByItsFirstPort) {
  const Policy policy = policyOf(kPolicy);
  Plan plan = renderPlan(policy, kLink);
  for (FlowerFilter& filter : *plan.flower) {
    if (filter.ports == PortRange(49200, 49299)) {
      filter.ports = PortRange(49100, 49299);
    }
  }
  const std::string text = refusal(policy, plan);
  EXPECT_NE(text.find("tcp 172.31.0.1:49100 may leave by flower pref "), std::string::npos) << text;
}

TEST(Proof, APinholeThatIsMissingIsADisagreementToo) {
  const Policy policy = policyOf(kPolicy);
  Plan plan = renderPlan(policy, kLink);
  std::erase_if(plan.iptables->v4, [](const IptablesRule& rule) {
    return rule.target == Target::kAccept && rule.ports == PortRange(49200, 49299);
  });
  const std::string text = refusal(policy, plan);
  EXPECT_NE(text.find("tcp 172.31.0.1:49200 is dropped by iptables v4 #"), std::string::npos)
      << text;
}

TEST(Proof, FramesThatAreNotIpAreJudged) {
  const Policy policy = policyOf(kPolicy);
  Plan plan = renderPlan(policy, kLink);
  ASSERT_EQ(plan.flower->back().protocol, EtherType::kAll);
  Plan open = plan;
  open.flower->back().action = FilterAction::kPass;
  EXPECT_NE(refusal(policy, open), "");
  Plan deaf = plan;
  std::erase_if(*deaf.flower,
                [](const FlowerFilter& filter) { return filter.protocol == EtherType::kArp; });
  EXPECT_NE(refusal(policy, deaf), "");
}

TEST(Proof, ARateLimitedVerdictHasNoMeaning) {
  const Policy policy = policyOf(kPolicy);
  Plan plan = renderPlan(policy, kLink);
  plan.iptables->v4.back().limit = RateLimit{6, 60, 12};
  EXPECT_THROW((void)refusal(policy, plan), Failure);
}

struct Packet {
  Prefix to;  // one address
  std::uint8_t protocol;
  std::uint16_t port;  // of tcp and udp
  std::uint8_t type;   // of ICMPv6
  std::uint8_t hopLimit;
};

// A policy read off its fields, packet by packet: the meaning that the set algebra must equal.
bool means(const Policy& policy, bool onTheWire, const Packet& packet) {
  const auto within = [&](const char* prefix) {
    return Prefix::parse(prefix, "test").contains(packet.to);
  };
  for (const char* metadata :
       {"169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254"}) {
    if (within(metadata)) {
      return false;
    }
  }
  const auto hasPorts = packet.protocol == 6 || packet.protocol == 17;
  const auto serves = [&](Transport protocol, const PortRange& ports) {
    return packet.protocol == static_cast<std::uint8_t>(protocol) && ports.first() <= packet.port &&
           packet.port <= ports.last();
  };
  for (const Exception& entry : policy.allow) {
    if (entry.to.contains(packet.to) && serves(entry.protocol, entry.ports)) {
      return true;
    }
  }
  for (const Address& resolver : policy.resolvers) {
    if (Prefix::host(resolver) == packet.to && hasPorts && packet.port == 53) {
      return true;
    }
  }
  const bool v6 = packet.to.family() == Family::kV6;
  if (v6 && packet.protocol == 58 && packet.hopLimit == 255 &&
      (packet.type == 136 || (packet.type == 135 && within("ff02::1:ff00:0/104")))) {
    return true;
  }
  if (within("127.0.0.0/8") || within("::1")) {
    return !onTheWire;
  }
  for (const DeniedPrefix& entry : policy.deny) {
    if (entry.prefix.contains(packet.to)) {
      return false;
    }
  }
  if (policy.fallback == Policy::Default::kPass) {
    return packet.protocol == (v6 ? 58 : 1) || hasPorts ||
           std::find(policy.protocols.begin(), policy.protocols.end(), packet.protocol) !=
               policy.protocols.end();
  }
  return std::any_of(policy.defaultPasses.begin(), policy.defaultPasses.end(),
                     [&](const DefaultPass& entry) { return serves(entry.protocol, entry.ports); });
}

// Few prefixes that overlap, few ports: every relation between entries comes up.
const std::vector<std::string> kPlaces = {
    "10.0.0.0/8",     "10.1.0.0/16",  "10.1.2.0/24",  "10.1.2.3",      "203.0.113.7",
    "203.0.113.0/24", "192.0.2.53",   "198.51.100.9", "2001:db8::/32", "2001:db8:1::/48",
    "2001:db8:1::7",  "2001:db8::53", "fd00:1::/32",  "ff02::/16",     "ff02::1:ff00:0/104"};
// Of these an exception would touch metadata or loopback.
const std::vector<std::string> kDenials = {"168.63.129.0/24", "fd00:ec2::/32", "::/96", "private",
                                           "transition"};
const std::vector<std::string> kPorts = {"1", "53", "50-60", "443", "440-450", "65535"};

Json randomPolicy() {
  Json policy = {{"version", 1}, {"allow", Json::array()}};
  if (*rc::gen::inRange(0, 8) != 0) {
    policy["deny"] = Json::array();
    for (const auto* list : {&kPlaces, &kDenials}) {
      for (const std::string& place : *list) {
        if (*rc::gen::inRange(0, 4) == 0) {
          policy["deny"].push_back(place);
        }
      }
    }
  }
  const auto service = [] {
    return Json{{"protocol", *rc::gen::element<std::string>("tcp", "udp")},
                {"ports", *rc::gen::elementOf(kPorts)}};
  };
  for (int i = *rc::gen::inRange(0, 4); i > 0; --i) {
    Json entry = service();
    entry["to"] = *rc::gen::elementOf(kPlaces);
    policy["allow"].push_back(entry);
  }
  for (const char* resolver : {"192.0.2.53", "2001:db8::53"}) {
    if (*rc::gen::arbitrary<bool>()) {
      policy["resolvers"].push_back(resolver);
    }
  }
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      policy["default"] = "drop";
      break;
    case 1:
      policy["default"] = {service(), service()};
      break;
    default:
      for (const unsigned protocol : {4U, 41U, 47U}) {
        if (*rc::gen::arbitrary<bool>()) {
          policy["protocols"].push_back(protocol);
        }
      }
      break;
  }
  return policy;
}

// In and beside every place above, both sides of every port that is named, and of ICMPv6 the types
// of neighbour discovery and their neighbours, on link and from behind a router.
std::vector<Packet> packetsTo(const char* address) {
  const Prefix to = Prefix::parse(address, "test");
  std::vector<Packet> packets;
  for (const std::uint8_t hopLimit : std::initializer_list<std::uint8_t>{64, 254, 255}) {
    for (const std::uint8_t protocol :
         std::initializer_list<std::uint8_t>{1, 4, 6, 17, 41, 47, 58}) {
      if (protocol == 6 || protocol == 17) {
        for (const std::uint16_t port : std::initializer_list<std::uint16_t>{
                 1, 2, 49, 50, 53, 60, 61, 439, 443, 450, 451, 65535}) {
          packets.push_back({to, protocol, port, 0, hopLimit});
        }
      } else if (protocol == 58 && to.family() == Family::kV6) {
        for (const std::uint8_t type :
             std::initializer_list<std::uint8_t>{128, 134, 135, 136, 137}) {
          packets.push_back({to, protocol, 0, type, hopLimit});
        }
      } else {
        packets.push_back({to, protocol, 0, 0, hopLimit});
      }
    }
  }
  return packets;
}

constexpr std::array kAddresses = {
    "10.0.0.1",      "10.1.0.1",    "10.1.2.1",        "10.1.2.3",
    "203.0.113.7",   "203.0.113.8", "192.0.2.53",      "198.51.100.9",
    "8.8.8.8",       "127.0.0.1",   "169.254.169.254", "168.63.129.16",
    "168.63.129.17", "2001:db8::1", "2001:db8::53",    "2001:db8:1::7",
    "2001:db8:1::8", "2600::1",     "fd00:1::1",       "fd00:ec2::254",
    "fd00:ec2::255", "ff02::1",     "ff02::1:ff00:1",  "ff02::1:fe00:1",
    "::1",           "::2",         "64:ff9b::a00:1",  "fe80::1"};

TEST(Proof, MeaningEqualsBruteForceAndEveryRenderedPlan) {
  std::size_t compared = 0;
  EXPECT_TRUE(rc::check("meaning", [&] {
    std::optional<Policy> policy;
    try {
      policy = readPolicy(randomPolicy());
    } catch (const Failure& failure) {
      // An exception wider than a denial, or one that touches metadata.
      RC_DISCARD(failure.what());
    }
    const Plan plan = renderPlan(*policy, kLink);
    RC_ASSERT(refusal(*policy, plan).empty());

    const PolicyMeaning meaning(*policy);
    for (const Family family : {Family::kV4, Family::kV6}) {
      const auto classes = partition(family, meaning.services(family));
      // Both answers for each class of packets, by the class's place in the list.
      std::vector<std::array<AddressSet, 2>> allowed;
      allowed.reserve(classes.size());
      for (const Service& one : classes) {
        allowed.push_back(
            {meaning.allowed(family, one, false), meaning.allowed(family, one, true)});
      }
      for (const char* text : kAddresses) {
        if (Prefix::parse(text, "test").family() != family) {
          continue;
        }
        for (const Packet& packet : packetsTo(text)) {
          const Service service{{packet.protocol, packet.protocol},
                                {packet.port, packet.port},
                                {packet.type, packet.type},
                                {packet.hopLimit, packet.hopLimit}};
          const auto kind = std::find_if(classes.begin(), classes.end(),
                                         [&](const Service& c) { return c.contains(service); });
          RC_ASSERT(kind != classes.end());
          for (const bool onTheWire : {false, true}) {
            const AddressSet& found =
                allowed[static_cast<std::size_t>(kind - classes.begin())][onTheWire ? 1 : 0];
            RC_ASSERT(found.contains(addressNumber(packet.to.base())) ==
                      means(*policy, onTheWire, packet));
            ++compared;
          }
        }
      }
    }
  }));
  std::cout << "meaning: " << compared << " packets of both families compared\n";
}

const std::string kEverySet = R"({"version":1,"deny":["private","transition"]})";

std::vector<Prefix> prefixesOf(std::span<const std::string_view> texts) {
  std::vector<Prefix> prefixes;
  for (const std::string_view text : texts) {
    prefixes.push_back(Prefix::parse(text, "test"));
  }
  std::sort(prefixes.begin(), prefixes.end());
  return prefixes;
}

std::vector<Prefix> sorted(std::span<const Prefix> list) {
  std::vector<Prefix> prefixes(list.begin(), list.end());
  std::sort(prefixes.begin(), prefixes.end());
  return prefixes;
}

// Whoever changes one statement of a set learns here that there are two.
TEST(NamedSets, AreStatedTwiceAndAlike) {
  EXPECT_EQ(prefixesOf(kMeaningOfPrivate), sorted(privatePrefixes()));
  EXPECT_EQ(prefixesOf(kMeaningOfTransition), sorted(transitionPrefixes()));
  EXPECT_EQ(prefixesOf(kMetadataAddresses), sorted(metadataHosts()));
  EXPECT_EQ(prefixesOf(kLoopbackAddresses),
            sorted(std::array{loopbackOf(Family::kV4), loopbackOf(Family::kV6)}));
}

// The policy as its reader would give it, had the renderer's table of a set lost the prefix.
Policy withATableThatLost(const Prefix& prefix, const std::string& document) {
  Policy policy = policyOf(document);
  const auto lost =
      std::erase_if(policy.deny, [&](const DeniedPrefix& entry) { return entry.prefix == prefix; });
  EXPECT_EQ(lost, 1U) << prefix.text();
  return policy;
}

// Render, apply and comparison would all agree with a table of the renderer that lost a prefix.
TEST(NamedSets, APrefixThatTheRenderersTableLostIsRefusedInEachLayer) {
  std::vector<Prefix> all = prefixesOf(kMeaningOfPrivate);
  const std::vector<Prefix> transition = prefixesOf(kMeaningOfTransition);
  all.insert(all.end(), transition.begin(), transition.end());
  ASSERT_EQ(all.size(), 18U);
  // By its own words, and by those that a policy without `deny` has by default.
  for (const std::string& document : {kEverySet, std::string(R"({"version":1})")}) {
    ASSERT_EQ(refusal(policyOf(document), renderPlan(policyOf(document), kLink)), "");
    for (const Prefix& prefix : all) {
      const Policy policy = withATableThatLost(prefix, document);
      const Plan plan = renderPlan(policy, kLink);
      const PolicyMeaning meaning(policy);
      for (const LayerReach& layer : {iptablesReach(*plan.iptables), flowerReach(*plan.flower),
                                      netdevReach(*plan.netdev, kLink)}) {
        const auto found = disagreement(meaning, layer, kSoon);
        ASSERT_TRUE(found) << prefix.text() << " by " << layer.name;
        EXPECT_TRUE(found->leaves) << found->text();
        EXPECT_EQ(found->layer, layer.name);
        EXPECT_EQ(addressFromNumber(found->family, found->to), prefix.base()) << found->text();
      }
    }
  }
}

// Nor may a table say more than its word.
TEST(NamedSets, APrefixTooManyIsADisagreementToo) {
  Policy policy = policyOf(kEverySet);
  policy.deny.push_back({Prefix::parse("198.51.100.0/24", "test"), "private"});
  EXPECT_NE(refusal(policy, renderPlan(policy, kLink)).find("tcp 198.51.100.0:1 is dropped by "),
            std::string::npos);
}

// The plan that the comparison goes by is the renderer's, so a deny that it forgot is missing on
// both sides of the comparison.
TEST(Proof, AloneCatchesWhatTheRendererForgotInEveryLayer) {
  for (const char* name : {"contained-tiny-6.1", "contained-netdev-6.1", "contained-tiny-6.12"}) {
    const test::Fixture made = test::fixture(name);
    const Plan forgetful = renderPlan(made.policy, made.link);
    EXPECT_EQ(judge(made.policy, forgetful, made.capture).code, ExitCode::kDone);

    const std::size_t layers = forgetful.iptables && forgetful.flower ? 2 : 1;
    Policy asked = made.policy;
    asked.denyWords.prefixes.push_back(Prefix::parse("198.51.100.0/24", "deny"));
    const Verdict verdict = judge(asked, forgetful, made.capture);
    EXPECT_EQ(verdict.code, ExitCode::kRefused) << name;
    EXPECT_EQ(verdict.reasons.size(), layers);
    for (const std::string& reason : verdict.reasons) {
      EXPECT_NE(reason.find("tcp 198.51.100.0:1 may leave by "), std::string::npos) << reason;
    }

    // A whole set, whose prefixes no table of the renderer held.
    Policy named = made.policy;
    named.denyWords.privateSet = true;
    const Verdict of = judge(named, forgetful, made.capture);
    EXPECT_EQ(of.code, ExitCode::kRefused) << name;
    EXPECT_EQ(of.reasons.size(), layers);
    for (const std::string& reason : of.reasons) {
      const bool denies10 = std::string_view(name).find("netdev") != std::string_view::npos;
      EXPECT_NE(
          reason.find(denies10 ? "tcp 100.64.0.0:1 may leave by " : "tcp 10.0.0.0:1 may leave by "),
          std::string::npos)
          << reason;
    }
  }
}

// Of processor time, which other work on the machine does not lengthen.
TEST(Proof, OfTenThousandPrefixesTakesLessThanASecond) {
  Json deny = Json::array({"private", "transition"});
  constexpr std::uint32_t kFirst = 20U << 24;
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    const Address from = addressFromNumber(Family::kV4, kFirst + (i << 15));
    deny.push_back(from.text() + "/" + std::to_string(17 + i % 8));
  }
  const Policy policy = policyOf(Json{{"version", 1}, {"deny", deny}}.dump());
  const Plan plan = renderPlan(policy, kLink);
  const std::clock_t before = std::clock();
  EXPECT_EQ(refusal(policy, plan), "");
  const double took = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  std::cout << "proof of " << deny.size() << " entries: " << took << " s\n";
#ifndef VETHGATE_SLOW
  EXPECT_LT(took, 1.0);
#endif
}

TEST(Proof, IsGivenUpAtItsDeadline) {
  const Policy policy = policyOf(kPolicy);
  const Plan plan = renderPlan(policy, kLink);
  const Deadline past = Deadline::after(std::chrono::milliseconds(0));
  try {
    (void)disagreement(PolicyMeaning(policy), flowerReach(*plan.flower), past);
    FAIL() << "a proof without an end";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kDeadline);
  }
}

TEST(Proof, ExplainSpeaksOfEveryService) {
  const Policy policy = policyOf(kPolicy);
  const Plan plan = renderPlan(policy, kLink);
  const std::string text = explainText(PolicyMeaning(policy), flowerReach(*plan.flower));
  EXPECT_NE(text.find("flower, IPv4:"), std::string::npos);
  EXPECT_NE(text.find("  tcp port 49200-49299: all but 10.0.0.0/8"), std::string::npos) << text;
}

}  // namespace
}  // namespace vethgate
