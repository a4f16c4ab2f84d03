// The layout of table, sets and rules is what nft 1.0.6 makes of our own text for it
// (render/nft_text.cpp), less the notes that nft keeps for its listing. It must not know why a rule
// exists.
//
// What a drop depends on, and what a pass begins with, is read at fixed places behind the Ethernet
// header, because an AF_PACKET sender chooses skb->protocol, and with it (a VLAN type makes
// packet_parse_headers() move the network header) where `ip daddr` would be read. Protocol and
// ports of a pass are the kernel's own dissection, which is done for the protocol that the sender
// names; when that is not the frame's, it fails, the pass does not match, and the frame is dropped.
#include "applier/netdev.hpp"

#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "applier/nft_encoding.hpp"
#include "base/error.hpp"
#include "netlink/message.hpp"

namespace vethgate {
namespace {

constexpr const char* kTable = "vethgate";
constexpr const char* kChain = "egress";
constexpr const char* kChainType = "filter";
// Byte offsets from the Ethernet header.
constexpr std::uint32_t kEtherTypeOffset = 12;                 // struct ethhdr
constexpr std::uint32_t kV4DestinationOffset = ETH_HLEN + 16;  // struct iphdr, RFC 791
constexpr std::uint32_t kV6DestinationOffset = ETH_HLEN + 24;  // struct ipv6hdr, RFC 8200
constexpr std::uint32_t kHopLimitOffset = ETH_HLEN + 7;        // struct ipv6hdr
constexpr std::uint32_t kArpSenderOffset = ETH_HLEN + 8;       // ar_sha, RFC 826
constexpr std::uint32_t kIcmpTypeOffset = 0;                   // struct icmp6hdr
// What nft calls the keys of a set, so that it lists them as addresses (nft's datatype.h).
constexpr std::uint32_t kTypeIpv4Address = 7;
constexpr std::uint32_t kTypeIpv6Address = 8;
// So many that a message of them is well below kMaxMessageBytes: an element of IPv6 takes 36 bytes.
constexpr std::size_t kElementsPerMessage = 100;

// One end of an interval: the first address of it, or the first behind it.
struct Element {
  Address at;
  bool end = false;
};

nfgenmsg netdevHeader() {
  nfgenmsg header{};
  header.nfgen_family = NFPROTO_NETDEV;
  header.version = NFNETLINK_V0;
  return header;
}

[[noreturn]] void refuse(const NetdevRule& rule, const char* problem) {
  throw Failure(ExitCode::kUntouchable,
                "the netdev rule \"" + rule.why + "\" cannot be written: " + problem);
}

bool isIp(EtherType type) { return type == EtherType::kIpv4 || type == EtherType::kIpv6; }

// The plan's reader has checked all of this; see checkRule() of iptables.cpp.
void checkRule(const NetdevRule& rule) {
  const Family family = rule.protocol == EtherType::kIpv4 ? Family::kV4 : Family::kV6;
  const bool v6 = rule.protocol == EtherType::kIpv6;
  const bool service = rule.ipProtocol || rule.ports || rule.icmpType || rule.hopLimit;
  if (!isIp(rule.protocol) && (service || !rule.to.empty() || !rule.set.empty())) {
    refuse(rule, "it matches on IP in a frame that is not");
  }
  for (const Prefix& prefix : rule.to) {
    if (prefix.family() != family) {
      refuse(rule, "a destination is of the other family");
    }
    if (prefix.length() == 0) {
      refuse(rule, "a destination is a prefix of length 0");
    }
  }
  if (rule.set.empty() && rule.to.size() > 1) {
    refuse(rule, "it has destinations and no set");
  }
  if (!rule.set.empty() && rule.to.empty()) {
    refuse(rule, "it has a set and no destination");
  }
  if (rule.ports && rule.ipProtocol != kProtocolTcp && rule.ipProtocol != kProtocolUdp) {
    refuse(rule, "ports need tcp or udp");
  }
  if (rule.icmpType && (!v6 || rule.ipProtocol != kProtocolIcmpV6)) {
    refuse(rule, "an ICMPv6 type needs protocol 58 and IPv6");
  }
  if (rule.hopLimit && !v6) {
    refuse(rule, "a hop limit needs IPv6");
  }
  if (rule.sender && rule.protocol != EtherType::kArp) {
    refuse(rule, "a sender needs ARP");
  }
  if (rule.action == FilterAction::kDrop && service) {
    refuse(rule, "a drop may not be narrowed");
  }
  if (rule.action == FilterAction::kPass && !isIp(rule.protocol) && !rule.sender) {
    refuse(rule, "a pass that is not of IP needs a sender");
  }
}

// The first address behind the prefix; none behind the last.
std::optional<Address> behind(const Prefix& prefix) {
  std::array<std::uint8_t, 16> bytes = prefix.base().bytes();
  for (unsigned bit = prefix.length(); bit-- > 0;) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    std::uint8_t& byte = bytes.at(bit / 8);
    byte = static_cast<std::uint8_t>(byte ^ mask);
    if ((byte & mask) != 0) {  // no carry
      return Address(prefix.family(), bytes);
    }
  }
  return std::nullopt;
}

// What the kernel's tree holds: ends of intervals, ascending. An interval up to the last address
// has no end, one that follows another is the same. The end at zero, unless an interval starts
// there, is nft's: without one it takes the set for another kind when it lists it.
std::vector<Element> elementsOf(const NetdevRule& rule) {
  std::vector<Element> elements;
  const Family family = rule.to.front().family();
  if (const Address zero(family, {}); rule.to.front().base() != zero) {
    elements.push_back({zero, true});
  }
  for (const Prefix& prefix : rule.to) {
    if (!elements.empty() && elements.back().end && elements.back().at == prefix.base()) {
      elements.pop_back();
    } else {
      elements.push_back({prefix.base(), false});
    }
    if (const auto end = behind(prefix)) {
      elements.push_back({*end, true});
    }
  }
  return elements;
}

ByteView bytesOf(const Address& address) {
  return ByteView(address.bytes()).first(address.bits() / 8);
}

void putEtherType(MessageBuilder& builder, EtherType type) {
  if (type == EtherType::kAll) {
    return;
  }
  if (type == EtherType::kArp) {
    // Ethernet and IPv4, with their lengths: only then the sender is where it is looked for.
    constexpr std::array<std::uint8_t, 8> kArpOfIpv4{0x08, 0x06, 0, ARPHRD_ETHER, 0x08, 0x00, 6, 4};
    putLoadPayload(builder, NFT_PAYLOAD_LL_HEADER, kEtherTypeOffset, kArpOfIpv4.size());
    return putEquals(builder, kArpOfIpv4);
  }
  putLoadPayload(builder, NFT_PAYLOAD_LL_HEADER, kEtherTypeOffset, 2);
  putEquals(builder, networkOrder(static_cast<std::uint16_t>(type)));
}

void putSender(MessageBuilder& builder, const ArpSender& sender) {
  Bytes value(sender.mac.begin(), sender.mac.end());
  const ByteView address = bytesOf(sender.address);
  value.insert(value.end(), address.begin(), address.end());
  putLoadPayload(builder, NFT_PAYLOAD_LL_HEADER, kArpSenderOffset,
                 static_cast<std::uint32_t>(value.size()));
  putEquals(builder, value);
}

// [ lookup reg 1 set <name> ]
void putLookup(MessageBuilder& builder, const std::string& set) {
  putExpression(builder, "lookup", [&] {
    builder.putString(NFTA_LOOKUP_SET, set);
    builder.putU32Be(NFTA_LOOKUP_SREG, NFT_REG_1);
  });
}

void putDestinations(MessageBuilder& builder, const NetdevRule& rule) {
  const Prefix& first = rule.to.front();
  const std::uint32_t offset =
      first.family() == Family::kV4 ? kV4DestinationOffset : kV6DestinationOffset;
  if (rule.set.empty()) {
    return putPrefix(builder, NFT_PAYLOAD_LL_HEADER, offset, first);
  }
  putLoadPayload(builder, NFT_PAYLOAD_LL_HEADER, offset, first.base().bits() / 8);
  putLookup(builder, rule.set);
}

void putPorts(MessageBuilder& builder, const PortRange& ports) {
  putLoadPayload(builder, NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortOffset, 2);
  if (ports.isSingle()) {
    return putEquals(builder, networkOrder(ports.first()));
  }
  putCompare(builder, NFT_CMP_GTE, networkOrder(ports.first()));
  putCompare(builder, NFT_CMP_LTE, networkOrder(ports.last()));
}

}  // namespace

