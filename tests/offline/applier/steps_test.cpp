// The sequence as a whole, for any plan: order, counts, alignment, and which messages are answered.
#include "applier/steps.hpp"

#include <gtest/gtest.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "tests/offline/applier/plans.hpp"

namespace vethgate {
namespace {

Prefix anyPrefix(Family family) {
  std::array<std::uint8_t, 16> bytes{};
  const unsigned bits = family == Family::kV4 ? 32 : 128;
  const auto length = *rc::gen::inRange(1U, bits + 1);
  for (unsigned bit = 0; bit < length; ++bit) {
    if (*rc::gen::arbitrary<bool>()) {
      bytes.at(bit / 8) = static_cast<std::uint8_t>(bytes.at(bit / 8) | 0x80U >> bit % 8);
    }
  }
  return {Address(family, bytes), length};
}

PortRange anyPorts() {
  const auto first = *rc::gen::inRange(1, 65536);
  const auto last = *rc::gen::inRange(first, 65536);
  return {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(last)};
}

IptablesRule anyRule(Family family) {
  IptablesRule rule;
  if (*rc::gen::arbitrary<bool>()) {
    rule.to = anyPrefix(family);
  }
  rule.target = *rc::gen::element(Target::kAccept, Target::kDrop, Target::kLog);
  if (rule.target == Target::kLog) {
    rule.limit = RateLimit{*rc::gen::inRange<std::uint64_t>(1, 1000), 60, 5};
    rule.logPrefix = std::string(*rc::gen::inRange<std::size_t>(1, 30), 'x');
  }
  if (*rc::gen::arbitrary<bool>()) {
    rule.protocol = *rc::gen::element(kProtocolTcp, kProtocolUdp);
  }
  if (rule.protocol && *rc::gen::arbitrary<bool>()) {
    rule.ports = anyPorts();
  }
  if (rule.protocol == kProtocolTcp) {
    rule.syn = *rc::gen::arbitrary<bool>();
  }
  return rule;
}

FlowerFilter anyFilter(std::uint16_t pref) {
  FlowerFilter filter;
  filter.pref = pref;
  filter.handle = *rc::gen::inRange(1U, 0x7fffffffU);
  filter.protocol =
      *rc::gen::element(EtherType::kAll, EtherType::kIpv4, EtherType::kArp, EtherType::kIpv6);
  filter.action = *rc::gen::element(FilterAction::kPass, FilterAction::kDrop);
  const bool v4 = filter.protocol == EtherType::kIpv4;
  if (v4 || filter.protocol == EtherType::kIpv6) {
    if (*rc::gen::arbitrary<bool>()) {
      filter.to = anyPrefix(v4 ? Family::kV4 : Family::kV6);
    }
    if (*rc::gen::arbitrary<bool>()) {
      filter.ipProtocol = kProtocolTcp;
    }
    if (filter.ipProtocol && *rc::gen::arbitrary<bool>()) {
      filter.ports = anyPorts();
    }
  }
  return filter;
}

Plan anyPlan() {
  Plan plan;
  plan.link = test::someLink();
  if (*rc::gen::arbitrary<bool>()) {
    plan.iptables.emplace();
    for (auto n = *rc::gen::inRange(0, 20); n > 0; --n) {
      plan.iptables->v4.push_back(anyRule(Family::kV4));
    }
    for (auto n = *rc::gen::inRange(0, 20); n > 0; --n) {
      plan.iptables->v6.push_back(anyRule(Family::kV6));
    }
  }
  if (!plan.iptables || *rc::gen::arbitrary<bool>()) {
    plan.flower.emplace();
    for (auto n = *rc::gen::inRange(0, 20); n > 0; --n) {
      plan.flower->push_back(anyFilter(static_cast<std::uint16_t>(kFirstPref + n)));
    }
  }
  return plan;
}

nlmsghdr headerAt(const Bytes& datagram, std::size_t offset) {
  nlmsghdr header{};
  std::memcpy(&header, datagram.data() + offset, sizeof header);
  return header;
}

std::size_t countOf(const std::vector<Step>& steps, Subject subject) {
  std::size_t count = 0;
  for (const Step& step : steps) {
    count +=
        static_cast<std::size_t>(std::ranges::count(step.messages, subject, &StepMessage::subject));
  }
  return count;
}

TEST(Steps, FollowEachOtherSoThatTheVethIsShutUntilTheLast) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = anyPlan();
    std::string order;
    for (const Step& step : buildSteps(plan)) {
      if (!order.ends_with(label(step.kind))) {
        order += std::string(" ") + label(step.kind);
      }
    }
    std::string expected;
    if (plan.flower) {
      expected += " seal";
    }
    if (plan.iptables) {
      expected += " tables";
    }
    if (plan.flower && !plan.flower->empty()) {
      expected += " filters";
    }
    if (plan.flower) {
      expected += " unseal";
    }
    RC_ASSERT(order == expected);
  }));
}

