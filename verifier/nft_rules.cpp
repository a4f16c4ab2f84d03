// The grammar of a rule, and what a namespace's rules are; tables and chains are in nft_layout.
#include "verifier/nft_rules.hpp"

#include <arpa/inet.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "verifier/envelope.hpp"
#include "verifier/nft_layout.hpp"
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

[[noreturn]] void refuse(const std::string& problem) { throw Failure(ExitCode::kRefused, problem); }

// Walks over the expressions of one rule.
class Cursor {
 public:
  explicit Cursor(std::span<const Expression> expressions) : expressions_(expressions) {}

  // The next expression if it is of this kind; it is consumed then.
  template <class Kind>
  const Kind* accept() {
    if (position_ == expressions_.size()) {
      return nullptr;
    }
    const auto* found = std::get_if<Kind>(&expressions_[position_]);
    position_ += found != nullptr ? 1 : 0;
    return found;
  }

  template <class Kind>
  const Kind& require(const char* expected) {
    const Kind* found = accept<Kind>();
    if (found == nullptr) {
      refuseHere(expected);
    }
    return *found;
  }

  // The next expression if it loads this part of the packet; it is consumed then.
  const nft::PayloadLoad* acceptLoad(std::uint32_t base, std::uint32_t offset) {
    const auto before = position_;
    const auto* load = accept<nft::PayloadLoad>();
    if (load != nullptr && (load->base != base || load->offset != offset)) {
      position_ = before;
      return nullptr;
    }
    return load;
  }

  void requireEnd() const {
    if (position_ != expressions_.size()) {
      refuseHere("the end of the rule");
    }
  }

  [[noreturn]] void refuseHere(const std::string& expected) const {
    if (position_ == expressions_.size()) {
      refuse("the rule ends where " + expected + " is expected");
    }
    const Expression& here = expressions_[position_];
    std::string found = nft::nameOf(here);
    if (const auto* load = std::get_if<nft::PayloadLoad>(&here)) {
      found += " of " + std::to_string(load->length) + " bytes at " + std::to_string(load->offset) +
               " of header " + std::to_string(load->base);
    }
    refuse("expression " + std::to_string(position_ + 1) + " is a " + found + ", expected " +
           expected);
  }

 private:
  std::span<const Expression> expressions_;
  std::size_t position_ = 0;
};

const nft::Value& requireValue(Cursor& cursor, std::size_t size, const char* what) {
  const nft::Value& value = cursor.require<nft::Equals>(what).value;
  if (value.size != size) {
    refuse(std::string(what) + " has " + std::to_string(value.size) + " bytes, expected " +
           std::to_string(size));
  }
  return value;
}

// The length of a mask whose bits are contiguous and end within a byte: another length has a
// shorter spelling, which is the one that iptables-nft writes.
unsigned maskLength(const nft::Value& mask) {
  unsigned length = 0;
  const auto bits = static_cast<unsigned>(mask.size) * 8;
  const auto bit = [&mask](unsigned index) {
    return (mask.bytes[index / 8] >> (7 - index % 8) & 1) != 0;
  };
  while (length < bits && bit(length)) {
    ++length;
  }
  for (unsigned index = length; index < bits; ++index) {
    if (bit(index)) {
      refuse("the mask of the destination is not contiguous");
    }
  }
  if (length % 8 == 0) {
    refuse("the destination /" + std::to_string(length) +
           " is written with a mask, expected a shorter load");
  }
  return length;
}

Prefix readDestination(Cursor& cursor, Family family, const nft::PayloadLoad& load) {
  const std::size_t full = family == Family::kV4 ? 4 : 16;
  if (load.length < 1 || load.length > full) {
    refuse("the destination is loaded with " + std::to_string(load.length) +
           " bytes, expected 1 to " + std::to_string(full));
  }
  unsigned length = load.length * 8;
  if (const auto* masked = cursor.accept<nft::Mask>()) {
    if (load.length != full || masked->mask.size != full) {
      refuse("the destination is masked, but not over the whole address");
    }
    length = maskLength(masked->mask);
  }
  const nft::Value& value = requireValue(cursor, load.length, "the destination");
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(value.bytes.begin(), value.size, bytes.begin());
  for (unsigned index = length; index < full * 8; ++index) {
    if ((bytes[index / 8] >> (7 - index % 8) & 1) != 0) {
      refuse("the destination has bits beyond its mask: the rule never matches");
    }
  }
  return {Address(family, bytes), length};
}

PortRange readPorts(Cursor& cursor) {
  if (const auto* range = cursor.accept<nft::Within>()) {
    if (range->first.size != 2 || range->first.asU16() == 0 ||
        range->first.asU16() >= range->last.asU16()) {
      refuse("the port range is empty, single or not of 2 bytes");
    }
    return {range->first.asU16(), range->last.asU16()};
  }
  const std::uint16_t port = requireValue(cursor, 2, "the destination port").asU16();
  if (port == 0) {
    refuse("the destination port is 0");
  }
  return {port, port};
}

