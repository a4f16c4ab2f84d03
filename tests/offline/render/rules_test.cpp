// The one ordered list, and the exceptions that it would make inert.
#include "render/rules.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "render/known_prefixes.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

const Json kEverything = {
    {"default", {{{"protocol", "tcp"}, {"ports", "443"}}}},
    {"deny", {"203.0.113.0/24", "2001:db8:9::/48"}},
    {"allow",
     {{{"to", "203.0.113.9"}, {"protocol", "tcp"}, {"ports", "22"}, {"why", "second"}},
      {{"to", "2001:db8:9::9"}, {"protocol", "udp"}, {"ports", "22"}},
      {{"to", "203.0.113.8"}, {"protocol", "udp"}, {"ports", "1-9"}, {"why", "first"}}}},
    {"resolvers", {"2001:db8::53", "192.0.2.53"}},
    {"log", {{"rate", "6/minute"}, {"burst", 12}}}};

std::string nameOf(const Rule& rule) {
  static constexpr std::array kActions{"LOG", "DROP", "ACCEPT"};
  std::string text = kActions.at(static_cast<std::size_t>(rule.action));
  text += rule.to ? " " + rule.to->shortText() : "";
  text += rule.protocol ? " p" + std::to_string(*rule.protocol) : "";
  text += rule.syn ? " syn" : "";
  text += rule.ports ? " :" + rule.ports->text() : "";
  text += rule.icmpType ? " type" + std::to_string(*rule.icmpType) : "";
  text += rule.hopLimit ? " hl" + std::to_string(*rule.hopLimit) : "";
  return text;
}

std::vector<std::string> namesOf(const Json& members, Family family) {
  std::vector<std::string> names;
  for (const Rule& rule : orderedRules(policyWith(members))) {
    if (rule.family == family) {
      names.push_back(nameOf(rule));
    }
  }
  return names;
}

TEST(OrderedRules, standInTheContractsOrderForIpv4) {
  EXPECT_EQ(namesOf(kEverything, Family::kV4),
            (std::vector<std::string>{"LOG p6 syn",
                                      "LOG p17 :53",
                                      "LOG 169.254.169.254",
                                      "LOG 168.63.129.16",
                                      "LOG 100.100.100.200",
                                      "LOG 192.0.0.192",
                                      "DROP 169.254.169.254",
                                      "DROP 168.63.129.16",
                                      "DROP 100.100.100.200",
                                      "DROP 192.0.0.192",
                                      "ACCEPT 203.0.113.9 p6 :22",
                                      "ACCEPT 203.0.113.8 p17 :1-9",
                                      "ACCEPT 192.0.2.53 p17 :53",
                                      "ACCEPT 192.0.2.53 p6 :53",
                                      "ACCEPT 127.0.0.0/8",
                                      "LOG 203.0.113.0/24",
                                      "DROP 203.0.113.0/24",
                                      "ACCEPT p6 :443",
                                      "LOG",
                                      "DROP"}));
}

TEST(OrderedRules, standInTheContractsOrderForIpv6) {
  EXPECT_EQ(namesOf(kEverything, Family::kV6),
            (std::vector<std::string>{
                "LOG p6 syn", "LOG p17 :53", "LOG fd00:ec2::254", "DROP fd00:ec2::254",
                "ACCEPT 2001:db8:9::9 p17 :22", "ACCEPT 2001:db8::53 p17 :53",
                "ACCEPT 2001:db8::53 p6 :53", "ACCEPT ff02::1:ff00:0/104 p58 type135 hl255",
                "ACCEPT p58 type136 hl255", "ACCEPT ::1", "LOG 2001:db8:9::/48",
                "DROP 2001:db8:9::/48", "ACCEPT p6 :443", "LOG", "DROP"}));
}

TEST(OrderedRules, keepMetadataAndNeighbourDiscoveryWhenNothingIsAsked) {
  const Json nothing = {{"deny", Json::array()}};
  EXPECT_EQ(
      namesOf(nothing, Family::kV4),
      (std::vector<std::string>{"DROP 169.254.169.254", "DROP 168.63.129.16",
                                "DROP 100.100.100.200", "DROP 192.0.0.192", "ACCEPT 127.0.0.0/8",
                                "ACCEPT p6", "ACCEPT p17", "ACCEPT p1", "DROP"}));
  EXPECT_EQ(
      namesOf(nothing, Family::kV6),
      (std::vector<std::string>{"DROP fd00:ec2::254", "ACCEPT ff02::1:ff00:0/104 p58 type135 hl255",
                                "ACCEPT p58 type136 hl255", "ACCEPT ::1", "ACCEPT p6", "ACCEPT p17",
                                "ACCEPT p58", "DROP"}));
}

