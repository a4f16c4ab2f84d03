// The order of writing, and nothing about how its success is judged.
#include "applier/steps.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "applier/flower.hpp"
#include "applier/iptables.hpp"
#include "applier/netdev.hpp"
#include "base/error.hpp"

namespace vethgate {
namespace {

nlmsghdr headerAt(const Step& step, std::size_t offset) {
  nlmsghdr header{};
  std::memcpy(&header, step.datagram.data() + offset, sizeof header);
  return header;
}

Step sealStep(const Plan& plan) {
  Step step{StepKind::kSeal, Channel::kRoute, {}, {}};
  step.append(newClsact(plan.link.index), Subject::kClsact);
  step.acknowledgeLast();
  step.append(newGuard(plan.link.index), Subject::kGuard);
  step.acknowledgeLast();
  return step;
}

void appendFamily(Step& step, Family family, const std::vector<IptablesRule>& rules) {
  const bool v4 = family == Family::kV4;
  step.append(newFilterTable(family), v4 ? Subject::kTableV4 : Subject::kTableV6);
  step.append(newOutputChain(family), v4 ? Subject::kChainV4 : Subject::kChainV6);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    step.append(appendRule(family, rules[i]), v4 ? Subject::kRuleV4 : Subject::kRuleV6,
                static_cast<std::uint32_t>(i));
  }
}

void appendNetdev(Step& step, const std::vector<NetdevRule>& rules, const std::string& device) {
  step.append(newNetdevTable(), Subject::kTableNetdev);
  step.append(newEgressChain(device), Subject::kChainNetdev);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto index = static_cast<std::uint32_t>(i);
    if (!rules[i].set.empty()) {
      step.append(newSet(rules[i], index + 1), Subject::kSet, index);
      for (const RawMessage& elements : newSetElements(rules[i])) {
        step.append(elements, Subject::kElements, index);
      }
    }
    step.append(appendNetdevRule(rules[i]), Subject::kRuleNetdev, index);
  }
}

Step tablesStep(const Plan& plan) {
  Step step{StepKind::kTables, Channel::kNetfilter, {}, {}};
  step.append(batchBegin(), Subject::kTransaction);
  if (plan.iptables) {
    appendFamily(step, Family::kV4, plan.iptables->v4);
    appendFamily(step, Family::kV6, plan.iptables->v6);
  }
  if (plan.netdev) {
    appendNetdev(step, *plan.netdev, plan.link.name);
  }
  step.acknowledgeLast();
  step.append(batchEnd(), Subject::kTransaction);
  return step;
}

void appendFilterSteps(std::vector<Step>& steps, const Plan& plan) {
  const std::vector<FlowerFilter>& filters = *plan.flower;
  for (std::size_t start = 0; start < filters.size(); start += kFiltersPerStep) {
    Step step{StepKind::kFilters, Channel::kRoute, {}, {}};
    const std::size_t end = std::min(filters.size(), start + kFiltersPerStep);
    for (std::size_t i = start; i < end; ++i) {
      step.append(newFilter(plan.link.index, filters[i]), Subject::kFilter,
                  static_cast<std::uint32_t>(i));
      step.acknowledgeLast();
    }
    steps.push_back(std::move(step));
  }
}

Step unsealStep(const Plan& plan) {
  Step step{StepKind::kUnseal, Channel::kRoute, {}, {}};
  step.append(deleteGuard(plan.link.index), Subject::kGuardRemoval);
  step.acknowledgeLast();
  return step;
}

template <class Rule>
std::string describeRule(const char* noun, const char* list, const std::vector<Rule>& rules,
                         std::size_t index) {
  return std::string(noun) + " " + std::to_string(index + 1) + " of " +
         std::to_string(rules.size()) + " of " + list + " (\"" + rules.at(index).why + "\")";
}

}  // namespace

