// See nft_grammar.hpp.
#include "verifier/nft_grammar.hpp"

#include <linux/netfilter/nf_tables.h>

#include <algorithm>
#include <array>

#include "base/error.hpp"

namespace vethgate::nft {
namespace {

// The length of a mask whose bits are contiguous and end within a byte: another length has a
// shorter spelling, which is the one that iptables-nft writes.
unsigned maskLength(const Value& mask) {
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
      refuseRule("the mask of the destination is not contiguous");
    }
  }
  if (length % 8 == 0) {
    refuseRule("the destination /" + std::to_string(length) +
               " is written with a mask, expected a shorter load");
  }
  return length;
}

}  // namespace

void refuseRule(const std::string& problem) { throw Failure(ExitCode::kRefused, problem); }

void Cursor::refuseHere(const std::string& expected) const {
  if (position_ == expressions_.size()) {
    refuseRule("the rule ends where " + expected + " is expected");
  }
  const Expression& here = expressions_[position_];
  std::string found = nameOf(here);
  if (const auto* load = std::get_if<PayloadLoad>(&here)) {
    found += " of " + std::to_string(load->length) + " bytes at " + std::to_string(load->offset) +
             " of header " + std::to_string(load->base);
  }
  refuseRule("expression " + std::to_string(position_ + 1) + " is a " + found + ", expected " +
             expected);
}

const Value& requireValue(Cursor& cursor, std::size_t size, const char* what) {
  const Value& value = cursor.require<Equals>(what).value;
  if (value.size != size) {
    refuseRule(std::string(what) + " has " + std::to_string(value.size) + " bytes, expected " +
               std::to_string(size));
  }
  return value;
}

Prefix readPrefix(Cursor& cursor, Family family, const PayloadLoad& load) {
  const std::size_t full = family == Family::kV4 ? 4 : 16;
  if (load.length < 1 || load.length > full) {
    refuseRule("the destination is loaded with " + std::to_string(load.length) +
               " bytes, expected 1 to " + std::to_string(full));
  }
  unsigned length = load.length * 8;
  if (const auto* masked = cursor.accept<Mask>()) {
    if (load.length != full || masked->mask.size != full) {
      refuseRule("the destination is masked, but not over the whole address");
    }
    length = maskLength(masked->mask);
  }
  const Value& value = requireValue(cursor, load.length, "the destination");
  std::array<std::uint8_t, 16> bytes{};
  std::copy_n(value.bytes.begin(), value.size, bytes.begin());
  for (unsigned index = length; index < full * 8; ++index) {
    if ((bytes[index / 8] >> (7 - index % 8) & 1) != 0) {
      refuseRule("the destination has bits beyond its mask: the rule never matches");
    }
  }
  return {Address(family, bytes), length};
}

void Positions::follow(AttributeReader& rule) {
  const std::uint64_t handle = rule.u64(NFTA_RULE_HANDLE);
  const auto position = rule.maybeU64(NFTA_RULE_POSITION);
  if (position != previous_) {
    rule.refuse(NFTA_RULE_POSITION,
                "follows rule " + (position ? std::to_string(*position) : "none") + ", expected " +
                    (previous_ ? std::to_string(*previous_) : "none"));
  }
  previous_ = handle;
}

}  // namespace vethgate::nft