TEST(OrderedRules, nameTheProtocolsThatPassByDefault) {
  const Json named = {{"deny", {"203.0.113.0/24"}}, {"protocols", {47U, 132U}}};
  const std::vector<std::string> v4 = namesOf(named, Family::kV4);
  EXPECT_EQ(std::vector<std::string>(v4.end() - 7, v4.end()),
            (std::vector<std::string>{"DROP 203.0.113.0/24", "ACCEPT p6", "ACCEPT p17", "ACCEPT p1",
                                      "ACCEPT p47", "ACCEPT p132", "DROP"}));
  const std::vector<std::string> v6 = namesOf(named, Family::kV6);
  EXPECT_EQ(std::vector<std::string>(v6.end() - 6, v6.end()),
            (std::vector<std::string>{"ACCEPT p6", "ACCEPT p17", "ACCEPT p58", "ACCEPT p47",
                                      "ACCEPT p132", "DROP"}));
}

TEST(OrderedRules, carryLogPrefixesThatIptablesTakes) {
  std::vector<std::string> prefixes;
  for (const Rule& rule : orderedRules(policyWith(kEverything))) {
    EXPECT_EQ(rule.logPrefix.empty(), rule.action != Action::kLog) << nameOf(rule);
    EXPECT_LE(rule.logPrefix.size(), kMaxLogPrefix);
    EXPECT_EQ(rule.logPrefix.find(' '), std::string_view::npos);
    if (rule.family == Family::kV4 && !rule.logPrefix.empty()) {
      prefixes.emplace_back(rule.logPrefix);
    }
  }
  prefixes.erase(std::unique(prefixes.begin(), prefixes.end()), prefixes.end());
  EXPECT_EQ(prefixes,
            (std::vector<std::string>{"vethgate-conn:", "vethgate-dns:", "vethgate-metadata:",
                                      "vethgate-deny:", "vethgate-default:"}));
}

TEST(OrderedRules, eachGiveAReason) {
  const std::vector<Rule> rules = orderedRules(policyWith(kEverything));
  EXPECT_TRUE(
      std::none_of(rules.begin(), rules.end(), [](const Rule& r) { return r.why.empty(); }));
  EXPECT_TRUE(
      std::any_of(rules.begin(), rules.end(), [](const Rule& r) { return r.why == "second"; }));
}

TEST(OrderedRules, nameEachMetadataHostOfTheContract) {
  std::vector<std::string> hosts;
  for (const Prefix& host : metadataHosts()) {
    hosts.push_back(host.shortText());
  }
  EXPECT_THAT(hosts,
              testing::UnorderedElementsAre("169.254.169.254", "fd00:ec2::254", "168.63.129.16",
                                            "100.100.100.200", "192.0.0.192"));
}

TEST(ShadowedExceptions, areRefusedNamingBoth) {
  const Json list = {{{"protocol", "tcp"}, {"ports", "443"}}};
  const auto render = [](const Json& members) {
    return outcomeOf([&] { static_cast<void>(renderPlan(policyWith(members), goldenLink())); });
  };
  EXPECT_EQ(render({{"default", list}}).code, ExitCode::kDone);
  const Outcome outcome = render({{"default", list}, {"deny", {"0.0.0.0/0"}}});
  expectRefusal(outcome, ExitCode::kBadInput, "any destination (default)");
  // What passes because nothing was said is no exception that somebody believes in.
  EXPECT_EQ(render({{"deny", {"0.0.0.0/0", "::/0"}}}).code, ExitCode::kDone);
  expectRefusal(render({{"protocols", {47U}}, {"deny", {"0.0.0.0/0"}}}), ExitCode::kBadInput,
                "any destination (protocols)");
  expectRefusal(outcome, ExitCode::kBadInput, "0.0.0.0/0");
}

TEST(ShadowedExceptions, areFoundByDestinationFamilyAndOrder) {
  const auto rule = [](Action action, const char* to) {
    const Prefix prefix = Prefix::parse(to, "test");
    return Rule{.family = prefix.family(),
                .role = Role::kAllow,
                .action = action,
                .to = prefix,
                .why = "test"};
  };
  const auto check = [&](const std::vector<Rule>& rules) {
    return outcomeOf([&] { refuseShadowedExceptions(rules); }).code;
  };
  const Rule drop = rule(Action::kDrop, "10.0.0.0/8");
  EXPECT_EQ(check({drop, rule(Action::kAccept, "10.1.0.0/16")}), ExitCode::kBadInput);
  EXPECT_EQ(check({drop, rule(Action::kAccept, "10.0.0.0/8")}), ExitCode::kBadInput);
  EXPECT_EQ(check({rule(Action::kAccept, "10.1.0.0/16"), drop}), ExitCode::kDone);
  EXPECT_EQ(check({drop, rule(Action::kAccept, "11.0.0.0/8")}), ExitCode::kDone);
  EXPECT_EQ(check({drop, rule(Action::kLog, "10.1.0.0/16")}), ExitCode::kDone);
  EXPECT_EQ(check({rule(Action::kDrop, "::/8"), rule(Action::kAccept, "10.1.0.0/16")}),
            ExitCode::kDone);
}

}  // namespace
}  // namespace vethgate::test
