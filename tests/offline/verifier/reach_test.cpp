// The set algebra and the reach of rule lists, against brute force over small universes.
#include "verifier/reach.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <vector>

#include "verifier/address_set.hpp"

namespace vethgate {
namespace {

// Small numbers at both ends of IPv6, so that the wrap-around at the top is part of every run.
constexpr unsigned kUniverse = 24;

AddressNumber place(unsigned index) {
  return index < kUniverse / 2 ? AddressNumber{index}
                               : lastNumber(Family::kV6) - (kUniverse - 1 - index);
}

std::vector<Interval> intervals() {
  const auto count = *rc::gen::inRange(0, 6);
  std::vector<Interval> result;
  for (int i = 0; i < count; ++i) {
    auto a = *rc::gen::inRange(0U, kUniverse);
    auto b = *rc::gen::inRange(0U, kUniverse);
    result.push_back({place(std::min(a, b)), place(std::max(a, b))});
  }
  return result;
}

bool inAny(const std::vector<Interval>& all, AddressNumber number) {
  return std::any_of(all.begin(), all.end(),
                     [&](const Interval& i) { return i.first <= number && number <= i.last; });
}

TEST(AddressSet, AlgebraEqualsBruteForce) {
  EXPECT_TRUE(rc::check("union, difference, first difference", [] {
    const std::vector<Interval> a = intervals();
    const std::vector<Interval> b = intervals();
    const AddressSet left(a);
    const AddressSet right(b);
    std::optional<AddressNumber> first;
    for (unsigned i = 0; i < kUniverse; ++i) {
      const AddressNumber n = place(i);
      RC_ASSERT(left.contains(n) == inAny(a, n));
      RC_ASSERT(left.unite(right).contains(n) == (inAny(a, n) || inAny(b, n)));
      RC_ASSERT(left.subtract(right).contains(n) == (inAny(a, n) && !inAny(b, n)));
      if (!first && inAny(a, n) != inAny(b, n)) {
        first = n;
      }
    }
    const auto found = left.firstDifference(right);
    // Between the two ends of the universe lies a gap that an interval may span.
    RC_ASSERT(found.has_value() == !(left == right));
    if (first && found) {
      RC_ASSERT(*found <= *first);
      RC_ASSERT(left.contains(*found) != right.contains(*found));
    }
  }));
}

TEST(AddressSet, PrefixesCoverExactlyTheSet) {
  EXPECT_TRUE(rc::check("prefixes", [] {
    const AddressSet set(intervals());
    std::vector<Interval> covered;
    for (const Prefix& prefix : set.prefixes(Family::kV6)) {
      covered.push_back(intervalOf(prefix));
    }
    RC_ASSERT(AddressSet(covered) == set);
  }));
  EXPECT_EQ(AddressSet::all(Family::kV6).prefixes(Family::kV6).size(), 1U);
  EXPECT_EQ(AddressSet::all(Family::kV4).prefixes(Family::kV4).front().text(), "0.0.0.0/0");
}

FieldRange fieldRange(unsigned top) {
  const auto a = *rc::gen::inRange(0U, top);
  const auto b = *rc::gen::inRange(0U, top);
  return {static_cast<std::uint16_t>(std::min(a, b)), static_cast<std::uint16_t>(std::max(a, b))};
}

Service service() {
  Service result;
  switch (*rc::gen::inRange(0, 4)) {
    case 0:
      break;
    case 1:
      result.protocol = {kProtocolTcp, kProtocolTcp};
      result.port = fieldRange(6);
      break;
    case 2:
      result.protocol = {kProtocolUdp, kProtocolUdp};
      break;
    default:
      result.protocol = {kProtocolIcmpV6, kProtocolIcmpV6};
      result.icmpType = fieldRange(4);
      result.hopLimit = {255, 255};
      break;
  }
  return result;
}

TEST(Reach, AcceptedEqualsBruteForceFirstMatch) {
  EXPECT_TRUE(rc::check("first match", [] {
    std::vector<TerminalRule> rules;
    std::vector<Service> services;
    for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
      const auto where = intervals();
      if (where.empty()) {
        continue;
      }
      rules.push_back({where.front(), service(), *rc::gen::arbitrary<bool>(), "rule"});
      services.push_back(rules.back().service);
    }
    const bool otherwise = *rc::gen::arbitrary<bool>();
    const Reach reach(Family::kV6, rules, otherwise);
    const auto classes = partition(Family::kV6, services);
    for (const Service& kind : classes) {
      const AddressSet accepted = reach.accepted(kind);
      for (unsigned i = 0; i < kUniverse; ++i) {
        const AddressNumber to = place(i);
        bool leaves = otherwise;
        for (const TerminalRule& rule : rules) {
          // One packet of the class stands for all of it; the ends are the ones that could differ.
          const bool first = rule.service.protocol.first <= kind.protocol.first &&
                             kind.protocol.first <= rule.service.protocol.last &&
                             rule.service.port.first <= kind.port.first &&
                             kind.port.first <= rule.service.port.last &&
                             rule.service.icmpType.first <= kind.icmpType.first &&
                             kind.icmpType.first <= rule.service.icmpType.last &&
                             rule.service.hopLimit.first <= kind.hopLimit.first &&
                             kind.hopLimit.first <= rule.service.hopLimit.last;
          if (first && rule.to.first <= to && to <= rule.to.last) {
            leaves = rule.accept;
            break;
          }
        }
        RC_ASSERT(accepted.contains(to) == leaves);
      }
    }
  }));
}

TEST(Reach, PartitionCoversEveryPacketOnceAndNoRuleDividesAClass) {
  EXPECT_TRUE(rc::check("partition", [] {
    std::vector<Service> services;
    for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
      services.push_back(service());
    }
    const auto classes = partition(Family::kV6, services);
    const std::uint16_t protocol = *rc::gen::element<std::uint16_t>(0, 6, 17, 41, 58, 255);
    const std::uint16_t port = *rc::gen::inRange<std::uint16_t>(0, 8);
    const std::uint16_t type = *rc::gen::inRange<std::uint16_t>(0, 6);
    const std::uint16_t hopLimit = *rc::gen::element<std::uint16_t>(0, 64, 254, 255);
    const Service packet{{protocol, protocol}, {port, port}, {type, type}, {hopLimit, hopLimit}};
    const auto holding = std::count_if(classes.begin(), classes.end(),
                                       [&](const Service& c) { return c.contains(packet); });
    RC_ASSERT(holding == 1);
    for (const Service& kind : classes) {
      for (const Service& named : services) {
        const bool overlap = named.contains(packet) && kind.contains(packet);
        RC_ASSERT(!overlap || named.contains(kind));
      }
    }
  }));
}

}  // namespace
}  // namespace vethgate
