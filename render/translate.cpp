// The one list to iptables rules and to flower filters. It must not know the policy.
#include "render/translate.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

// A prefix that matches everything is no match at all: neither kernel interface keeps it.
std::optional<Prefix> destination(const Rule& rule) {
  return rule.to && rule.to->length() == 0 ? std::nullopt : rule.to;
}

Target targetOf(Action action) {
  switch (action) {
    case Action::kLog:
      return Target::kLog;
    case Action::kDrop:
      return Target::kDrop;
    case Action::kAccept:
      return Target::kAccept;
  }
  throw Failure(ExitCode::kDefect, "a rule has no action");
}

IptablesRule toIptables(const Rule& rule, const std::optional<RateLimit>& log) {
  IptablesRule result;
  result.to = destination(rule);
  result.protocol = rule.protocol;
  result.syn = rule.syn;
  result.ports = rule.ports;
  result.icmpType = rule.icmpType;
  result.hopLimit = rule.hopLimit;
  result.target = targetOf(rule.action);
  if (rule.action == Action::kLog) {
    if (!log) {
      throw Failure(ExitCode::kDefect, "a LOG rule was rendered without a rate");
    }
    result.limit = log;
    result.logPrefix = rule.logPrefix;
  }
  result.why = rule.why;
  return result;
}

class FlowerList {
 public:
  void add(const Rule& rule) {
    FlowerFilter filter;
    filter.protocol = rule.family == Family::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
    filter.to = destination(rule);
    filter.why = rule.why;
    if (rule.role == Role::kLoopback) {
      filter.why = "loopback has no business on a link";
    } else if (rule.action == Action::kAccept) {
      pass(filter, rule);
      return;
    }
    if (drops_ != filter.protocol) {
      open();
      drops_ = filter.protocol;
    }
    filter.action = FilterAction::kDrop;
    append(std::move(filter));
  }

  void tail(EtherType protocol, FilterAction action, const char* why) {
    drops_.reset();
    open();
    FlowerFilter filter;
    filter.protocol = protocol;
    filter.action = action;
    filter.why = why;
    append(std::move(filter));
  }

  [[nodiscard]] std::vector<FlowerFilter> take() { return std::move(filters_); }

 private:
  void pass(FlowerFilter filter, const Rule& rule) {
    if (rule.syn) {
      badInput("the rule \"" + rule.why + "\" passes by TCP flags, which flower is not asked for");
    }
    drops_.reset();
    open();
    filter.action = FilterAction::kPass;
    filter.ipProtocol = rule.protocol;
    filter.ports = rule.ports;
    filter.icmpType = rule.icmpType;
    filter.hopLimit = rule.hopLimit;
    append(std::move(filter));
  }

  void open() {
    if (next_ > kLastPref) {
      badInput("the policy's exceptions need more than the " +
               std::to_string(kLastPref - kFirstPref + 1) + " prefs that tc has");
    }
    pref_ = static_cast<std::uint16_t>(next_++);
    handle_ = 0;
  }

  void append(FlowerFilter filter) {
    filter.pref = pref_;
    filter.handle = ++handle_;
    filters_.push_back(std::move(filter));
  }

  std::vector<FlowerFilter> filters_;
  std::uint32_t next_ = kFirstPref;
  std::uint16_t pref_ = 0;
  std::uint32_t handle_ = 0;
  std::optional<EtherType> drops_;  // the run of drops that is open, by its protocol
};

}  // namespace

Plan::Iptables iptablesRules(const std::vector<Rule>& rules, const std::optional<RateLimit>& log) {
  Plan::Iptables iptables;
  for (const Rule& rule : rules) {
    auto& family = rule.family == Family::kV4 ? iptables.v4 : iptables.v6;
    family.push_back(toIptables(rule, log));
  }
  return iptables;
}

std::vector<FlowerFilter> flowerFilters(const std::vector<Rule>& rules) {
  FlowerList list;
  for (const Family family : {Family::kV4, Family::kV6}) {
    for (const Rule& rule : rules) {
      if (rule.family == family && rule.action != Action::kLog && !isFinalDrop(rule)) {
        list.add(rule);
      }
    }
  }
  list.tail(EtherType::kArp, FilterAction::kPass, "address resolution on the link");
  list.tail(EtherType::kIpv4, FilterAction::kDrop, "default");
  list.tail(EtherType::kIpv6, FilterAction::kDrop, "default");
  list.tail(EtherType::kAll, FilterAction::kDrop, "every other ethertype");
  return list.take();
}

}  // namespace vethgate