void Step::append(const RawMessage& message, Subject subject, std::uint32_t index) {
  // The last message's padding is part of the datagram, so that every offset is aligned.
  const std::size_t offset = datagram.size();
  const std::size_t end = offset + NLMSG_ALIGN(message.size());
  if (end > std::numeric_limits<std::uint32_t>::max() / 2) {
    throw Failure(ExitCode::kUntouchable, "the plan is larger than one transaction can be");
  }
  messages.push_back({static_cast<std::uint32_t>(offset), subject, index});
  datagram.insert(datagram.end(), message.begin(), message.end());
  datagram.resize(end);
}

void Step::acknowledgeLast() {
  std::uint8_t* const place = datagram.data() + messages.back().offset;
  nlmsghdr header{};
  std::memcpy(&header, place, sizeof header);
  header.nlmsg_flags |= NLM_F_ACK;
  std::memcpy(place, &header, sizeof header);
}

std::vector<Step> buildSteps(const Plan& plan) {
  std::vector<Step> steps;
  if (plan.flower) {
    steps.push_back(sealStep(plan));
  }
  if (plan.iptables || plan.netdev) {
    steps.push_back(tablesStep(plan));
  }
  if (plan.flower) {
    appendFilterSteps(steps, plan);
    steps.push_back(unsealStep(plan));
  }
  return steps;
}

const char* label(StepKind kind) {
  switch (kind) {
    case StepKind::kSeal:
      return "seal";
    case StepKind::kTables:
      return "tables";
    case StepKind::kFilters:
      return "filters";
    case StepKind::kUnseal:
      return "unseal";
  }
  throw Failure(ExitCode::kDefect, "a step is of no kind");
}

std::string describe(const Plan& plan, const StepMessage& message) {
  switch (message.subject) {
    case Subject::kClsact:
      return "the clsact qdisc";
    case Subject::kGuard:
      return "the drop-all guard";
    case Subject::kTransaction:
      return "the transaction of nf_tables as a whole";
    case Subject::kTableV4:
      return "table ip filter";
    case Subject::kTableV6:
      return "table ip6 filter";
    case Subject::kChainV4:
      return "chain OUTPUT of table ip filter";
    case Subject::kChainV6:
      return "chain OUTPUT of table ip6 filter";
    case Subject::kRuleV4:
      return describeRule("rule", "iptables v4", plan.iptables.value().v4, message.index);
    case Subject::kRuleV6:
      return describeRule("rule", "iptables v6", plan.iptables.value().v6, message.index);
    case Subject::kTableNetdev:
      return "table netdev vethgate";
    case Subject::kChainNetdev:
      return "chain egress of table netdev vethgate";
    case Subject::kSet:
      return "set " + plan.netdev.value().at(message.index).set + " of table netdev vethgate";
    case Subject::kElements:
      return "the elements of set " + plan.netdev.value().at(message.index).set;
    case Subject::kRuleNetdev:
      return describeRule("rule", "netdev", plan.netdev.value(), message.index);
    case Subject::kFilter:
      return describeRule("filter", "flower", plan.flower.value(), message.index) + " at pref " +
             std::to_string(plan.flower->at(message.index).pref);
    case Subject::kGuardRemoval:
      return "the removal of the drop-all guard";
    case Subject::kClsactRemoval:
      return "the removal of the clsact qdisc";
  }
  throw Failure(ExitCode::kDefect, "a message is about nothing");
}

std::size_t expectedAnswers(const Step& step) {
  return static_cast<std::size_t>(
      std::count_if(step.messages.begin(), step.messages.end(), [&](const StepMessage& message) {
        return (headerAt(step, message.offset).nlmsg_flags & NLM_F_ACK) != 0;
      }));
}

std::string dryRunText(const std::vector<Step>& steps) {
  std::string text;
  for (const Step& step : steps) {
    for (const StepMessage& message : step.messages) {
      text += label(step.kind);
      text += ' ';
      text += toHex(ByteView(step.datagram)
                        .subspan(message.offset, headerAt(step, message.offset).nlmsg_len));
      text += '\n';
    }
  }
  return text;
}

}  // namespace vethgate
