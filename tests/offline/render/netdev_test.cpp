// The third translation, its text for nft, the plan's reader about it, and the shortest list of
// prefixes.
#include <rapidcheck.h>

#include <algorithm>
#include <functional>

#include "base/digest.hpp"
#include "evaluator.hpp"
#include "render/prefix_set.hpp"
#include "render/translate.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

const Json kNetdev = {"netdev"};

Link linkWith(const std::vector<const char*>& addresses) {
  Link link = goldenLink();
  link.addresses.clear();
  for (const char* address : addresses) {
    link.addresses.push_back(Address::parse(address).value());
  }
  return link;
}

Plan planOf(Json members, const Link& link = linkWith({"172.17.0.2", "2001:db8::2"})) {
  members["layers"] = kNetdev;
  return renderPlan(policyWith(members), link);
}

std::vector<std::string> texts(const std::vector<Prefix>& prefixes) {
  std::vector<std::string> result;
  for (const Prefix& prefix : prefixes) {
    result.push_back(prefix.text());
  }
  return result;
}

const Json kProxy = {{"to", "172.31.0.1"}, {"protocol", "tcp"}, {"ports", "49200-49299"}};

TEST(NetdevTranslation, makesARunOfDropsOneRuleWithOneSet) {
  const std::vector<NetdevRule> rules =
      planOf({{"allow", {kProxy}}, {"deny", {"172.16.0.0/12", "10.128.0.0/9", "10.0.0.0/9"}}})
          .netdev.value();
  std::vector<std::string> sets;
  for (const NetdevRule& rule : rules) {
    if (rule.protocol == EtherType::kIpv4) {
      sets.push_back(rule.set);
    }
  }
  // Metadata, the exception, loopback with what is denied, tcp, udp and icmp by default.
  EXPECT_EQ(sets, (std::vector<std::string>{"v4_1", "", "v4_2", "", "", ""}));
  EXPECT_EQ(texts(rules[2].to),
            (std::vector<std::string>{"10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12"}));
  EXPECT_EQ(rules[2].why, "loopback has no business on a link, denied");
  EXPECT_EQ(texts(rules[1].to), (std::vector<std::string>{"172.31.0.1/32"}));
  EXPECT_EQ(rules[1].action, FilterAction::kPass);
}

TEST(NetdevTranslation, endsWithTheJobsOwnArpAndTheDropOfEverything) {
  const auto tail = [](const Link& link) {
    std::vector<NetdevRule> rules = planOf(Json::object(), link).netdev.value();
    std::erase_if(rules, [](const NetdevRule& rule) {
      return rule.protocol == EtherType::kIpv4 || rule.protocol == EtherType::kIpv6;
    });
    return rules;
  };
  const std::vector<NetdevRule> two = tail(linkWith({"172.17.0.2", "172.17.0.9", "2001:db8::2"}));
  ASSERT_EQ(two.size(), 3U);
  EXPECT_EQ(two[0].sender->address.text(), "172.17.0.2");
  EXPECT_EQ(two[1].sender->address.text(), "172.17.0.9");
  EXPECT_EQ(two[1].sender->mac, goldenLink().mac);
  EXPECT_EQ(two[2].protocol, EtherType::kAll);
  EXPECT_EQ(two[2].action, FilterAction::kDrop);
  EXPECT_EQ(tail(linkWith({"2001:db8::2"})).size(), 1U);  // no IPv4, no ARP
}

TEST(NetdevTranslation, passesTheDefaultAndNothingWhenItIsDrop) {
  const auto passes = [](const Json& members) {
    const std::vector<NetdevRule> rules = planOf(members).netdev.value();
    return std::count_if(rules.begin(), rules.end(), [](const NetdevRule& rule) {
      return rule.action == FilterAction::kPass && rule.to.empty() && !rule.icmpType &&
             !rule.sender;
    });
  };
  EXPECT_EQ(passes(Json::object()), 6);
  EXPECT_EQ(passes({{"protocols", {47U}}}), 8);
  EXPECT_EQ(passes({{"default", "drop"}, {"allow", {kProxy}}}), 0);
  EXPECT_EQ(passes({{"default", {{{"protocol", "tcp"}, {"ports", "443"}}}}}), 2);
}

TEST(NetdevTranslation, ofADenialOfEverythingHasNoSet) {
  const std::vector<NetdevRule> rules = planOf({{"deny", {"0.0.0.0/0"}}}).netdev.value();
  EXPECT_TRUE(rules.front().to.empty());
  EXPECT_TRUE(rules.front().set.empty());
  EXPECT_EQ(rules.front().action, FilterAction::kDrop);
}

