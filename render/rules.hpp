// The one ordered list: what a policy means, family by family, first match wins. Every layer is a
// translation of it (translate.hpp). It must not know how any layer writes it.
//
// Order within each family (IPv4 first, then IPv6):
//   LOG new TCP, LOG udp/53, LOG each metadata address       only with `log`
//   DROP each metadata address                               ahead of every ACCEPT
//   ACCEPT each `allow`, in the document's order
//   ACCEPT each resolver, udp then tcp, port 53
//   ACCEPT neighbour discovery                               IPv6
//   ACCEPT loopback
//   LOG (with `log`) and DROP each denied prefix
//   ACCEPT tcp, udp, icmp, each of `protocols`               `default` pass
//   ACCEPT each entry of a `default` list, to any destination
//   LOG (with `log`) and DROP everything
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/address.hpp"
#include "render/policy.hpp"

namespace vethgate {

enum class Role : std::uint8_t {
  kConnection,  // LOG of new TCP connections
  kDns,         // LOG of queries
  kMetadata,
  kAllow,
  kResolver,
  kNeighbour,
  // The namespace's own: loopback traffic passes OUTPUT, and a denied ::/96 would take ::1 with it.
  // On the veth no address of loopback is legitimate (RFC 1122 3.2.1.3, RFC 4291 2.5.3), and a host
  // with route_localnet=1 would take it: flower drops what iptables accepts here.
  kLoopback,
  kDenied,
  kOrdinary,  // tcp, udp and icmp where `default` is pass
  kDefault,
};

enum class Action : std::uint8_t { kLog, kDrop, kAccept };

// An absent field is not matched on.
struct Rule {
  Family family;
  Role role;
  Action action;
  std::optional<Prefix> to{};
  std::optional<std::uint8_t> protocol{};
  std::optional<PortRange> ports{};
  bool syn = false;  // TCP flags FIN,SYN,RST,ACK == SYN
  std::optional<std::uint8_t> icmpType{};
  std::optional<std::uint8_t> hopLimit{};
  std::string_view logPrefix{};  // kLog only; a constant
  std::string why;
};

inline constexpr std::uint16_t kDnsPort = 53;
inline constexpr std::uint8_t kNeighbourSolicitation = 135;   // RFC 4861 4.3
inline constexpr std::uint8_t kNeighbourAdvertisement = 136;  // RFC 4861 4.4
// Of a neighbour discovery packet: a router would have decremented it (RFC 4861 11.2).
inline constexpr std::uint8_t kOnLinkHopLimit = 255;

[[nodiscard]] std::vector<Rule> orderedRules(const Policy& policy);

// Throws Failure(kBadInput), naming both, for an ACCEPT whose destination lies inside an earlier
// DROP of its family: it would never be reached, and whoever wrote it believes that it is.
void refuseShadowedExceptions(const std::vector<Rule>& rules);

}  // namespace vethgate
