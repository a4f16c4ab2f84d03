// The two translations of the list, and what each refuses.
#include "render/translate.hpp"

#include <algorithm>

#include "render/rate_limit.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

std::vector<FlowerFilter> filtersOf(const Json& members) {
  return renderPlan(policyWith(members), goldenLink()).flower.value();
}

const Json kProxy = {{"to", "172.31.0.1"}, {"protocol", "tcp"}, {"ports", "49200-49299"}};

TEST(FlowerTranslation, givesARunOfDropsOnePrefAndAPassItsOwn) {
  const std::vector<FlowerFilter> filters =
      filtersOf({{"allow", {kProxy}}, {"deny", {"10.0.0.0/8", "11.0.0.0/8"}}});
  std::vector<std::pair<unsigned, unsigned>> places;
  for (const FlowerFilter& filter : filters) {
    places.emplace_back(filter.pref, filter.handle);
  }
  EXPECT_EQ(places, (std::vector<std::pair<unsigned, unsigned>>{
                        {101, 1}, {101, 2}, {101, 3}, {101, 4},  // metadata
                        {102, 1},                                // the exception
                        {103, 1}, {103, 2}, {103, 3},            // loopback, denied
                        {104, 1}, {105, 1}, {106, 1},            // tcp, udp, icmp
                        {107, 1},                                // IPv6: metadata
                        {108, 1}, {109, 1},                      // neighbour discovery
                        {110, 1},                                // loopback
                        {111, 1}, {112, 1}, {113, 1},            // tcp, udp, icmpv6
                        {114, 1}, {115, 1}, {116, 1}, {117, 1}}));
}

TEST(FlowerTranslation, endsInTheTail) {
  const auto tail = [](const Json& members) {
    std::vector<FlowerFilter> filters = filtersOf(members);
    filters.erase(filters.begin(), filters.end() - 4);
    std::vector<std::pair<EtherType, FilterAction>> result;
    for (const FlowerFilter& filter : filters) {
      EXPECT_FALSE(filter.to || filter.ipProtocol || filter.ports);
      EXPECT_EQ(filter.handle, 1U);
      result.emplace_back(filter.protocol, filter.action);
    }
    return result;
  };
  const std::vector<std::pair<EtherType, FilterAction>> expected{
      {EtherType::kArp, FilterAction::kPass},
      {EtherType::kIpv4, FilterAction::kDrop},
      {EtherType::kIpv6, FilterAction::kDrop},
      {EtherType::kAll, FilterAction::kDrop}};
  EXPECT_EQ(tail(Json::object()), expected);
  EXPECT_EQ(tail({{"default", "drop"}}), expected);
  EXPECT_EQ(tail({{"default", {{{"protocol", "tcp"}, {"ports", "443"}}}}}), expected);
}

TEST(FlowerTranslation, doesNotWriteTheFinalDropTwice) {
  const auto bareDrops = [](const Json& members) {
    const std::vector<FlowerFilter> filters = filtersOf(members);
    return std::count_if(filters.begin(), filters.end(), [](const FlowerFilter& filter) {
      return filter.action == FilterAction::kDrop && !filter.to &&
             filter.protocol != EtherType::kAll;
    });
  };
  EXPECT_EQ(bareDrops({{"default", "drop"}}), 2);
  EXPECT_EQ(bareDrops({{"default", "pass"}}), 2);
  // What the policy denies itself is not the default's.
  EXPECT_EQ(bareDrops({{"default", "drop"}, {"deny", {"0.0.0.0/0"}}}), 3);
}

TEST(FlowerTranslation, dropsLoopbackWhereIptablesAcceptsIt) {
  const Plan plan = goldenPlan("minimal");
  const Prefix loopback = Prefix::parse("127.0.0.0/8", "test");
  const auto rule = std::find_if(plan.iptables->v4.begin(), plan.iptables->v4.end(),
                                 [&](const IptablesRule& r) { return r.to == loopback; });
  const auto filter = std::find_if(plan.flower->begin(), plan.flower->end(),
                                   [&](const FlowerFilter& f) { return f.to == loopback; });
  ASSERT_NE(rule, plan.iptables->v4.end());
  ASSERT_NE(filter, plan.flower->end());
  EXPECT_EQ(rule->target, Target::kAccept);
  EXPECT_EQ(filter->action, FilterAction::kDrop);
}

