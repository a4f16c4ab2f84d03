// The nf_tables half of a readback: tables, chains and rules of every family, decoded to the plan's
// own terms. What is there besides filter/OUTPUT of ip and ip6, vethgate/egress of netdev and the
// engine's table (engine_resolver) is reported by name. It must not know the plan: only which
// layers are supposed to be there.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "render/plan.hpp"
#include "verifier/capture.hpp"
#include "verifier/engine_resolver.hpp"
#include "verifier/findings.hpp"
#include "verifier/nft_expressions.hpp"
#include "verifier/nft_layout.hpp"
#include "verifier/nft_netdev.hpp"

namespace vethgate {

struct ReadRule {
  IptablesRule rule;  // `why` is empty: the kernel does not know it
  std::uint64_t packets = 0;
};

struct NftReadback {
  std::vector<ReadRule> v4;  // in evaluation order
  std::vector<ReadRule> v6;
  std::vector<ReadNetdevRule> netdev;
  std::optional<EngineResolver> resolver;  // when its table is there, and whole
  bool complete = true;                    // false when decoding stopped before the end
};

// What the expressions of one rule say together. The grammar is the one that iptables-nft 1.8.9
// writes:
//   [protocol] [destination] [ports | SYN | icmp6 type] [hop limit] [limit] counter (verdict | LOG)
// Failure(kRefused) for any other sequence, and for a spelling that is not the shortest.
[[nodiscard]] ReadRule readRule(Family family, std::span<const nft::Expression> expressions);

// `expected`: the layers that the policy asks for. The envelopes have been checked.
[[nodiscard]] NftReadback readNft(const Capture& capture, const nft::Expected& expected,
                                  Findings& findings);

}  // namespace vethgate
