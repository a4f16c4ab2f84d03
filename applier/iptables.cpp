// The layout of every rule follows what iptables-nft 1.8.9 sends, expression by expression, so that
// `iptables-nft -S` prints the rules and both build the same kernel state. It must not know why a
// rule exists.
#include "applier/iptables.hpp"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/xt_LOG.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <linux/netfilter_ipv6/ip6t_hl.h>
#include <linux/netlink.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "applier/nft_encoding.hpp"
#include "base/error.hpp"
#include "netlink/message.hpp"

namespace vethgate {
namespace {

constexpr const char* kTable = "filter";
constexpr const char* kChain = "OUTPUT";
constexpr const char* kChainType = "filter";
constexpr const char* kLogTarget = "LOG";
constexpr const char* kIcmpV6Match = "icmp6";
constexpr const char* kHopLimitMatch = "hl";
// The oldest revision of each, the one that iptables 1.8.9 chooses.
constexpr std::uint32_t kRevision = 0;
// NFTA_COMPAT_TYPE as net/netfilter/nft_compat.c reads it; no header names the two.
constexpr std::uint32_t kCompatMatch = 0;
constexpr std::uint32_t kCompatTarget = 1;
// LOG_WARNING of syslog.h, iptables' default for --log-level.
constexpr unsigned char kLogLevel = 4;
// Byte offsets into the headers that NFT_PAYLOAD_* select.
constexpr std::uint32_t kV4DestinationOffset = 16;  // struct iphdr, RFC 791
constexpr std::uint32_t kV6DestinationOffset = 24;  // struct ipv6hdr, RFC 8200
constexpr std::uint32_t kTcpFlagsOffset = 13;       // RFC 9293
constexpr std::uint8_t kTcpSyn = 0x02;
constexpr std::uint8_t kTcpFinSynRstAck = 0x01 | 0x02 | 0x04 | 0x10;
// x_tables pads match and target data to this (XT_ALIGN, linux/netfilter/x_tables.h).
constexpr std::size_t kCompatAlignment = 8;

std::uint8_t netfilterFamily(Family family) {
  return family == Family::kV4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
}

nfgenmsg familyHeader(Family family) {
  nfgenmsg header{};
  header.nfgen_family = netfilterFamily(family);
  header.version = NFNETLINK_V0;
  return header;
}

RawMessage batchMarker(std::uint16_t type) {
  MessageBuilder builder(type, 0);
  nfgenmsg header{};
  header.nfgen_family = AF_UNSPEC;
  header.version = NFNETLINK_V0;
  header.res_id = htons(NFNL_SUBSYS_NFTABLES);
  builder.header(header);
  return std::move(builder).finish();
}

// --dport N  /  --dport N:M
void putDestinationPorts(MessageBuilder& builder, const PortRange& ports) {
  putLoadPayload(builder, NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortOffset, 2);
  if (ports.isSingle()) {
    putEquals(builder, networkOrder(ports.first()));
    return;
  }
  putExpression(builder, "range", [&] {
    builder.putU32Be(NFTA_RANGE_SREG, NFT_REG_1);
    builder.putU32Be(NFTA_RANGE_OP, NFT_RANGE_EQ);
    putValue(builder, NFTA_RANGE_FROM_DATA, networkOrder(ports.first()));
    putValue(builder, NFTA_RANGE_TO_DATA, networkOrder(ports.last()));
  });
}

// --syn
void putSyn(MessageBuilder& builder) {
  putLoadPayload(builder, NFT_PAYLOAD_TRANSPORT_HEADER, kTcpFlagsOffset, 1);
  putMask(builder, ByteView(&kTcpFinSynRstAck, 1));
  putEquals(builder, kTcpSyn);
}

// The data of an x_tables extension, padded as the kernel's x_tables want it.
template <class Info>
Bytes compatInfo(const Info& info) {
  constexpr std::size_t kSize =
      (sizeof info + kCompatAlignment - 1) / kCompatAlignment * kCompatAlignment;
  Bytes bytes(kSize);
  std::memcpy(bytes.data(), &info, sizeof info);
  return bytes;
}

template <class Info>
void putMatch(MessageBuilder& builder, const char* name, const Info& info) {
  putExpression(builder, "match", [&] {
    builder.putString(NFTA_MATCH_NAME, name);
    builder.putU32Be(NFTA_MATCH_REV, kRevision);
    builder.put(NFTA_MATCH_INFO, compatInfo(info));
  });
}

// -m icmp6 --icmpv6-type N
void putIcmpV6Type(MessageBuilder& builder, std::uint8_t type) {
  ip6t_icmp info{};
  info.type = type;
  info.code[0] = 0;
  info.code[1] = 0xff;
  putMatch(builder, kIcmpV6Match, info);
}

// -m hl --hl-eq N
void putHopLimit(MessageBuilder& builder, std::uint8_t hopLimit) {
  ip6t_hl_info info{};
  info.mode = IP6T_HL_EQ;
  info.hop_limit = hopLimit;
  putMatch(builder, kHopLimitMatch, info);
}

// -m limit --limit N/UNIT --limit-burst N
void putLimit(MessageBuilder& builder, const RateLimit& limit) {
  putExpression(builder, "limit", [&] {
    builder.putU64Be(NFTA_LIMIT_RATE, limit.rate);
    builder.putU64Be(NFTA_LIMIT_UNIT, limit.unit);
    builder.putU32Be(NFTA_LIMIT_BURST, limit.burst);
    builder.putU32Be(NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
    builder.putU32Be(NFTA_LIMIT_FLAGS, 0);
  });
}

// -j LOG --log-prefix TEXT
void putLog(MessageBuilder& builder, const std::string& prefix) {
  xt_log_info info{};
  info.level = kLogLevel;
  if (prefix.size() >= sizeof info.prefix) {
    throw Failure(ExitCode::kUntouchable,
                  "the log prefix \"" + prefix + "\" has " + std::to_string(prefix.size()) +
                      " characters, at most " + std::to_string(sizeof info.prefix - 1) + " fit");
  }
  std::copy(prefix.begin(), prefix.end(), std::begin(info.prefix));
  putExpression(builder, "target", [&] {
    builder.putString(NFTA_TARGET_NAME, kLogTarget);
    builder.putU32Be(NFTA_TARGET_REV, kRevision);
    builder.put(NFTA_TARGET_INFO, compatInfo(info));
  });
}

// The plan's reader has checked all of this. Here it is what keeps an encoder from writing, say, an
// IPv6 offset into an IPv4 rule, whoever calls it.
void checkRule(Family family, const IptablesRule& rule) {
  const auto refuse = [&](const char* problem) {
    throw Failure(ExitCode::kUntouchable,
                  "the iptables rule \"" + rule.why + "\" cannot be written: " + problem);
  };
  const bool tcp = rule.protocol == kProtocolTcp;
  if (rule.to && rule.to->family() != family) {
    refuse("its destination is of the other family");
  }
  if (rule.to && rule.to->length() == 0) {
    refuse("its destination is a prefix of length 0");
  }
  if (rule.syn && !tcp) {
    refuse("--syn needs protocol tcp");
  }
  if (rule.ports && !tcp && rule.protocol != kProtocolUdp) {
    refuse("ports need tcp or udp");
  }
  if (rule.icmpType && (rule.protocol != kProtocolIcmpV6 || family != Family::kV6)) {
    refuse("an ICMPv6 type needs protocol 58 and IPv6");
  }
  if (rule.hopLimit && family != Family::kV6) {
    refuse("a hop limit needs IPv6");
  }
}

void putTarget(MessageBuilder& builder, const IptablesRule& rule) {
  switch (rule.target) {
    case Target::kAccept:
      return putVerdict(builder, NF_ACCEPT);
    case Target::kDrop:
      return putVerdict(builder, NF_DROP);
    case Target::kLog:
      return putLog(builder, rule.logPrefix);
  }
  throw Failure(ExitCode::kDefect, "an iptables rule has a target outside its enumeration");
}

}  // namespace

RawMessage batchBegin() { return batchMarker(NFNL_MSG_BATCH_BEGIN); }
RawMessage batchEnd() { return batchMarker(NFNL_MSG_BATCH_END); }

// iptables-restore's `*filter`
RawMessage newFilterTable(Family family) {
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWTABLE), NLM_F_CREATE | NLM_F_EXCL);
  builder.header(familyHeader(family));
  builder.putString(NFTA_TABLE_NAME, kTable);
  return std::move(builder).finish();
}