Rule pass() {
  return {.family = Family::kV4,
          .role = Role::kAllow,
          .action = Action::kAccept,
          .protocol = kProtocolTcp,
          .ports = PortRange(443, 443),
          .why = "test"};
}

TEST(FlowerTranslation, leavesOutWhatNarrowsADrop) {
  Rule rule = pass();
  rule.action = Action::kDrop;
  rule.to = Prefix::parse("10.0.0.0/8", "test");
  const FlowerFilter filter = flowerFilters({rule}).front();
  EXPECT_EQ(filter.to, rule.to);
  EXPECT_FALSE(filter.ipProtocol);
  EXPECT_FALSE(filter.ports);
}

TEST(FlowerTranslation, refusesWhatItCannotExpress) {
  Rule rule = pass();
  EXPECT_EQ(flowerFilters({rule}).front().ports, PortRange(443, 443));
  rule.syn = true;
  expectRefusal(outcomeOf([&] { static_cast<void>(flowerFilters({rule})); }), ExitCode::kBadInput,
                "TCP flags");
}

TEST(FlowerTranslation, refusesMoreExceptionsThanPrefs) {
  constexpr std::size_t kRoom = kLastPref - kFirstPref + 1 - 4;  // less the tail
  std::vector<Rule> rules(kRoom, pass());
  EXPECT_EQ(flowerFilters(rules).back().pref, kLastPref);
  rules.push_back(pass());
  expectRefusal(outcomeOf([&] { static_cast<void>(flowerFilters(rules)); }), ExitCode::kBadInput,
                "65435 prefs");
}

TEST(IptablesTranslation, keepsEveryRuleInItsFamily) {
  const Plan plan = goldenPlan("default-list-log");
  const std::string text = readText(goldenFolder() / "default-list-log/policy.json");
  const std::vector<Rule> rules = orderedRules(readPolicy(std::string_view(text)));
  EXPECT_EQ(plan.iptables->v4.size() + plan.iptables->v6.size(), rules.size());
  for (const IptablesRule& rule : plan.iptables->v4) {
    EXPECT_TRUE(!rule.to || rule.to->family() == Family::kV4);
    EXPECT_EQ(rule.limit.has_value(), rule.target == Target::kLog);
  }
}

TEST(IptablesTranslation, writesAPrefixOfEverythingAsNone) {
  Rule rule = pass();
  rule.to = Prefix::parse("0.0.0.0/0", "test");
  EXPECT_FALSE(iptablesRules({rule}, std::nullopt).v4.front().to);
  EXPECT_FALSE(flowerFilters({rule}).front().to);
}

TEST(IptablesTranslation, doesNotInventARate) {
  Rule rule = pass();
  rule.action = Action::kLog;
  rule.logPrefix = "vethgate-conn:";
  EXPECT_EQ(iptablesRules({rule}, carriedLimit(6, 60, 12)).v4.size(), 1U);
  EXPECT_EQ(outcomeOf([&] { static_cast<void>(iptablesRules({rule}, std::nullopt)); }).code,
            ExitCode::kDefect);
}

TEST(RenderedPlan, isRefusedWhenItIsEmpty) {
  Policy policy = policyWith(Json::object());
  EXPECT_GT(renderPlan(policy, goldenLink()).ruleCount(), 0U);
  policy.iptables = policy.flower = policy.netdev = false;
  expectRefusal(outcomeOf([&] { static_cast<void>(renderPlan(policy, goldenLink())); }),
                ExitCode::kEmptyPlan, "without a rule");
}

TEST(TextForms, areRefusedForALayerThatIsLeftOut) {
  const Plan flower = goldenPlan("layers-flower");
  const Plan iptables = goldenPlan("layers-iptables");
  EXPECT_FALSE(tcBatchText(flower).empty());
  EXPECT_FALSE(iptablesSaveText(iptables).empty());
  expectRefusal(outcomeOf([&] { static_cast<void>(iptablesSaveText(flower)); }),
                ExitCode::kBadInput, "leave iptables out");
  expectRefusal(outcomeOf([&] { static_cast<void>(tcBatchText(iptables)); }), ExitCode::kBadInput,
                "leave flower out");
}

}  // namespace
}  // namespace vethgate::test
