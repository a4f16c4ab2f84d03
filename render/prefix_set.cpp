// Lookups by prefix length and by order; see the header.
#include "render/prefix_set.hpp"

#include <algorithm>

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

std::vector<Prefix> shortestList(std::vector<Prefix> prefixes) {
  std::sort(prefixes.begin(), prefixes.end());
  std::vector<Prefix> list;
  for (Prefix next : prefixes) {
    // Sorted: whatever contains `next` came before it, and nothing but that overlaps it.
    if (!list.empty() && list.back().contains(next)) {
      continue;
    }
    // Two halves are their whole, which may be a half in turn.
    while (!list.empty() && next.length() != 0 && list.back().length() == next.length()) {
      const Prefix whole = Prefix::network(next.base(), next.length() - 1);
      if (!whole.contains(list.back())) {
        break;
      }
      list.pop_back();
      next = whole;
    }
    list.push_back(next);
  }
  return list;
}

}  // namespace vethgate
