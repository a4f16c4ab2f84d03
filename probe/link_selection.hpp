// Which link is the job's: decoded RTM_NEWLINK messages in, one veth out, or a refusal.
// Used by the probe (to measure), the applier (to check before it writes) and the verifier (to
// check what was read). It never chooses by names or addresses, only by kind, flags and indexes.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "netlink/datagram.hpp"
#include "netlink/reader.hpp"
#include "netlink/socket.hpp"
#include "render/link.hpp"

namespace vethgate {

// What a link dump says of one device, as far as the choice depends on it (linux/if_link.h).
struct LinkState {
  std::uint32_t index = 0;
  std::string name;                // bytes as the kernel has them
  std::string kind;                // IFLA_INFO_KIND, empty when there is none
  std::uint16_t hardwareType = 0;  // ARPHRD_*
  std::uint32_t flags = 0;         // IFF_*
  std::uint8_t operState = 0;      // IF_OPER_*
  std::uint32_t peer = 0;          // IFLA_LINK, 0 when absent
  bool peerElsewhere = false;      // IFLA_LINK_NETNSID present
  std::array<std::uint8_t, 6> mac{};
  bool hasMac = false;  // the hardware address is 6 bytes long
  std::uint32_t master = 0;
  bool xdp = false;  // a program is attached in any mode
};

// What RTM_NEWLINK may say. Public for those who walk a message by its own structure.
extern const AttributeTable kLinkTable;

// Every message of an RTM_GETLINK dump, NLMSG_DONE last, decoded with the accounting reader;
// Failure(kRefused) for a message that cannot be read completely and for a dump without its end.
[[nodiscard]] std::vector<LinkState> decodeLinks(std::span<const RawMessage> dump);

// Exactly a loopback and one UP veth whose peer is elsewhere, fallback tunnels that are DOWN aside;
// no bridge, no XDP, no master. Throws Failure(kWrongNamespace) and names what was found.
[[nodiscard]] Link selectLink(std::span<const LinkState> links, std::uint64_t netns);

// Every message of an RTM_GETADDR dump, decoded likewise: the addresses of link `index`, ascending,
// that a neighbour may be asked from; Failure(kWrongNamespace) for more than kMaxLinkAddresses,
// which a link document cannot hold. Anycast and multicast addresses are no part of such a dump.
[[nodiscard]] std::vector<Address> decodeAddresses(std::span<const RawMessage> dump,
                                                   std::uint32_t index);

// What a namespace answers to and reaches without a router: each address, and the prefix that the
// kernel takes to lie on its link. Ascending, without repeats; loopback is left out.
struct Surroundings {
  std::vector<Address> own;
  std::vector<Prefix> onLink;
};
inline constexpr std::size_t kMaxHostAddresses = 16'384;
// The same dump of the host's namespace. Failure(kWrongNamespace) for more than kMaxHostAddresses
// of either.
[[nodiscard]] Surroundings decodeSurroundings(std::span<const RawMessage> dump);

}  // namespace vethgate