// nft add table netdev vethgate
RawMessage newNetdevTable() {
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_EXCL);
  builder.header(netdevHeader());
  builder.putString(NFTA_TABLE_NAME, kTable);
  return std::move(builder).finish();
}

// nft add chain netdev vethgate egress
//   '{ type filter hook egress device "eth0" priority 0; policy drop; }'
RawMessage newEgressChain(const std::string& device) {
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_EXCL);
  builder.header(netdevHeader());
  builder.putString(NFTA_CHAIN_TABLE, kTable);
  builder.putString(NFTA_CHAIN_NAME, kChain);
  {
    const auto hook = builder.nest(NFTA_CHAIN_HOOK);
    builder.putU32Be(NFTA_HOOK_HOOKNUM, NF_NETDEV_EGRESS);
    builder.putU32Be(NFTA_HOOK_PRIORITY, 0);
    builder.putString(NFTA_HOOK_DEV, device);
  }
  builder.putU32Be(NFTA_CHAIN_POLICY, NF_DROP);
  builder.putString(NFTA_CHAIN_TYPE, kChainType);
  return std::move(builder).finish();
}

// nft add set netdev vethgate v4_1 '{ type ipv4_addr; flags constant, interval; }'
RawMessage newSet(const NetdevRule& rule, std::uint32_t number) {
  checkRule(rule);
  if (rule.set.empty()) {
    refuse(rule, "it has no set");
  }
  const bool v4 = rule.protocol == EtherType::kIpv4;
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWSET), NLM_F_CREATE | NLM_F_EXCL);
  builder.header(netdevHeader());
  builder.putString(NFTA_SET_TABLE, kTable);
  builder.putString(NFTA_SET_NAME, rule.set);
  builder.putU32Be(NFTA_SET_FLAGS, NFT_SET_CONSTANT | NFT_SET_INTERVAL);
  builder.putU32Be(NFTA_SET_KEY_TYPE, v4 ? kTypeIpv4Address : kTypeIpv6Address);
  builder.putU32Be(NFTA_SET_KEY_LEN, v4 ? 4 : 16);
  builder.putU32Be(NFTA_SET_ID, number);
  return std::move(builder).finish();
}

