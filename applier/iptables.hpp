// Bytes of the nfnetlink messages that build `filter OUTPUT` as iptables-nft 1.8.9 builds it.
// It knows no sockets and no policy; what the kernel answers is apply.cpp's business.
// Sources: linux/netfilter/nf_tables.h, linux/netfilter/nfnetlink.h,
// linux/netfilter/nf_tables_compat.h.
#pragma once

#include <cstdint>

#include "netlink/socket.hpp"
#include "render/plan.hpp"

namespace vethgate {

// A transaction: everything between the two is committed as a whole, by the second, or not at all.
// A batch that ends without batchEnd() is checked by the kernel, modules are loaded for it, and it
// is then thrown away: that is what `nft --check` sends.
[[nodiscard]] RawMessage batchBegin();
[[nodiscard]] RawMessage batchEnd();

// Refused by the kernel with EEXIST when there is one already: the applier never adds to a
// stranger's.
[[nodiscard]] RawMessage newFilterTable(Family family);
// Hook LOCAL_OUT, priority 0, policy accept, with the policy's own packet counter.
[[nodiscard]] RawMessage newOutputChain(Family family);
// Appends `rule`. Throws Failure(kUntouchable) for a rule that the family or the protocol does not
// allow.
[[nodiscard]] RawMessage appendRule(Family family, const IptablesRule& rule);

// Asks whether the kernel has an x_tables extension that nft_compat can use, and loads its module;
// it writes nothing. Answered by one message, or ENOENT, or EINVAL by a kernel without nft_compat.
enum class Extension : std::uint8_t { kLogTarget, kIcmpV6Match, kHopLimitMatch };
[[nodiscard]] RawMessage extensionQuery(Family family, Extension extension);

}  // namespace vethgate
