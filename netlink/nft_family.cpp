#include "netlink/nft_family.hpp"

#include <linux/netfilter.h>

namespace vethgate {

std::string nftFamilyName(std::uint8_t family) {
  switch (family) {
    case NFPROTO_INET:
      return "inet";
    case NFPROTO_IPV4:
      return "ip";
    case NFPROTO_ARP:
      return "arp";
    case NFPROTO_NETDEV:
      return "netdev";
    case NFPROTO_BRIDGE:
      return "bridge";
    case NFPROTO_IPV6:
      return "ip6";
    default:
      return "family " + std::to_string(family);
  }
}

}  // namespace vethgate
