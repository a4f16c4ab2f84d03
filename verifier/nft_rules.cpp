// The grammar of a rule, and what a namespace's rules are; tables and chains are in nft_layout.
#include "verifier/nft_rules.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/error.hpp"
#include "verifier/envelope.hpp"
#include "verifier/nft_grammar.hpp"
#include "verifier/nft_layout.hpp"
#include "verifier/nft_sets.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate {
namespace {

using nft::Expression;

// Offsets within a header; RFC 791, RFC 8200, RFC 9293, RFC 768.
constexpr std::uint32_t kV4DestinationAt = 16;
constexpr std::uint32_t kV6DestinationAt = 24;
constexpr std::uint32_t kDestinationPortAt = 2;
constexpr std::uint32_t kTcpFlagsAt = 13;
constexpr std::uint8_t kTcpFinSynRstAck = 0x17;
constexpr std::uint8_t kTcpSyn = 0x02;

PortRange readPorts(nft::Cursor& cursor) {
  if (const auto* range = cursor.accept<nft::Within>()) {
    if (range->first.size != 2 || range->first.asU16() == 0 ||
        range->first.asU16() >= range->last.asU16()) {
      nft::refuseRule("the port range is empty, single or not of 2 bytes");
    }
    return {range->first.asU16(), range->last.asU16()};
  }
  const std::uint16_t port = nft::requireValue(cursor, 2, "the destination port").asU16();
  if (port == 0) {
    nft::refuseRule("the destination port is 0");
  }
  return {port, port};
}

void readSyn(nft::Cursor& cursor) {
  const nft::Value& mask = cursor.require<nft::Mask>("a mask of TCP flags").mask;
  const nft::Value& flags = nft::requireValue(cursor, 1, "the TCP flags");
  if (mask.size != 1 || mask.bytes[0] != kTcpFinSynRstAck || flags.bytes[0] != kTcpSyn) {
    nft::refuseRule("the TCP flags " + std::to_string(flags.bytes[0]) + " of " +
                    std::to_string(mask.bytes[0]) + " are matched, expected 2 of 23 (SYN alone)");
  }
}

void readTransport(nft::Cursor& cursor, IptablesRule& rule) {
  const auto protocol = rule.protocol.value_or(0);
  if (const auto* port = cursor.acceptLoad(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortAt)) {
    if (port->length != 2 || (protocol != kProtocolTcp && protocol != kProtocolUdp)) {
      nft::refuseRule("a port is matched without tcp or udp, or not with 2 bytes");
    }
    rule.ports = readPorts(cursor);
  } else if (const auto* flags = cursor.acceptLoad(NFT_PAYLOAD_TRANSPORT_HEADER, kTcpFlagsAt)) {
    if (flags->length != 1 || protocol != kProtocolTcp) {
      nft::refuseRule("TCP flags are matched without tcp, or not with 1 byte");
    }
    readSyn(cursor);
    rule.syn = true;
  } else if (const auto* icmp = cursor.accept<nft::Icmp6Type>()) {
    if (protocol != kProtocolIcmpV6) {
      nft::refuseRule("an icmp6 type is matched without ipv6-icmp");
    }
    rule.icmpType = icmp->type;
  }
}

// Decodes the rules of all chains as they come.
class RuleReader {
 public:
  RuleReader(const nft::Expected& expected, const std::vector<nft::ReadSet>& sets,
             nft::EngineTable& engine, NftReadback& readback)
      : expected_(expected), sets_(sets), engine_(engine), readback_(readback) {}

  // `place` is where the rule stands, as soon as that is known.
  void read(const RawMessage& message, std::string& place) {
    const std::uint8_t family = fixedHeader<nfgenmsg>(message).nfgen_family;
    AttributeReader reader(nft::kRule, attributesOf<nfgenmsg>(message), "NFT_MSG_NEWRULE");
    const std::string_view table = reader.string(NFTA_RULE_TABLE);
    const std::string_view chain = reader.string(NFTA_RULE_CHAIN);
    if (nft::EngineTable::owns(family, table)) {
      engine_.readRule(reader, chain, place);
      return;
    }
    const auto which = nft::expectedChain(expected_, family, table, chain);
    if (!which) {
      reader.refuse("a rule in " + nft::chainText(family, table, chain) + ", expected none there");
    }
    switch (*which) {
      case nft::ChainId::kV4:
        place = "iptables v4" + number(readback_.v4);
        readback_.v4.push_back(readRule(Family::kV4, expressionsOf(reader, *which)));
        break;
      case nft::ChainId::kV6:
        place = "iptables v6" + number(readback_.v6);
        readback_.v6.push_back(readRule(Family::kV6, expressionsOf(reader, *which)));
        break;
      case nft::ChainId::kNetdev:
        place = "netdev" + number(readback_.netdev);
        readback_.netdev.push_back(readNetdevRule(expressionsOf(reader, *which), sets_));
        break;
    }
  }

