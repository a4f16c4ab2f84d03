// How a rate survives iptables: what `-m limit --limit N/unit` becomes in nf_tables, and back.
// Source: measured on iptables-nft 1.8.9, which stores a rate as whole ten-thousandths of a second
// per packet (XT_LIMIT_SCALE, linux/netfilter/xt_limit.h) and then picks the unit that it prints.
#pragma once

#include <cstdint>
#include <optional>

#include "render/plan.hpp"

namespace vethgate {

// iptables' own bound for --limit-burst.
inline constexpr std::uint32_t kMaxBurst = 10'000;

// The limit that iptables-nft writes for `count` packets per `unit` seconds (1, 60, 3600 or 86400);
// nullopt when it writes another rate than was asked for, or none.
[[nodiscard]] std::optional<RateLimit> carriedLimit(std::uint64_t count, std::uint64_t unit,
                                                    std::uint32_t burst);
// True for a limit that iptables-nft writes and reads back as it is.
[[nodiscard]] bool isCarriedExactly(const RateLimit& limit);

}  // namespace vethgate
