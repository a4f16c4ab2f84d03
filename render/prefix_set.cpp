// Lookups by prefix length and by order; see the header.
#include "render/prefix_set.hpp"

namespace vethgate {

bool PrefixSet::insert(const Prefix& prefix) {
  lengths_.set(prefix.length());
  return prefixes_.insert(prefix).second;
}

std::optional<Prefix> PrefixSet::covering(const Prefix& prefix) const {
  for (unsigned length = 0; length <= prefix.length(); ++length) {
    if (!lengths_.test(length)) {
      continue;
    }
    const auto found = prefixes_.find(Prefix::network(prefix.base(), length));
    if (found != prefixes_.end()) {
      return *found;
    }
  }
  return std::nullopt;
}

std::optional<Prefix> PrefixSet::strictlyInside(const Prefix& prefix) const {
  const auto next = prefixes_.upper_bound(prefix);
  if (next != prefixes_.end() && prefix.contains(*next)) {
    return *next;
  }
  return std::nullopt;
}

}  // namespace vethgate