 private:
  template <class List>
  static std::string number(const List& list) {
    return " #" + std::to_string(list.size() + 1);
  }

  std::span<const Expression> expressionsOf(AttributeReader& reader, nft::ChainId chain) {
    positions_.at(static_cast<std::size_t>(chain)).follow(reader);
    nft::readExpressions(reader, expressions_);
    reader.finish();
    return expressions_;
  }

  const nft::Expected& expected_;
  const std::vector<nft::ReadSet>& sets_;
  nft::EngineTable& engine_;
  NftReadback& readback_;
  std::array<nft::Positions, nft::kChainCount> positions_;
  std::vector<Expression> expressions_;
};

// A set that no rule looks up contains nothing; one that two look up belongs to none of them.
void checkUses(const NftReadback& readback, const std::vector<nft::ReadSet>& sets,
               Findings& findings) {
  for (const nft::ReadSet& set : sets) {
    const auto uses =
        std::count_if(readback.netdev.begin(), readback.netdev.end(),
                      [&set](const ReadNetdevRule& read) { return read.rule.set == set.name; });
    if (uses != 1) {
      findings.add("nft.sets: " + std::to_string(uses) + " rules look up set " + set.name +
                   ", expected 1");
    }
  }
}

}  // namespace

ReadRule readRule(Family family, std::span<const Expression> expressions) {
  ReadRule result;
  IptablesRule& rule = result.rule;
  nft::Cursor cursor(expressions);
  if (cursor.accept<nft::MetaL4Protocol>() != nullptr) {
    rule.protocol = nft::requireValue(cursor, 1, "the protocol").bytes[0];
  }
  const bool v4 = family == Family::kV4;
  if (const auto* load =
          cursor.acceptLoad(NFT_PAYLOAD_NETWORK_HEADER, v4 ? kV4DestinationAt : kV6DestinationAt)) {
    rule.to = nft::readPrefix(cursor, family, *load);
  }
  readTransport(cursor, rule);
  if (const auto* hopLimit = v4 ? nullptr : cursor.accept<nft::HopLimitEquals>()) {
    rule.hopLimit = hopLimit->value;
  }
  if (const auto* limit = cursor.accept<RateLimit>()) {
    rule.limit = *limit;
  }
  result.packets =
      cursor.require<nft::Counter>("a match that a plan may hold, or the counter").packets;
  if (const auto* log = cursor.accept<nft::LogTarget>()) {
    rule.target = Target::kLog;
    rule.logPrefix = log->prefix;
  } else if (cursor.accept<nft::Accept>() != nullptr) {
    rule.target = Target::kAccept;
  } else {
    static_cast<void>(cursor.require<nft::Drop>("accept, drop or LOG"));
    rule.target = Target::kDrop;
  }
  cursor.requireEnd();
  return result;
}

NftReadback readNft(const Capture& capture, const nft::Expected& expected, Findings& findings) {
  NftReadback readback;
  const std::vector<nft::ReadSet> sets = nft::readSets(capture, expected.netdev(), findings);
  nft::EngineTable engine;
  RuleReader rules(expected, sets, engine, readback);
  std::size_t number = 0;
  std::string place;
  for (const RawMessage& message : messagesOf(capture, DumpId::kNftRules)) {
    place = "nft.rules message " + std::to_string(number++);
    try {
      rules.read(message, place);
    } catch (const Failure& failure) {
      // Positions after a rule that cannot be read would mean nothing.
      findings.add(place + ": " + failure.what());
      readback.complete = false;
      break;
    }
  }
  if (readback.complete) {
    checkUses(readback, sets, findings);
  }
  nft::checkLayout(capture, expected,
                   {{readback.v4.size(), readback.v6.size(), readback.netdev.size()}, sets.size()},
                   readback.complete, engine, findings);
  readback.resolver = engine.finish(readback.complete, findings);
  return readback;
}

}  // namespace vethgate
