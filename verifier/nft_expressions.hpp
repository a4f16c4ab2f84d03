// One expression of an nf_tables rule, as values: the vocabulary that iptables-nft 1.8.9 and, for
// the netdev layer, nft 1.0.6 write a plan in, and nothing else. What an expression means together
// with its neighbours is for nft_rules.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "netlink/reader.hpp"
#include "render/plan.hpp"

namespace vethgate::nft {

// Contents of a data register, in network order.
struct Value {
  std::array<std::uint8_t, 16> bytes{};
  std::uint8_t size = 0;
  [[nodiscard]] std::uint16_t asU16() const {  // of the first two bytes
    return static_cast<std::uint16_t>(bytes[0] << 8 | bytes[1]);
  }
  friend bool operator==(const Value&, const Value&) = default;
};

// All of them read from, or write to, register 1.
struct MetaL4Protocol {};  // meta load l4proto
struct PayloadLoad {
  std::uint32_t base = 0;  // enum nft_payload_bases
  std::uint32_t offset = 0;
  std::uint32_t length = 0;
};
struct Mask {  // reg = reg & mask
  Value mask;
};
struct Equals {
  Value value;
};
struct Within {  // both ends belong to it
  Value first;
  Value last;
};
struct AtLeast {  // as a number in network order
  Value value;
};
struct AtMost {
  Value value;
};
struct Lookup {  // in the set of that name, of the rule's own table; not inverted
  std::string set;
};
struct Counter {
  std::uint64_t packets = 0;
};
struct Accept {};
struct Drop {};
struct Icmp6Type {  // xt icmp6: this type, any code
  std::uint8_t type = 0;
};
struct HopLimitEquals {  // xt hl
  std::uint8_t value = 0;
};
struct LogTarget {  // xt LOG: level warning, no flags
  std::string prefix;
};

using Expression =
    std::variant<MetaL4Protocol, PayloadLoad, Mask, Equals, Within, RateLimit, Counter, Accept,
                 Drop, Icmp6Type, HopLimitEquals, LogTarget, AtLeast, AtMost, Lookup>;

// For messages: "payload load", "verdict drop", …
[[nodiscard]] const char* nameOf(const Expression& expression);

// What NFTA_EXPR_DATA of an expression of this name may say; nullptr for a name outside the
// vocabulary.
[[nodiscard]] const AttributeTable* expressionTable(std::string_view name);

// The expressions of one NFT_MSG_NEWRULE, in order, into `expressions` (reused between rules).
// Failure(kRefused) for whatever is outside the vocabulary.
void readExpressions(AttributeReader& rule, std::vector<Expression>& expressions);

}  // namespace vethgate::nft
