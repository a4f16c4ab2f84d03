// RTM_NEWADDR, completely. Sources: linux/if_addr.h; net/ipv4/devinet.c, inet_fill_ifaddr();
// net/ipv6/addrconf.c, inet6_fill_ifaddr(). It must not know which link is wanted, or what for.
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "netlink/datagram.hpp"
#include "netlink/reader.hpp"
#include "probe/link_selection.hpp"

namespace vethgate {
namespace {

using enum AttributeKind;

// linux/if_addr.h of 6.1 to 6.18.
constexpr std::array kAddressSpecs{
    AttributeSpec{IFA_ADDRESS, "IFA_ADDRESS", kBytes, 4, 16},
    AttributeSpec{IFA_LOCAL, "IFA_LOCAL", kBytes, 4, 16},
    AttributeSpec{IFA_LABEL, "IFA_LABEL", kString, 1, 15},
    AttributeSpec{IFA_BROADCAST, "IFA_BROADCAST", kBytes, 4, 4},
    AttributeSpec{IFA_CACHEINFO, "IFA_CACHEINFO", kBytes, sizeof(ifa_cacheinfo),
                  sizeof(ifa_cacheinfo)},
    AttributeSpec{IFA_FLAGS, "IFA_FLAGS", kU32},
    AttributeSpec{IFA_RT_PRIORITY, "IFA_RT_PRIORITY", kU32},
    AttributeSpec{IFA_TARGET_NETNSID, "IFA_TARGET_NETNSID", kU32},
    AttributeSpec{IFA_PROTO, "IFA_PROTO", kU8},
};
constexpr AttributeTable kAddressTable{"RTM_NEWADDR", kAddressSpecs};

struct AddressState {
  std::uint32_t link;
  Address address;
  Prefix onLink;  // of the other end, where there is one
};

[[noreturn]] void refuse(const std::string& problem) {
  throw Failure(ExitCode::kRefused, "RTM_NEWADDR: " + problem);
}

AddressState decodeAddress(const RawMessage& message) {
  const nlmsghdr header = messageHeader(message);
  if (header.nlmsg_type != RTM_NEWADDR) {
    refuse("message type " + std::to_string(header.nlmsg_type) + " stands in a dump of addresses");
  }
  ifaddrmsg info{};
  if (message.size() < NLMSG_SPACE(sizeof info)) {
    refuse("a message of " + std::to_string(message.size()) + " bytes lacks its ifaddrmsg");
  }
  std::memcpy(&info, message.data() + sizeof(nlmsghdr), sizeof info);
  if (info.ifa_family != AF_INET && info.ifa_family != AF_INET6) {
    refuse("an address is of family " + std::to_string(info.ifa_family));
  }
  AttributeReader reader(kAddressTable, ByteView(message).subspan(NLMSG_SPACE(sizeof info)),
                         kAddressTable.name);
  // IFA_LOCAL is the address itself; without it, IFA_ADDRESS is, which otherwise is the other end.
  const auto local = reader.maybeBytes(IFA_LOCAL);
  const auto address = reader.maybeBytes(IFA_ADDRESS);
  for (const std::uint16_t type : {IFA_LABEL, IFA_BROADCAST, IFA_CACHEINFO, IFA_FLAGS,
                                   IFA_RT_PRIORITY, IFA_TARGET_NETNSID, IFA_PROTO}) {
    reader.ignore(type, "how the address came about and how long it lasts, not which one it is");
  }
  reader.finish();
  const auto bytes = local ? local : address;
  const std::size_t size = info.ifa_family == AF_INET ? 4 : 16;
  if (!bytes || bytes->size() != size) {
    refuse("an address does not have the " + std::to_string(size) + " bytes of its family");
  }
  std::array<std::uint8_t, 16> value{};
  std::copy(bytes->begin(), bytes->end(), value.begin());
  const Family family = info.ifa_family == AF_INET ? Family::kV4 : Family::kV6;
  const Address own(family, value);
  if (info.ifa_prefixlen > own.bits()) {
    refuse("an address has a prefix length of " + std::to_string(info.ifa_prefixlen));
  }
  if (address && address->size() == size) {
    std::copy(address->begin(), address->end(), value.begin());
  }
  return {info.ifa_index, own, Prefix::network(Address(family, value), info.ifa_prefixlen)};
}

std::vector<AddressState> decodeAll(std::span<const RawMessage> dump) {
  if (dump.empty() || readDone(dump.back()).error != 0) {
    throw Failure(ExitCode::kRefused, "the dump of addresses has no successful end");
  }
  std::vector<AddressState> states;
  for (const RawMessage& message : dump.first(dump.size() - 1)) {
    states.push_back(decodeAddress(message));
  }
  return states;
}

template <class Value>
void sortOnce(std::vector<Value>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

// RFC 1122 3.2.1.3, RFC 4291 2.5.3.
bool isLoopback(const Address& address) {
  static const std::array loopback{Prefix::parse("127.0.0.0/8", "loopback"),
                                   Prefix::parse("::1", "loopback")};
  return std::any_of(loopback.begin(), loopback.end(),
                     [&](const Prefix& prefix) { return prefix.contains(Prefix::host(address)); });
}

}  // namespace

std::vector<Address> decodeAddresses(std::span<const RawMessage> dump, std::uint32_t index) {
  std::vector<Address> addresses;
  for (const AddressState& state : decodeAll(dump)) {
    if (state.link == index) {
      addresses.push_back(state.address);
    }
  }
  sortOnce(addresses);
  if (addresses.size() > kMaxLinkAddresses) {
    throw Failure(ExitCode::kWrongNamespace,
                  "link " + std::to_string(index) + " has " + std::to_string(addresses.size()) +
                      " addresses, expected at most " + std::to_string(kMaxLinkAddresses));
  }
  return addresses;
}

Surroundings decodeSurroundings(std::span<const RawMessage> dump) {
  Surroundings result;
  for (const AddressState& state : decodeAll(dump)) {
    if (!isLoopback(state.address)) {
      result.own.push_back(state.address);
      result.onLink.push_back(state.onLink);
    }
  }
  sortOnce(result.own);
  sortOnce(result.onLink);
  // One address may stand on many links, each to another end.
  const std::size_t most = std::max(result.own.size(), result.onLink.size());
  if (most > kMaxHostAddresses) {
    throw Failure(ExitCode::kWrongNamespace,
                  "the namespace has " + std::to_string(most) +
                      " addresses or prefixes on its links, expected at most " +
                      std::to_string(kMaxHostAddresses));
  }
  return result;
}

}  // namespace vethgate
