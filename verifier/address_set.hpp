// Sets of addresses of one family, as sorted disjoint intervals. Exact: no approximation, no
// sampling.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "render/address.hpp"

namespace vethgate {

// An address as a number; IPv4 uses the low 32 bits.
using AddressNumber = unsigned __int128;

[[nodiscard]] AddressNumber addressNumber(const Address& address) noexcept;
[[nodiscard]] Address addressFromNumber(Family family, AddressNumber number);
[[nodiscard]] AddressNumber lastNumber(Family family) noexcept;

// Both ends belong to it.
struct Interval {
  AddressNumber first;
  AddressNumber last;
  friend bool operator==(const Interval&, const Interval&) = default;
};
[[nodiscard]] Interval intervalOf(const Prefix& prefix) noexcept;

class AddressSet {
 public:
  AddressSet() = default;
  // In any order, overlapping or not.
  explicit AddressSet(std::vector<Interval> intervals);
  [[nodiscard]] static AddressSet all(Family family);

  [[nodiscard]] bool empty() const noexcept { return intervals_.empty(); }
  [[nodiscard]] const std::vector<Interval>& intervals() const noexcept { return intervals_; }
  [[nodiscard]] bool contains(AddressNumber number) const noexcept;

  [[nodiscard]] AddressSet unite(const AddressSet& other) const;
  [[nodiscard]] AddressSet subtract(const AddressSet& other) const;
  // The lowest address that is in exactly one of the two.
  [[nodiscard]] std::optional<AddressNumber> firstDifference(const AddressSet& other) const;

  // The fewest prefixes that cover exactly this set, ascending.
  [[nodiscard]] std::vector<Prefix> prefixes(Family family) const;

  friend bool operator==(const AddressSet&, const AddressSet&) = default;

 private:
  std::vector<Interval> intervals_;
};

}  // namespace vethgate
