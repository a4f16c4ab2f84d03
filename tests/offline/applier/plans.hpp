// Plans for the applier's tests, made by hand: no renderer helps to test what writes its plans.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "render/plan.hpp"

namespace vethgate::test {

struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string message;
};

// The exit code and sentence of what `body` throws; ExitCode::kDone when it throws nothing.
template <class Body>
[[nodiscard]] Outcome outcomeOf(Body&& body) {
  try {
    std::forward<Body>(body)();
    return {};
  } catch (const Failure& failure) {
    return {failure.code(), failure.what()};
  }
}

inline IptablesRule rule(Target target, const char* to = nullptr) {
  IptablesRule rule;
  rule.target = target;
  if (to != nullptr) {
    rule.to = Prefix::parse(to, "test");
  }
  rule.why = to != nullptr ? to : "default";
  return rule;
}

inline IptablesRule withPorts(IptablesRule rule, std::uint8_t protocol, std::uint16_t first,
                              std::uint16_t last) {
  rule.protocol = protocol;
  rule.ports = PortRange(first, last);
  return rule;
}

inline IptablesRule withLog(IptablesRule rule, RateLimit limit, const char* prefix) {
  rule.target = Target::kLog;
  rule.limit = limit;
  rule.logPrefix = prefix;
  return rule;
}

inline IptablesRule withSyn(IptablesRule rule) {
  rule.protocol = kProtocolTcp;
  rule.syn = true;
  return rule;
}

inline IptablesRule withNeighbour(IptablesRule rule, std::uint8_t type) {
  rule.protocol = kProtocolIcmpV6;
  rule.icmpType = type;
  rule.hopLimit = 255;
  return rule;
}

inline FlowerFilter filter(std::uint16_t pref, EtherType protocol, FilterAction action,
                           const char* to = nullptr) {
  FlowerFilter filter;
  filter.pref = pref;
  filter.handle = 1;
  filter.protocol = protocol;
  filter.action = action;
  if (to != nullptr) {
    filter.to = Prefix::parse(to, "test");
  }
  filter.why = to != nullptr ? to : "tail";
  return filter;
}

inline Link someLink() {
  return {.index = 3,
          .name = "eth0",
          .mac = {2, 0x42, 0xac, 0x11, 0, 2},
          .peer = 4,
          .netns = 4026532290};
}

// Both layers; every mechanism that a plan can need is needed.
inline Plan somePlan() {
  Plan plan;
  plan.policyDigest = std::string(64, 'a');
  plan.link = someLink();
  plan.iptables.emplace();
  plan.iptables->v4 = {withLog(rule(Target::kLog, "10.0.0.0/8"), {6, 60, 12}, "vg:"),
                       rule(Target::kDrop, "10.0.0.0/8"), rule(Target::kDrop, "172.16.0.0/12")};
  plan.iptables->v6 = {withNeighbour(rule(Target::kAccept), 136), rule(Target::kDrop, "fc00::/7")};
  plan.flower = {{filter(101, EtherType::kIpv4, FilterAction::kDrop, "10.0.0.0/8"),
                  filter(102, EtherType::kIpv6, FilterAction::kDrop, "fc00::/7"),
                  filter(103, EtherType::kArp, FilterAction::kPass),
                  filter(104, EtherType::kAll, FilterAction::kDrop)}};
  return plan;
}

}  // namespace vethgate::test