TEST(Steps, HoldOneMessageForEachRuleInThePlansOrder) {
  EXPECT_TRUE(rc::check([] {
    const Plan plan = anyPlan();
    const std::vector<Step> steps = buildSteps(plan);
    RC_ASSERT(countOf(steps, Subject::kRuleV4) == (plan.iptables ? plan.iptables->v4.size() : 0));
    RC_ASSERT(countOf(steps, Subject::kRuleV6) == (plan.iptables ? plan.iptables->v6.size() : 0));
    RC_ASSERT(countOf(steps, Subject::kFilter) == (plan.flower ? plan.flower->size() : 0));
    std::vector<std::uint32_t> next(static_cast<std::size_t>(Subject::kClsactRemoval) + 1);
    for (const Step& step : steps) {
      for (const StepMessage& message : step.messages) {
        const auto subject = static_cast<std::size_t>(message.subject);
        if (message.subject == Subject::kTransaction) {
          continue;
        }
        RC_ASSERT(message.index == next.at(subject)++);
      }
    }
  }));
}

TEST(Steps, AreFilledExactlyByTheirMessages) {
  EXPECT_TRUE(rc::check([] {
    for (const Step& step : buildSteps(anyPlan())) {
      std::size_t offset = 0;
      for (const StepMessage& message : step.messages) {
        RC_ASSERT(message.offset == offset);
        const nlmsghdr header = headerAt(step.datagram, offset);
        RC_ASSERT((header.nlmsg_flags & NLM_F_REQUEST) != 0);
        offset += NLMSG_ALIGN(header.nlmsg_len);
      }
      RC_ASSERT(offset == step.datagram.size());
      RC_ASSERT(offset % NLMSG_ALIGNTO == 0);
    }
  }));
}

TEST(Steps, AskForEveryAnswerOfRtnetlinkAndForTheLastOfATransaction) {
  EXPECT_TRUE(rc::check([] {
    for (const Step& step : buildSteps(anyPlan())) {
      if (step.channel == Channel::kRoute) {
        RC_ASSERT(expectedAnswers(step) == step.messages.size());
        continue;
      }
      RC_ASSERT(expectedAnswers(step) == 1U);
      RC_ASSERT(headerAt(step.datagram, step.messages.front().offset).nlmsg_type ==
                NFNL_MSG_BATCH_BEGIN);
      RC_ASSERT(headerAt(step.datagram, step.messages.back().offset).nlmsg_type ==
                NFNL_MSG_BATCH_END);
      const StepMessage& last = *(step.messages.end() - 2);
      RC_ASSERT((headerAt(step.datagram, last.offset).nlmsg_flags & NLM_F_ACK) != 0);
    }
  }));
}

TEST(Steps, SplitFiltersSoThatTheirAnswersFit) {
  Plan plan = test::somePlan();
  plan.flower->clear();
  constexpr std::size_t kFilters = 2 * kFiltersPerStep + 1;
  for (std::size_t i = 0; i < kFilters; ++i) {
    FlowerFilter filter = test::filter(kFirstPref, EtherType::kIpv4, FilterAction::kDrop);
    filter.handle = static_cast<std::uint32_t>(i + 1);
    plan.flower->push_back(filter);
  }
  std::vector<std::size_t> sizes;
  for (const Step& step : buildSteps(plan)) {
    if (step.kind == StepKind::kFilters) {
      sizes.push_back(step.messages.size());
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{kFiltersPerStep, kFiltersPerStep, 1}));
}

TEST(DryRun, PrintsEachMessageWithItsStep) {
  const std::string text = dryRunText(buildSteps(test::somePlan()));
  std::vector<std::string> labels;
  std::size_t start = 0;
  for (std::size_t end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string line = text.substr(start, end - start);
    const std::size_t space = line.find(' ');
    ASSERT_NE(space, std::string::npos);
    const auto bytes = fromHex(line.substr(space + 1));
    ASSERT_TRUE(bytes.has_value()) << line;
    EXPECT_EQ(headerAt(*bytes, 0).nlmsg_len, bytes->size());
    labels.push_back(line.substr(0, space));
  }
  EXPECT_EQ(start, text.size());
  std::vector<std::string> expected{"seal", "seal"};
  expected.insert(expected.end(), 11,
                  "tables");  // begin, two tables, two chains, 3 + 2 rules, end
  expected.insert(expected.end(), 4, "filters");
  expected.emplace_back("unseal");
  EXPECT_EQ(labels, expected);
}

TEST(Describe, NamesTheRuleItsPlaceAndItsReason) {
  const Plan plan = test::somePlan();
  EXPECT_EQ(describe(plan, {0, Subject::kRuleV4, 1}),
            "rule 2 of 3 of iptables v4 (\"10.0.0.0/8\")");
  EXPECT_EQ(describe(plan, {0, Subject::kRuleV6, 0}), "rule 1 of 2 of iptables v6 (\"default\")");
  EXPECT_EQ(describe(plan, {0, Subject::kFilter, 3}),
            "filter 4 of 4 of flower (\"tail\") at pref 104");
}

}  // namespace
}  // namespace vethgate
