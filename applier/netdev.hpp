// Bytes of the nfnetlink messages that build `table netdev vethgate`: a chain on the egress hook of
// the job's link, and the sets that its drops look destinations up in. It knows no sockets and no
// policy. Sources: linux/netfilter/nf_tables.h, linux/netfilter/nfnetlink.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netlink/socket.hpp"
#include "render/plan.hpp"

namespace vethgate {

// Both are refused by the kernel with EEXIST when there is one already.
[[nodiscard]] RawMessage newNetdevTable();
// Hook egress of `device`, priority 0, policy drop. EOPNOTSUPP from a kernel that has no such hook.
[[nodiscard]] RawMessage newEgressChain(const std::string& device);
// The rule's set, `number` its identity within the transaction, and then its elements: constant, so
// they must come before the rule that looks it up. Throws Failure(kUntouchable) for a rule without
// one.
[[nodiscard]] RawMessage newSet(const NetdevRule& rule, std::uint32_t number);
[[nodiscard]] std::vector<RawMessage> newSetElements(const NetdevRule& rule);
// Appends `rule`. Throws Failure(kUntouchable) for a rule that its ethertype or protocol does not
// allow.
[[nodiscard]] RawMessage appendNetdevRule(const NetdevRule& rule);

}  // namespace vethgate
