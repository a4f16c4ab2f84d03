// Walking over the expressions of one rule, and what the grammars of rules (nft_rules, nft_netdev,
// engine_resolver) have in common. Every problem is Failure(kRefused).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "render/address.hpp"
#include "verifier/nft_expressions.hpp"

namespace vethgate::nft {

[[noreturn]] void refuseRule(const std::string& problem);

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
  const PayloadLoad* acceptLoad(std::uint32_t base, std::uint32_t offset) {
    const auto before = position_;
    const auto* load = accept<PayloadLoad>();
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

  [[noreturn]] void refuseHere(const std::string& expected) const;

 private:
  std::span<const Expression> expressions_;
  std::size_t position_ = 0;
};

// The value of a comparison for equality, of exactly `size` bytes.
[[nodiscard]] const Value& requireValue(Cursor& cursor, std::size_t size, const char* what);

// What a destination that `load` loads is compared with, in its shortest spelling: a shorter load
// for a prefix that ends on a byte, otherwise a mask.
[[nodiscard]] Prefix readPrefix(Cursor& cursor, Family family, const PayloadLoad& load);

// NFTA_RULE_POSITION is the handle of the rule before: together they prove that none of a chain is
// missing. One for each chain.
class Positions {
 public:
  // Takes both attributes of the chain's next rule.
  void follow(AttributeReader& rule);

 private:
  std::optional<std::uint64_t> previous_;
};

}  // namespace vethgate::nft
