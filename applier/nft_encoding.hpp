// The expressions that rules of nf_tables are made of, as bytes. Which expressions make a rule is
// for the layers (iptables.cpp, netdev.cpp) to know. All of them use register 1. Source:
// linux/netfilter/nf_tables.h; the text before each is what `nft --debug=netlink` prints.
#pragma once

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <array>
#include <cstdint>

#include "netlink/message.hpp"
#include "render/address.hpp"

namespace vethgate {

inline constexpr std::uint32_t kDestinationPortOffset = 2;  // tcphdr and udphdr alike

[[nodiscard]] constexpr std::uint16_t nfTablesType(std::uint16_t message) {
  return static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message);
}

[[nodiscard]] constexpr std::array<std::uint8_t, 2> networkOrder(std::uint16_t value) {
  return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value & 0xff)};
}

// struct nft_data: every literal is wrapped in NFTA_DATA_VALUE.
void putValue(MessageBuilder& builder, std::uint16_t attribute, ByteView value);

// One element of NFTA_RULE_EXPRESSIONS; `body` fills NFTA_EXPR_DATA.
template <class Body>
void putExpression(MessageBuilder& builder, const char* name, const Body& body) {
  const auto element = builder.nest(NFTA_LIST_ELEM);
  builder.putString(NFTA_EXPR_NAME, name);
  const auto data = builder.nest(NFTA_EXPR_DATA);
  body();
}

// [ meta load l4proto => reg 1 ]
void putLoadProtocol(MessageBuilder& builder);
// [ payload load <length>b @ <base> header + <offset> => reg 1 ]
void putLoadPayload(MessageBuilder& builder, nft_payload_bases base, std::uint32_t offset,
                    std::uint32_t length);
// [ bitwise reg 1 = ( reg 1 & <mask> ) ^ 0 ]
void putMask(MessageBuilder& builder, ByteView mask);
// [ cmp <op> reg 1 <value> ], bytes compared as one number in network order
void putCompare(MessageBuilder& builder, nft_cmp_ops op, ByteView value);
// [ cmp eq reg 1 <value> ]
void putEquals(MessageBuilder& builder, ByteView value);
void putEquals(MessageBuilder& builder, std::uint8_t value);
// Load and comparison of the address at `offset`: one that ends on a byte is a shorter load, since
// host bits are zero; any other is loaded whole and masked.
void putPrefix(MessageBuilder& builder, nft_payload_bases base, std::uint32_t offset,
               const Prefix& prefix);
// [ counter pkts 0 bytes 0 ]
void putCounter(MessageBuilder& builder);
// [ immediate reg 0 <verdict> ], NF_ACCEPT or NF_DROP
void putVerdict(MessageBuilder& builder, std::uint32_t verdict);

}  // namespace vethgate