void readSyn(Cursor& cursor) {
  const nft::Value& mask = cursor.require<nft::Mask>("a mask of TCP flags").mask;
  const nft::Value& flags = requireValue(cursor, 1, "the TCP flags");
  if (mask.size != 1 || mask.bytes[0] != kTcpFinSynRstAck || flags.bytes[0] != kTcpSyn) {
    refuse("the TCP flags " + std::to_string(flags.bytes[0]) + " of " +
           std::to_string(mask.bytes[0]) + " are matched, expected 2 of 23 (SYN alone)");
  }
}

void readTransport(Cursor& cursor, IptablesRule& rule) {
  const auto protocol = rule.protocol.value_or(0);
  if (const auto* port = cursor.acceptLoad(NFT_PAYLOAD_TRANSPORT_HEADER, kDestinationPortAt)) {
    if (port->length != 2 || (protocol != kProtocolTcp && protocol != kProtocolUdp)) {
      refuse("a port is matched without tcp or udp, or not with 2 bytes");
    }
    rule.ports = readPorts(cursor);
  } else if (const auto* flags = cursor.acceptLoad(NFT_PAYLOAD_TRANSPORT_HEADER, kTcpFlagsAt)) {
    if (flags->length != 1 || protocol != kProtocolTcp) {
      refuse("TCP flags are matched without tcp, or not with 1 byte");
    }
    readSyn(cursor);
    rule.syn = true;
  } else if (const auto* icmp = cursor.accept<nft::Icmp6Type>()) {
    if (protocol != kProtocolIcmpV6) {
      refuse("an icmp6 type is matched without ipv6-icmp");
    }
    rule.icmpType = icmp->type;
  }
}

const char* familyName(Family family) { return family == Family::kV4 ? "v4" : "v6"; }

// Decodes the rules of one family as they come; the chain they must be in is checked by the caller.
class RuleList {
 public:
  RuleList(Family family, std::vector<ReadRule>& rules) : family_(family), rules_(rules) {}

  void read(AttributeReader& reader) {
    // NFTA_RULE_POSITION is the handle of the rule before: together they prove that none is
    // missing.
    const std::uint64_t handle = reader.u64(NFTA_RULE_HANDLE);
    const auto position = reader.maybeU64(NFTA_RULE_POSITION);
    if (position != previous_) {
      reader.refuse(NFTA_RULE_POSITION,
                    "follows rule " + (position ? std::to_string(*position) : "none") +
                        ", expected " + (previous_ ? std::to_string(*previous_) : "none"));
    }
    previous_ = handle;
    nft::readExpressions(reader, expressions_);
    reader.finish();
    rules_.push_back(readRule(family_, expressions_));
  }

  [[nodiscard]] std::string nextPlace() const {
    return std::string("iptables ") + familyName(family_) + " #" +
           std::to_string(rules_.size() + 1);
  }

 private:
  Family family_;
  std::vector<ReadRule>& rules_;
  std::optional<std::uint64_t> previous_;
  std::vector<Expression> expressions_;
};

}  // namespace

ReadRule readRule(Family family, std::span<const Expression> expressions) {
  ReadRule result;
  IptablesRule& rule = result.rule;
  Cursor cursor(expressions);
  if (cursor.accept<nft::MetaL4Protocol>() != nullptr) {
    rule.protocol = requireValue(cursor, 1, "the protocol").bytes[0];
  }
  const bool v4 = family == Family::kV4;
  if (const auto* load =
          cursor.acceptLoad(NFT_PAYLOAD_NETWORK_HEADER, v4 ? kV4DestinationAt : kV6DestinationAt)) {
    rule.to = readDestination(cursor, family, *load);
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

NftReadback readNft(const Capture& capture, bool expected, Findings& findings) {
  NftReadback readback;
  RuleList v4(Family::kV4, readback.v4);
  RuleList v6(Family::kV6, readback.v6);
  std::size_t number = 0;
  std::string place;
  for (const RawMessage& message : messagesOf(capture, DumpId::kNftRules)) {
    place = "nft.rules message " + std::to_string(number++);
    try {
      const std::uint8_t family = fixedHeader<nfgenmsg>(message).nfgen_family;
      AttributeReader reader(nft::kRule, attributesOf<nfgenmsg>(message), "NFT_MSG_NEWRULE");
      const std::string_view table = reader.string(NFTA_RULE_TABLE);
      const std::string_view chain = reader.string(NFTA_RULE_CHAIN);
      const bool ours = (family == AF_INET || family == AF_INET6) && table == nft::kTableName &&
                        chain == nft::kChainName;
      if (!ours || !expected) {
        reader.refuse("a rule in " + nft::chainText(family, table, chain) +
                      ", expected none there");
      }
      RuleList& list = family == AF_INET ? v4 : v6;
      place = list.nextPlace();
      list.read(reader);
    } catch (const Failure& failure) {
      // Positions after a rule that cannot be read would mean nothing.
      findings.add(place + ": " + failure.what());
      readback.complete = false;
      break;
    }
  }
  nft::checkLayout(capture, expected, {readback.v4.size(), readback.v6.size()}, readback.complete,
                   findings);
  return readback;
}

}  // namespace vethgate
