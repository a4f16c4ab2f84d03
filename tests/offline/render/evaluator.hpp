// What a packet meets in each of the four forms of one policy, worked out bit by bit and without
// the product's own prefix arithmetic or ordering, so that a mistake there cannot hide here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "render/plan.hpp"
#include "render/rules.hpp"

namespace vethgate::test {

struct Packet {
  // kFirst holds the ports and kLater does not; flower looks up the ports of neither.
  enum class Fragment : std::uint8_t { kNone, kFirst, kLater };

  Family family = Family::kV4;
  std::array<std::uint8_t, 16> to{};
  std::uint8_t protocol = kProtocolTcp;
  std::uint16_t port = 0;
  bool syn = false;
  std::uint8_t icmpType = 0;
  std::uint8_t hopLimit = 64;
  Fragment fragment = Fragment::kNone;
};

// True when the packet may leave.
[[nodiscard]] bool listLets(const std::vector<Rule>& rules, const Packet& packet);
[[nodiscard]] bool iptablesLets(const Plan::Iptables& iptables, const Packet& packet);
// Throws std::logic_error when two filters of one pref match and disagree: the kernel then may take
// either.
[[nodiscard]] bool flowerLets(const std::vector<FlowerFilter>& filters, EtherType protocol,
                              const Packet& packet);

// `protocol` is the frame's own ethertype. nft reads ports of a first fragment, and of no later
// one.
[[nodiscard]] bool netdevLets(const std::vector<NetdevRule>& rules, EtherType protocol,
                              const Packet& packet);

[[nodiscard]] bool lies(const Packet& packet, const Prefix& prefix);

}  // namespace vethgate::test
