// A set of prefixes that answers "which one covers this" and "which one lies inside this" in time
// that does not grow with its size: a policy may hold 65,536 of them.
#pragma once

#include <bitset>
#include <optional>
#include <set>
#include <vector>

#include "render/address.hpp"

namespace vethgate {

class PrefixSet {
 public:
  // False when it was there already.
  bool insert(const Prefix& prefix);
  // A member that contains `prefix`, the widest if there are several.
  [[nodiscard]] std::optional<Prefix> covering(const Prefix& prefix) const;
  // A member that lies inside `prefix` and is not equal to it.
  [[nodiscard]] std::optional<Prefix> strictlyInside(const Prefix& prefix) const;

 private:
  // Ordered by family, address, length: what a prefix contains follows it directly.
  std::set<Prefix> prefixes_;
  std::bitset<129> lengths_;  // of either family
};

// The fewest prefixes that cover exactly what `prefixes`, all of one family, cover; ascending and
// disjoint.
[[nodiscard]] std::vector<Prefix> shortestList(std::vector<Prefix> prefixes);

}  // namespace vethgate
