// What holds the rules: tables and chains, and everything else that nf_tables can hold besides.
// A plan's layout is that of iptables-nft 1.8.9: table `filter` with the base chain `OUTPUT` in the
// families ip and ip6, and nothing more in any family.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate::nft {

inline constexpr std::string_view kTableName = "filter";
inline constexpr std::string_view kChainName = "OUTPUT";

struct RuleCounts {
  std::size_t v4 = 0;
  std::size_t v6 = 0;
};

// `expected`: the policy asks for the iptables layer. `counts` are the rules that were read; they
// are compared with what the chains say they hold when `counted`.
void checkLayout(const Capture& capture, bool expected, const RuleCounts& counts, bool counted,
                 Findings& findings);

// "table inet x", "chain OUTPUT of table ip filter"; names are shown as printable ASCII.
[[nodiscard]] std::string tableText(std::uint8_t family, std::string_view table);
[[nodiscard]] std::string chainText(std::uint8_t family, std::string_view table,
                                    std::string_view chain);

}  // namespace vethgate::nft