// iptables-restore's `:OUTPUT ACCEPT [0:0]`, which creates that chain and none of the other two
RawMessage newOutputChain(Family family) {
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWCHAIN), NLM_F_CREATE | NLM_F_EXCL);
  builder.header(familyHeader(family));
  builder.putString(NFTA_CHAIN_TABLE, kTable);
  builder.putString(NFTA_CHAIN_NAME, kChain);
  {
    const auto hook = builder.nest(NFTA_CHAIN_HOOK);
    builder.putU32Be(NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
    builder.putU32Be(NFTA_HOOK_PRIORITY, 0);  // NF_IP_PRI_FILTER, NF_IP6_PRI_FILTER
  }
  builder.putU32Be(NFTA_CHAIN_POLICY, NF_ACCEPT);
  {
    const auto counters = builder.nest(NFTA_CHAIN_COUNTERS);
    builder.putU64Be(NFTA_COUNTER_PACKETS, 0);
    builder.putU64Be(NFTA_COUNTER_BYTES, 0);
  }
  builder.putString(NFTA_CHAIN_TYPE, kChainType);
  return std::move(builder).finish();
}

// iptables-restore's `-A OUTPUT …`: protocol, destination, TCP flags, ports, ICMPv6 type, hop
// limit, limit, counter, target, in this order whatever the order of the options.
RawMessage appendRule(Family family, const IptablesRule& rule) {
  checkRule(family, rule);
  MessageBuilder builder(nfTablesType(NFT_MSG_NEWRULE), NLM_F_CREATE | NLM_F_APPEND);
  builder.header(familyHeader(family));
  builder.putString(NFTA_RULE_TABLE, kTable);
  builder.putString(NFTA_RULE_CHAIN, kChain);
  {
    const auto expressions = builder.nest(NFTA_RULE_EXPRESSIONS);
    if (rule.protocol) {
      putLoadProtocol(builder);
      putEquals(builder, *rule.protocol);
    }
    if (rule.to) {
      putPrefix(builder, NFT_PAYLOAD_NETWORK_HEADER,
                family == Family::kV4 ? kV4DestinationOffset : kV6DestinationOffset, *rule.to);
    }
    if (rule.syn) {
      putSyn(builder);
    }
    if (rule.ports) {
      putDestinationPorts(builder, *rule.ports);
    }
    if (rule.icmpType) {
      putIcmpV6Type(builder, *rule.icmpType);
    }
    if (rule.hopLimit) {
      putHopLimit(builder, *rule.hopLimit);
    }
    if (rule.limit) {
      putLimit(builder, *rule.limit);
    }
    putCounter(builder);  // -c 0 0, which every rule of iptables-nft carries
    putTarget(builder, rule);
  }
  {
    // The kernel hands this protocol to x_tables extensions, and iptables-nft sends it with every
    // rule.
    const auto compat = builder.nest(NFTA_RULE_COMPAT);
    builder.putU32Be(NFTA_RULE_COMPAT_PROTO, rule.protocol.value_or(0));
    builder.putU32Be(NFTA_RULE_COMPAT_FLAGS, 0);
  }
  return std::move(builder).finish();
}

// What iptables asks when it meets `-j LOG`, `-m icmp6` and `-m hl`.
RawMessage extensionQuery(Family family, Extension extension) {
  MessageBuilder builder(NFNL_SUBSYS_NFT_COMPAT << 8 | NFNL_MSG_COMPAT_GET, 0);
  builder.header(familyHeader(family));
  const bool target = extension == Extension::kLogTarget;
  const char* const match = extension == Extension::kIcmpV6Match ? kIcmpV6Match : kHopLimitMatch;
  builder.putString(NFTA_COMPAT_NAME, target ? kLogTarget : match);
  builder.putU32Be(NFTA_COMPAT_REV, kRevision);
  builder.putU32Be(NFTA_COMPAT_TYPE, target ? kCompatTarget : kCompatMatch);
  return std::move(builder).finish();
}

}  // namespace vethgate
