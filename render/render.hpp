// Policy to plan, and the plan's text forms.
#pragma once

#include <string>

#include "render/plan.hpp"
#include "render/policy.hpp"

namespace vethgate {

// Throws Failure(kBadInput) for a policy that a layer cannot express (a shadowed exception, more
// exceptions than tc has prefs) and Failure(kEmptyPlan) when nothing would be written.
[[nodiscard]] Plan renderPlan(const Policy& policy, const Link& link);

// What iptables-restore and ip6tables-restore accept, one text for both: every rule starts with -4
// or -6, and each of the two passes over the other's (iptables(8)). OUTPUT's policy stays ACCEPT.
// Failure(kBadInput) when the plan leaves that layer out, here and below.
[[nodiscard]] std::string iptablesSaveText(const Plan& plan);
// What `tc -batch` of iproute2 accepts; the qdisc first.
[[nodiscard]] std::string tcBatchText(const Plan& plan);
// What `nft -f` accepts: table, sets and chain of the netdev layer.
[[nodiscard]] std::string nftText(const Plan& plan);
// For people: every rule of every layer in order, with its reason.
[[nodiscard]] std::string tableText(const Plan& plan);

}  // namespace vethgate