// nft add element netdev vethgate v4_1 '{ … }'
std::vector<RawMessage> newSetElements(const NetdevRule& rule) {
  checkRule(rule);
  if (rule.set.empty()) {
    refuse(rule, "it has no set");
  }
  const std::vector<Element> elements = elementsOf(rule);
  std::vector<RawMessage> messages;
  for (std::size_t start = 0; start < elements.size(); start += kElementsPerMessage) {
    const std::size_t end = std::min(elements.size(), start + kElementsPerMessage);
    MessageBuilder builder(nfTablesType(NFT_MSG_NEWSETELEM), NLM_F_CREATE | NLM_F_EXCL);
    builder.header(netdevHeader());
    builder.putString(NFTA_SET_ELEM_LIST_TABLE, kTable);
    builder.putString(NFTA_SET_ELEM_LIST_SET, rule.set);
    {
      const auto list = builder.nest(NFTA_SET_ELEM_LIST_ELEMENTS);
      for (std::size_t i = start; i < end; ++i) {
        const auto element = builder.nest(NFTA_LIST_ELEM);
        if (elements[i].end) {
          builder.putU32Be(NFTA_SET_ELEM_FLAGS, NFT_SET_ELEM_INTERVAL_END);
        }
        putValue(builder, NFTA_SET_ELEM_KEY, bytesOf(elements[i].at));
      }
    }
    messages.push_back(std::move(builder).finish());
  }
  return messages;
}

// nft add rule netdev vethgate egress …: ethertype, sender, destination, hop limit, protocol, type
// or ports, counter, verdict.
RawMessage appendNetdevRule(const NetdevRule& rule) {
  checkRule(rule);
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND);
  builder.header(netdevHeader());
  builder.putString(NFTA_RULE_TABLE, kTable);
  builder.putString(NFTA_RULE_CHAIN, kChain);
  {
    const auto expressions = builder.nest(NFTA_RULE_EXPRESSIONS);
    putEtherType(builder, rule.protocol);
    if (rule.sender) {
      putSender(builder, *rule.sender);
    }
    if (!rule.to.empty()) {
      putDestinations(builder, rule);
    }
    if (rule.hopLimit) {
      putLoadPayload(builder, NFT_PAYLOAD_LL_HEADER, kHopLimitOffset, 1);
      putEquals(builder, *rule.hopLimit);
    }
    if (rule.ipProtocol) {
      putLoadProtocol(builder);
      putEquals(builder, *rule.ipProtocol);
    }
    if (rule.icmpType) {
      putLoadPayload(builder, NFT_PAYLOAD_TRANSPORT_HEADER, kIcmpTypeOffset, 1);
      putEquals(builder, *rule.icmpType);
    }
    if (rule.ports) {
      putPorts(builder, *rule.ports);
    }
    putExpression(builder, "counter", [] {});  // from zero
    putVerdict(builder, rule.action == FilterAction::kPass ? NF_ACCEPT : NF_DROP);
  }
  return std::move(builder).finish();
}

}  // namespace vethgate