TEST(NetdevText, matchesByPositionAndMergesNeighbours) {
  const std::string text = nftText(
      planOf({{"allow", {kProxy}}, {"deny", {"8.0.0.0/7", "10.0.0.0/8", "255.255.255.255"}}}));
  EXPECT_NE(text.find("type filter hook egress device \"" + goldenLink().name +
                      "\" priority 0; policy drop;"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("0x08000000-0x0affffff"), std::string::npos) << text;
  EXPECT_NE(text.find("0xffffffff\n"), std::string::npos) << text;
  EXPECT_NE(text.find("@ll,96,16 0x0800 @ll,240,32 0xac1f0001 meta l4proto 6 @th,16,16 "
                      "49200-49299 counter accept"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("ip daddr"), std::string::npos);
  EXPECT_EQ(text.find("meta protocol"), std::string::npos);
}

TEST(NetdevText, isRefusedForAPlanWithoutTheLayer) {
  expectRefusal(outcomeOf([] { static_cast<void>(nftText(goldenPlan("layers-iptables-flower"))); }),
                ExitCode::kBadInput, "leave netdev out");
}

TEST(LinkAddresses, areReadInOrderAndOnce) {
  Json document = linkDocument(linkWith({"10.0.0.2", "2001:db8::2"}));
  EXPECT_EQ(readLink(asRead(document), "link").addresses.size(), 2U);
  document.erase("addresses");
  EXPECT_TRUE(readLink(asRead(document), "link").addresses.empty());
  for (const Json& wrong : {Json{"10.0.0.3", "10.0.0.2"}, Json{"10.0.0.2", "10.0.0.2"},
                            Json{"10.0.0.2/24"}, Json{"2001:db8::2", "10.0.0.2"}}) {
    document["addresses"] = wrong;
    expectRefusal(outcomeOf([&] { static_cast<void>(readLink(asRead(document), "link")); }),
                  ExitCode::kBadInput, "link.addresses");
  }
}

// A plan that somebody wrote by hand, with a digest that is right.
Outcome readChanged(const std::function<void(Json&)>& change) {
  Json document = parseDocument(
      planText(planOf({{"allow", {kProxy}}, {"deny", {"10.0.0.0/8", "172.16.0.0/12"}}})), "plan",
      kMaxPlanBytes);
  document.erase("digest");
  change(document);
  document["digest"] = sha256Hex(canonicalText(document));
  return outcomeOf([&] { static_cast<void>(readPlan(document.dump())); });
}

TEST(NetdevPlan, isReadAsItWasWritten) {
  const Plan plan = planOf({{"allow", {kProxy}}, {"resolvers", {"2001:db8::53"}}});
  EXPECT_EQ(readPlan(planText(plan)), plan);
  EXPECT_EQ(readChanged([](Json&) {}).code, ExitCode::kDone);
}

TEST(NetdevPlan, isRefusedWhenTheApplierWouldNotWriteIt) {
  using Change = std::function<void(Json&)>;
  const auto rule = [](std::size_t index, const Change& change) {
    return [=](Json& document) { change(document["netdev"][index]); };
  };
  // v4: 0 metadata, 1 exception, 2 denied, 3 default; v6: 4 metadata, …
  const std::vector<std::pair<Change, std::string>> wrong = {
      {rule(0, [](Json& r) { r.erase("set"); }), "has a set of its family"},
      {rule(0, [](Json& r) { r["set"] = "v6_1"; }), "has a set of its family"},
      {rule(0, [](Json& r) { r["set"] = "v4_01"; }), "has a set of its family"},
      {rule(2, [](Json& r) { r["set"] = "v4_1"; }), "which another rule has"},
      {rule(1, [](Json& r) { r["set"] = "v4_9"; }), "has a set of its family"},
      {rule(2, [](Json& r) { std::reverse(r["to"].begin(), r["to"].end()); }), "ascending list"},
      {rule(2,
            [](Json& r) {
              r["to"] = Json{"10.0.0.0/9", "10.128.0.0/9"};
            }),
       "ascending list"},
      {rule(2,
            [](Json& r) {
              r["to"] = Json{"10.0.0.0/8", "10.1.0.0/16"};
            }),
       "ascending list"},
      {rule(2,
            [](Json& r) {
              r["to"] = Json{"10.0.0.0/8", "fc00::/7"};
            }),
       "other family"},
      {rule(2, [](Json& r) { r["ipProtocol"] = "tcp"; }), "narrowed by its destination alone"},
      {rule(1,
            [](Json& r) {
              r["to"] = Json{"10.0.0.1/32", "10.0.0.9/32"};
            }),
       "one or none"},
      {rule(1,
            [](Json& r) {
              r["sender"] = {{"mac", "02:42:ac:11:00:02"}, {"address", "172.17.0.2"}};
            }),
       "nothing else has one"},
      {[](Json& d) { d["netdev"].erase(d["netdev"].size() - 2); }, ""},  // ARP alone may be missing
      {[](Json& d) { d["netdev"].erase(d["netdev"].size() - 1); }, "drops every ethertype"},
      {[](Json& d) { d["netdev"].back()["action"] = "pass"; }, "would end the layer"},
      {[](Json& d) { d["netdev"][d["netdev"].size() - 2].erase("sender"); },
       "a sender that it names"},
      {[](Json& d) { d["netdev"][d["netdev"].size() - 2]["sender"]["address"] = "172.17.0.3"; },
       "address of its own"},
      {[](Json& d) { d["netdev"][d["netdev"].size() - 2]["sender"]["mac"] = "02:00:00:00:00:09"; },
       "address of its own"},
  };
  for (const auto& [change, part] : wrong) {
    const Outcome outcome = readChanged(change);
    if (part.empty()) {
      EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.message;
    } else {
      expectRefusal(outcome, ExitCode::kUntouchable, part);
    }
  }
  expectRefusal(readChanged(rule(1, [](Json& r) { r["to"] = Json::array(); })), ExitCode::kBadInput,
                "empty list");
  expectRefusal(readChanged(rule(1, [](Json& r) { r["protocol"] = "arp"; })), ExitCode::kBadInput,
                "not IP");
}

TEST(PolicyLayers, nameNetdevOnce) {
  EXPECT_TRUE(policyWith({{"layers", {"netdev", "iptables"}}}).netdev);
  EXPECT_FALSE(policyWith({{"layers", {"netdev", "iptables"}}}).flower);
  expectRefusal(outcomeOf([] {
                  static_cast<void>(policyWith({{"layers", {"netdev", "netdev"}}}));
                }),
                ExitCode::kBadInput, "a second time");
  EXPECT_NE(policyWith({{"layers", {"netdev"}}}).digest,
            policyWith({{"layers", {"flower"}}}).digest);
}

// Every address of a small universe is covered by both lists or by none, and no list is shorter.
TEST(ShortestList, coversTheSameWithTheFewest) {
  EXPECT_TRUE(rc::check([] {
    constexpr unsigned kBits = 6;  // of the last byte: a universe of 64 addresses
    std::vector<Prefix> prefixes;
    std::array<bool, 1U << kBits> covered{};
    for (int i = *rc::gen::inRange(0, 12); i > 0; --i) {
      std::array<std::uint8_t, 16> bytes{10, 0, 0, *rc::gen::inRange<std::uint8_t>(0, 64)};
      const Prefix prefix =
          Prefix::network(Address(Family::kV4, bytes), *rc::gen::inRange(32U - kBits, 33U));
      prefixes.push_back(prefix);
      const unsigned first = prefix.base().bytes()[3];
      std::fill_n(covered.begin() + first, 1U << (32U - prefix.length()), true);
    }
    const std::vector<Prefix> list = shortestList(prefixes);
    std::array<bool, 1U << kBits> held{};
    for (const Prefix& prefix : list) {
      for (unsigned i = 0; i < 1U << (32U - prefix.length()); ++i) {
        bool& one = held.at(prefix.base().bytes()[3] + i);
        RC_ASSERT(!one);  // disjoint
        one = true;
      }
    }
    RC_ASSERT(held == covered);
    RC_ASSERT(std::is_sorted(list.begin(), list.end()));
    // The fewest: the whole of each aligned block that is covered and whose parent is not.
    std::size_t fewest = 0;
    for (unsigned length = 32 - kBits; length <= 32; ++length) {
      const unsigned size = 1U << (32 - length);
      const auto whole = [&](unsigned start, unsigned count) {
        return std::all_of(covered.begin() + start, covered.begin() + start + count,
                           [](bool one) { return one; });
      };
      for (unsigned start = 0; start < 1U << kBits; start += size) {
        const unsigned parent = start / (2 * size) * (2 * size);
        if (whole(start, size) && (length == 32 - kBits || !whole(parent, 2 * size))) {
          ++fewest;
        }
      }
    }
    RC_ASSERT(list.size() == fewest);
  }));
}

}  // namespace
}  // namespace vethgate::test
