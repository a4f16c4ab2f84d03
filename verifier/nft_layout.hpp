// What holds the rules: tables and chains, and everything else that nf_tables can hold besides.
// The iptables layer is laid out as iptables-nft 1.8.9 does it: table `filter` with the base chain
// `OUTPUT` in the families ip and ip6. The netdev layer is table `vethgate` of family netdev, with
// the base chain `egress` and the sets that its rules look up (nft_sets). Table `ip nat` may be the
// engine's (engine_resolver). There is nothing more in any family.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verifier/capture.hpp"
#include "verifier/engine_resolver.hpp"
#include "verifier/findings.hpp"

namespace vethgate::nft {

inline constexpr std::string_view kNetdevTable = "vethgate";

// The chains that a plan may have.
enum class ChainId : std::uint8_t { kV4, kV6, kNetdev };
inline constexpr std::size_t kChainCount = 3;

// Which layers the policy asks for.
struct Expected {
  bool iptables = false;
  std::optional<std::string> device;  // of the netdev layer: the link whose egress it hooks
  [[nodiscard]] bool netdev() const noexcept { return device.has_value(); }
};

// Which of the expected chains has this place; nothing when it is none of them.
[[nodiscard]] std::optional<ChainId> expectedChain(const Expected& expected, std::uint8_t family,
                                                   std::string_view table, std::string_view chain);

// What was read: compared with what tables and chains say they hold.
struct Counts {
  std::array<std::size_t, kChainCount> rules{};  // by ChainId
  std::size_t sets = 0;                          // of table netdev vethgate
};

// All but the sets. Rules are compared when `counted`. What belongs to `engine` is given to it.
void checkLayout(const Capture& capture, const Expected& expected, const Counts& counts,
                 bool counted, EngineTable& engine, Findings& findings);

// At most 64 characters, printable ASCII.
[[nodiscard]] std::string printable(std::string_view text);
// "table inet x", "chain OUTPUT of table ip filter"; names are shown as printable ASCII.
[[nodiscard]] std::string tableText(std::uint8_t family, std::string_view table);
[[nodiscard]] std::string chainText(std::uint8_t family, std::string_view table,
                                    std::string_view chain);

}  // namespace vethgate::nft
