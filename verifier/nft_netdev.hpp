// The grammar of the rules in chain `egress` of table `netdev vethgate`, to the plan's own terms.
// It must not know the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "render/plan.hpp"
#include "verifier/nft_expressions.hpp"
#include "verifier/nft_sets.hpp"

namespace vethgate {

struct ReadNetdevRule {
  NetdevRule rule;  // `why` is empty: the kernel does not know it
  std::uint64_t packets = 0;
};

// What the expressions of one rule say together. The grammar:
//   [ethertype | ARP of Ethernet and IPv4] [ARP sender] [destination | lookup of it] [hop limit]
//   [protocol] [icmp6 type | ports] counter verdict
// where all but the last three before the counter are read behind the Ethernet header.
// Failure(kRefused) for any other sequence, for a spelling that is not the shortest, and for a
// lookup in a set that is not one of `sets`.
[[nodiscard]] ReadNetdevRule readNetdevRule(std::span<const nft::Expression> expressions,
                                            std::span<const nft::ReadSet> sets);

}  // namespace vethgate
