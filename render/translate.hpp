// The three translations of the one list. They must not know the policy that it came from.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "render/plan.hpp"
#include "render/rules.hpp"

namespace vethgate {

// Rule by rule, in order. `log` is the rate of every LOG; a LOG without one is kDefect.
[[nodiscard]] Plan::Iptables iptablesRules(const std::vector<Rule>& rules,
                                           const std::optional<RateLimit>& log);

// All IPv4 filters, all IPv6 filters, then the tail: ARP passes, IPv4 and IPv6 are dropped, and so
// is every other ethertype. LOG has no equivalent in tc and is left out; a final DROP
// of everything is the tail's, and not written twice.
// - A drop carries its destination alone: flower matches no port of a fragment, so a denial by port
//   would be none. A pass keeps all that narrows it, and so fails closed for fragments.
// - Each pass has a pref of its own. A run of drops of one family has one pref and the handles 1..n
// in
//   list order: among drops order has no meaning, and filters of one mask share one hash lookup, so
//   that a packet's cost grows with the number of prefix lengths.
// - prefs count up from kFirstPref. Throws Failure(kBadInput) when there are not enough, or for a
// rule
//   that flower cannot express.
[[nodiscard]] std::vector<FlowerFilter> flowerFilters(const std::vector<Rule>& rules);

// All IPv4 rules, all IPv6 rules, then ARP for each of the link's own IPv4 addresses, then the drop
// of everything else, which the chain's policy would drop as well but not count. LOG is left out,
// and so is a final DROP, as in flower; loopback is dropped. A run of drops of one family is one
// rule with one set, so that a packet's cost grows with the logarithm of the number of prefixes.
[[nodiscard]] std::vector<NetdevRule> netdevRules(const std::vector<Rule>& rules, const Link& link);

// The one rule that a layer's own end stands for.
[[nodiscard]] inline bool isFinalDrop(const Rule& rule) {
  return rule.role == Role::kDefault && rule.action == Action::kDrop;
}

}  // namespace vethgate
