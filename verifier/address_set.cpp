#include "verifier/address_set.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace vethgate {
namespace {

bool startsBefore(const Interval& a, const Interval& b) { return a.first < b.first; }

// Sorts and merges what touches, so that equal sets have equal intervals.
std::vector<Interval> normalised(std::vector<Interval> intervals) {
  // Most come in order, from a sweep or from other sets.
  if (!std::is_sorted(intervals.begin(), intervals.end(), startsBefore)) {
    std::sort(intervals.begin(), intervals.end(), startsBefore);
  }
  std::vector<Interval> merged;
  merged.reserve(intervals.size());
  for (const Interval& next : intervals) {
    // `last + 1` would wrap at the end of IPv6, hence the subtraction on the other side.
    if (!merged.empty() &&
        (next.first <= merged.back().last || next.first - 1 == merged.back().last)) {
      merged.back().last = std::max(merged.back().last, next.last);
    } else {
      merged.push_back(next);
    }
  }
  return merged;
}

}  // namespace

AddressNumber addressNumber(const Address& address) noexcept {
  AddressNumber number = 0;
  for (unsigned i = 0; i < address.bits() / 8; ++i) {
    number = number << 8 | address.bytes()[i];
  }
  return number;
}

Address addressFromNumber(Family family, AddressNumber number) {
  std::array<std::uint8_t, 16> bytes{};
  for (unsigned i = family == Family::kV4 ? 4 : 16; i-- > 0; number >>= 8) {
    bytes.at(i) = static_cast<std::uint8_t>(number);
  }
  return {family, bytes};
}

AddressNumber lastNumber(Family family) noexcept {
  return family == Family::kV4 ? AddressNumber{0xffffffff} : ~AddressNumber{0};
}

Interval intervalOf(const Prefix& prefix) noexcept {
  const AddressNumber first = addressNumber(prefix.base());
  // A shift by all 128 bits of ::/0 would be undefined.
  const AddressNumber hosts =
      prefix.length() == 0 ? lastNumber(prefix.family())
                           : (AddressNumber{1} << (prefix.base().bits() - prefix.length())) - 1;
  return {first, first | hosts};
}

AddressSet::AddressSet(std::vector<Interval> intervals)
    : intervals_(normalised(std::move(intervals))) {}

AddressSet AddressSet::all(Family family) { return AddressSet({{0, lastNumber(family)}}); }

bool AddressSet::contains(AddressNumber number) const noexcept {
  const auto after =
      std::upper_bound(intervals_.begin(), intervals_.end(), number,
                       [](AddressNumber n, const Interval& i) { return n < i.first; });
  return after != intervals_.begin() && number <= std::prev(after)->last;
}

AddressSet AddressSet::unite(const AddressSet& other) const {
  std::vector<Interval> both;
  both.reserve(intervals_.size() + other.intervals_.size());
  std::merge(intervals_.begin(), intervals_.end(), other.intervals_.begin(), other.intervals_.end(),
             std::back_inserter(both), startsBefore);
  return AddressSet(std::move(both));
}

AddressSet AddressSet::subtract(const AddressSet& other) const {
  AddressSet result;
  auto cut = other.intervals_.begin();
  for (Interval rest : intervals_) {
    while (cut != other.intervals_.end() && cut->last < rest.first) {
      ++cut;
    }
    bool consumed = false;
    for (auto hole = cut; hole != other.intervals_.end() && hole->first <= rest.last; ++hole) {
      if (hole->first > rest.first) {
        result.intervals_.push_back({rest.first, hole->first - 1});
      }
      if (hole->last >= rest.last) {
        consumed = true;
        break;
      }
      rest.first = hole->last + 1;
    }
    if (!consumed) {
      result.intervals_.push_back(rest);
    }
  }
  return result;
}

std::optional<AddressNumber> AddressSet::firstDifference(const AddressSet& other) const {
  const auto [mine, theirs] = std::mismatch(intervals_.begin(), intervals_.end(),
                                            other.intervals_.begin(), other.intervals_.end());
  const bool mineEnded = mine == intervals_.end();
  const bool theirsEnded = theirs == other.intervals_.end();
  if (mineEnded && theirsEnded) {
    return std::nullopt;
  }
  if (mineEnded) {
    return theirs->first;
  }
  if (theirsEnded) {
    return mine->first;
  }
  // Up to here both are equal, so the first place where the two intervals differ decides.
  return mine->first != theirs->first ? std::min(mine->first, theirs->first)
                                      : std::min(mine->last, theirs->last) + 1;
}

std::vector<Prefix> AddressSet::prefixes(Family family) const {
  const unsigned bits = family == Family::kV4 ? 32 : 128;
  std::vector<Prefix> result;
  for (const Interval& interval : intervals_) {
    AddressNumber first = interval.first;
    for (;;) {
      unsigned hostBits = 0;
      // Grow the block while it stays aligned and inside the interval.
      while (hostBits < bits) {
        const AddressNumber block =
            hostBits + 1 == 128 ? ~AddressNumber{0} : (AddressNumber{1} << (hostBits + 1)) - 1;
        if ((first & block) != 0 || interval.last - first < block) {
          break;
        }
        ++hostBits;
      }
      result.emplace_back(addressFromNumber(family, first), bits - hostBits);
      const AddressNumber last = intervalOf(result.back()).last;
      if (last == interval.last) {
        break;
      }
      first = last + 1;
    }
  }
  return result;
}

}  // namespace vethgate
