// See nft_netdev.hpp.
#include "verifier/nft_netdev.hpp"

#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>
#include <string>

#include "verifier/nft_grammar.hpp"

namespace vethgate {
namespace {

using nft::Cursor;
using nft::refuseRule;

// Offsets from the Ethernet header of 14 bytes; IEEE 802.3, RFC 791, RFC 8200, RFC 826.
constexpr std::uint32_t kEtherTypeAt = 12;
constexpr std::uint32_t kArpSenderAt = 22;
constexpr std::uint32_t kHopLimitAt = 21;
constexpr std::uint32_t kV4DestinationAt = 30;
constexpr std::uint32_t kV6DestinationAt = 38;
// Offsets from the transport header.
constexpr std::uint32_t kIcmpTypeAt = 0;
constexpr std::uint32_t kDestinationPortAt = 2;
// Ethertype ARP, then hardware type 1, protocol type 0x0800, lengths 6 and 4.
constexpr std::array<std::uint8_t, 8> kArpOfIpv4 = {8, 6, 0, 1, 8, 0, 6, 4};

EtherType readEtherType(Cursor& cursor) {
  const auto* load = cursor.acceptLoad(NFT_PAYLOAD_LL_HEADER, kEtherTypeAt);
  if (load == nullptr) {
    return EtherType::kAll;
  }
  if (load->length == kArpOfIpv4.size()) {
    const nft::Value& value = requireValue(cursor, kArpOfIpv4.size(), "the start of an ARP frame");
    if (!std::equal(kArpOfIpv4.begin(), kArpOfIpv4.end(), value.bytes.begin())) {
      refuseRule("8 bytes from the ethertype on are matched, but not those of ARP for IPv4");
    }
    return EtherType::kArp;
  }
  if (load->length != 2) {
    refuseRule("the ethertype is loaded with " + std::to_string(load->length) +
               " bytes, expected 2, or 8 for ARP");
  }
  const std::uint16_t type = requireValue(cursor, 2, "the ethertype").asU16();
  if (type != static_cast<std::uint16_t>(EtherType::kIpv4) &&
      type != static_cast<std::uint16_t>(EtherType::kIpv6)) {
    refuseRule("the ethertype is " + std::to_string(type) + ", expected 2048 or 34525");
  }
  return static_cast<EtherType>(type);
}

ArpSender readSender(Cursor& cursor, const nft::PayloadLoad& load) {
  constexpr std::size_t kBytes = 10;
  if (load.length != kBytes) {
    refuseRule("the ARP sender is loaded with " + std::to_string(load.length) +
               " bytes, expected 10");
  }
  const nft::Value& value = requireValue(cursor, kBytes, "the ARP sender");
  std::array<std::uint8_t, 6> mac{};
  std::copy_n(value.bytes.begin(), mac.size(), mac.begin());
  std::array<std::uint8_t, 16> address{};
  std::copy_n(value.bytes.begin() + mac.size(), 4, address.begin());
  return {mac, Address(Family::kV4, address)};
}

void readLookup(const nft::PayloadLoad& load, const nft::Lookup& lookup, Family family,
                std::span<const nft::ReadSet> sets, NetdevRule& rule) {
  const auto set = std::find_if(sets.begin(), sets.end(), [&](const nft::ReadSet& candidate) {
    return candidate.name == lookup.set;
  });
  if (set == sets.end()) {
    refuseRule("a set is looked up that is not there or cannot be read");
  }
  if (set->family != family || load.length != (family == Family::kV4 ? 4 : 16)) {
    refuseRule("set " + set->name + " is looked up with " + std::to_string(load.length) +
               " bytes or for another family than its own");
  }
  rule.set = set->name;
  rule.to = set->members;
}

PortRange readPorts(Cursor& cursor) {
  if (const auto* first = cursor.accept<nft::AtLeast>()) {
    const std::uint16_t from = first->value.asU16();
    const nft::Value& last = cursor.require<nft::AtMost>("the end of the port range").value;
    if (first->value.size != 2 || last.size != 2 || from == 0 || from >= last.asU16()) {
      refuseRule("the port range is empty, single or not of 2 bytes");
    }
    return {from, last.asU16()};
  }
  const std::uint16_t port = requireValue(cursor, 2, "the destination port").asU16();
  if (port == 0) {
    refuseRule("the destination port is 0");
  }
  return {port, port};
}

// Protocol and what is behind the transport header.
void readTransport(Cursor& cursor, NetdevRule& rule) {
  if (cursor.accept<nft::MetaL4Protocol>() == nullptr) {
    return;
  }
  const std::uint8_t protocol = requireValue(cursor, 1, "the protocol").bytes[0];
  rule.ipProtocol = protocol;
  if (const auto* port = cursor.acceptLoad(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortAt)) {
    if (port->length != 2 || (protocol != kProtocolTcp && protocol != kProtocolUdp)) {
      refuseRule("a port is matched without tcp or udp, or not with 2 bytes");
    }
    rule.ports = readPorts(cursor);
  } else if (const auto* type = cursor.acceptLoad(NFT_PAYLOAD_TRANSPORT_HEADER, kIcmpTypeAt)) {
    if (type->length != 1 || protocol != kProtocolIcmpV6 || rule.protocol != EtherType::kIpv6) {
      refuseRule("an icmp6 type is matched without ipv6-icmp, or not with 1 byte");
    }
    rule.icmpType = requireValue(cursor, 1, "the icmp6 type").bytes[0];
  }
}

void readIp(Cursor& cursor, std::span<const nft::ReadSet> sets, NetdevRule& rule) {
  const Family family = rule.protocol == EtherType::kIpv4 ? Family::kV4 : Family::kV6;
  const auto* to = cursor.acceptLoad(NFT_PAYLOAD_LL_HEADER,
                                     family == Family::kV4 ? kV4DestinationAt : kV6DestinationAt);
  if (to != nullptr) {
    if (const auto* lookup = cursor.accept<nft::Lookup>()) {
      readLookup(*to, *lookup, family, sets, rule);
    } else {
      rule.to.push_back(readPrefix(cursor, family, *to));
    }
  }
  const auto* hopLimit =
      family == Family::kV4 ? nullptr : cursor.acceptLoad(NFT_PAYLOAD_LL_HEADER, kHopLimitAt);
  if (hopLimit != nullptr) {
    if (hopLimit->length != 1) {
      refuseRule("the hop limit is loaded with " + std::to_string(hopLimit->length) +
                 " bytes, expected 1");
    }
    rule.hopLimit = requireValue(cursor, 1, "the hop limit").bytes[0];
  }
  readTransport(cursor, rule);
}

}  // namespace

ReadNetdevRule readNetdevRule(std::span<const nft::Expression> expressions,
                              std::span<const nft::ReadSet> sets) {
  ReadNetdevRule result;
  NetdevRule& rule = result.rule;
  Cursor cursor(expressions);
  rule.protocol = readEtherType(cursor);
  if (rule.protocol == EtherType::kArp) {
    if (const auto* load = cursor.acceptLoad(NFT_PAYLOAD_LL_HEADER, kArpSenderAt)) {
      rule.sender = readSender(cursor, *load);
    }
  } else if (rule.protocol != EtherType::kAll) {
    readIp(cursor, sets, rule);
  }
  result.packets =
      cursor.require<nft::Counter>("a match that a plan may hold, or the counter").packets;
  if (cursor.accept<nft::Accept>() != nullptr) {
    rule.action = FilterAction::kPass;
  } else {
    static_cast<void>(cursor.require<nft::Drop>("accept or drop"));
    rule.action = FilterAction::kDrop;
  }
  cursor.requireEnd();
  return result;
}

}  // namespace vethgate
