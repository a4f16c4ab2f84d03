// The engine's own NAT for its embedded resolver at 127.0.0.11: table `ip nat` as dockerd has the
// host's iptables-nft write it into a namespace on a network of the user's making. docs/engines.md
// gives it as text and in bytes. It is recognised as a whole and to the last byte, or refused: four
// chains and six rules, in their order; free are the two ports that the resolver listens on, which
// both directions must agree on. It must not know the plan.
//
// Why it may be there: it cannot widen what leaves.
// - A packet comes to a translation through one of two jumps, each behind a match of the
//   destination 127.0.0.11, and through nothing else: no other rule, chain, table or set leads
//   there.
// - The translation of destinations leads to 127.0.0.11 again; that of sources changes a port and
//   no address. So what was for the loopback stays for the loopback, which is no way out: each
//   layer on the veth drops loopback addresses.
// - Destinations are translated at OUTPUT with priority -100, ahead of the filter rules (0) and of
//   the hooks of the veth, and no hook behind those translates one. So the layers judge what
//   a packet leaves with, also where connection tracking still remembers a rule that is gone.
// What answers at the two ports is another matter: see docs/threat-model.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "netlink/reader.hpp"
#include "verifier/findings.hpp"
#include "verifier/nft_grammar.hpp"

namespace vethgate {

// Ports of 127.0.0.11, in host order.
struct EngineResolver {
  std::uint16_t udp = 0;
  std::uint16_t tcp = 0;
  friend bool operator==(const EngineResolver&, const EngineResolver&) = default;
};

namespace nft {

// Takes the messages of table `ip nat` as they come in their dumps: the rules first, then the table
// and its chains. Each message is given with the names of its table and chain already taken, and is
// Failure(kRefused) when it is not the expected one.
class EngineTable {
 public:
  // Whether an object of this table belongs here.
  [[nodiscard]] static bool owns(std::uint8_t family, std::string_view table) noexcept;

  // `place` becomes where the rule stands: "ip nat DOCKER_OUTPUT #1".
  void readRule(AttributeReader& rule, std::string_view chain, std::string& place);
  void readTable(AttributeReader& table);
  void readChain(AttributeReader& chain, std::string_view name);

  // Once all was read: nothing when there is no such table, and a finding when there is one that is
  // not whole. `rulesRead`: the rules were read to their end.
  [[nodiscard]] std::optional<EngineResolver> finish(bool rulesRead, Findings& findings) const;

 private:
  static constexpr std::size_t kChains = 4;
  enum class Writer : std::uint8_t { kMeta, kPayload };
  class Expressions;

  void readTranslation(Expressions& expressions, std::size_t chain, std::uint8_t protocol);

  std::size_t messages_ = 0;  // that came
  std::size_t accepted_ = 0;  // that were the expected ones
  bool tableSeen_ = false;
  std::array<bool, kChains> chainsSeen_{};
  std::size_t lastChain_ = 0;
  std::array<std::size_t, kChains> rules_{};  // that came
  std::size_t lastRuleChain_ = 0;
  std::array<Positions, kChains> positions_;
  std::optional<Writer> writer_;
  EngineResolver ports_;
};

}  // namespace nft
}  // namespace vethgate
