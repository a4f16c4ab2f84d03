// An interval set as nf_tables keeps it: elements that start an interval and elements that end one,
// which name the first address behind it. See nft_sets.hpp.
#include "verifier/nft_sets.hpp"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "render/plan.hpp"
#include "verifier/address_set.hpp"
#include "verifier/envelope.hpp"
#include "verifier/expect.hpp"
#include "verifier/nft_expressions.hpp"
#include "verifier/nft_layout.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate::nft {
namespace {

struct Element {
  AddressNumber at;
  bool end;
};

std::optional<Family> familyOf(std::string_view set) {
  if (isSetName(set, Family::kV4)) {
    return Family::kV4;
  }
  return isSetName(set, Family::kV6) ? std::optional(Family::kV6) : std::nullopt;
}

ReadSet readSet(std::uint8_t family, ByteView attributes, bool expected) {
  AttributeReader reader(kSet, attributes, "NFT_MSG_NEWSET");
  const std::string_view table = reader.string(NFTA_SET_TABLE);
  const std::string_view name = reader.string(NFTA_SET_NAME);
  const auto kind = familyOf(name);
  if (!expected || family != NFPROTO_NETDEV || table != kNetdevTable || !kind) {
    reader.refuse("set " + printable(name) + " of " + tableText(family, table) +
                  " is there, expected none");
  }
  const bool v4 = *kind == Family::kV4;
  expectU32(reader, NFTA_SET_FLAGS, NFT_SET_CONSTANT | NFT_SET_INTERVAL);
  reader.discard(NFTA_SET_KEY_TYPE,
                 "how nft prints the keys; informational, says the kernel's header");
  reader.ignore(NFTA_SET_USERDATA, "nft's notes for its listing; no packet meets them");
  expectU32(reader, NFTA_SET_KEY_LEN, v4 ? 4 : 16);
  AttributeReader description = reader.nested(NFTA_SET_DESC);
  description.ignore(NFTA_SET_DESC_SIZE, "how many elements may be added; the set is constant");
  description.finish();
  reader.ignore(kSetType, "which structure the kernel chose; the elements are the same in each");
  reader.ignore(kSetCount, "the elements are counted where they are");
  reader.discard(NFTA_SET_HANDLE, "names the set for deletion; no packet meets it");
  reader.finish();
  return {std::string(name), *kind, {}};
}

Element readElement(AttributeReader& element, Family family) {
  AttributeReader key = element.nested(NFTA_SET_ELEM_KEY);
  const ByteView bytes = key.bytes(NFTA_DATA_VALUE);
  key.finish();
  if (bytes.size() != (family == Family::kV4 ? 4 : 16)) {
    element.refuse(NFTA_SET_ELEM_KEY, "has " + std::to_string(bytes.size()) + " bytes");
  }
  AddressNumber at = 0;
  for (const std::uint8_t byte : bytes) {
    at = at << 8 | byte;
  }
  const auto flags = element.maybeU32(NFTA_SET_ELEM_FLAGS);
  if (flags && *flags != NFT_SET_ELEM_INTERVAL_END) {
    element.refuse(NFTA_SET_ELEM_FLAGS, "is " + std::to_string(*flags) +
                                            ", expected none or 1 (the end of an interval)");
  }
  element.ignore(NFTA_SET_ELEM_USERDATA, "nft's notes for its listing; no packet meets them");
  element.finish();
  return {at, flags.has_value()};
}

// `elements` as the kernel's tree lists them: from the last address to the first.
std::vector<Interval> intervalsOf(std::vector<Element> elements, Family family,
                                  const std::string& name) {
  const auto refuse = [&name](const std::string& problem) {
    throw Failure(ExitCode::kRefused, "set " + name + ": " + problem);
  };
  for (std::size_t i = 1; i < elements.size(); ++i) {
    if (elements[i].at >= elements[i - 1].at) {
      refuse("element " + std::to_string(i + 1) + " is not below the one before it");
    }
  }
  std::reverse(elements.begin(), elements.end());
  if (elements.empty() || elements.front().at != 0) {
    refuse("has no element at zero: neither an interval nor the end that stands for none");
  }
  auto next = elements.begin() + (elements.front().end ? 1 : 0);
  std::vector<Interval> intervals;
  while (next != elements.end()) {
    if (next->end) {
      refuse("an interval ends that did not begin");
    }
    const AddressNumber first = next->at;
    ++next;
    if (next == elements.end()) {
      intervals.push_back({first, lastNumber(family)});
    } else if (next->end) {
      intervals.push_back({first, next->at - 1});
      ++next;
    } else {
      refuse("an interval begins within another");
    }
  }
  if (intervals.empty()) {
    refuse("is empty");
  }
  return intervals;
}

class Reader {
 public:
  Reader(const Capture& capture, Findings& findings) : capture_(capture), findings_(findings) {}

  void readSets(bool expected) {
    forEach(DumpId::kNftSets, [&](std::uint8_t family, ByteView attributes) {
      ReadSet set = readSet(family, attributes, expected);
      if (find(set.name) != nullptr) {
        throw Failure(ExitCode::kRefused, "set " + set.name + " stands there twice");
      }
      sets_.push_back({std::move(set), {}});
    });
  }

  void readElements() {
    forEach(DumpId::kNftElements, [&](std::uint8_t family, ByteView attributes) {
      AttributeReader reader(kElements, attributes, "NFT_MSG_NEWSETELEM");
      const std::string_view table = reader.string(NFTA_SET_ELEM_LIST_TABLE);
      const std::string_view name = reader.string(NFTA_SET_ELEM_LIST_SET);
      Pending* set = find(name);
      if (family != NFPROTO_NETDEV || table != kNetdevTable || set == nullptr) {
        reader.refuse("elements of set " + printable(name) + " of " + tableText(family, table) +
                      " are there, expected none");
      }
      AttributeReader list = reader.nested(NFTA_SET_ELEM_LIST_ELEMENTS);
      if (set->ended) {
        list.refuse("follows a message without elements, which the kernel sends last");
      }
      set->ended = true;
      for (AttributeReader& element : list.elements(NFTA_LIST_ELEM)) {
        set->elements.push_back(readElement(element, set->set.family));
        set->ended = false;
      }
      list.finish();
      reader.finish();
    });
    const auto& answers = capture_.dump(DumpId::kNftElements);
    const auto ends = answers ? std::count_if(answers->begin(), answers->end(), isEnd) : 0;
    // Fewer are named by the gap in the sequence numbers; one more would close it.
    if (ends > std::ssize(sets_)) {
      findings_.add("nft.elements: " + std::to_string(ends) + " answers are there, expected " +
                    std::to_string(sets_.size()));
    }
  }

  [[nodiscard]] std::vector<ReadSet> finish() && {
    std::vector<ReadSet> result;
    for (Pending& pending : sets_) {
      try {
        const Family family = pending.set.family;
        pending.set.members =
            AddressSet(intervalsOf(std::move(pending.elements), family, pending.set.name))
                .prefixes(family);
        result.push_back(std::move(pending.set));
      } catch (const Failure& failure) {
        findings_.add(std::string("nft.elements: ") + failure.what());
      }
    }
    return result;
  }

 private:
  struct Pending {
    ReadSet set;
    std::vector<Element> elements;
    bool ended = false;  // by a message without elements
  };

  Pending* find(std::string_view name) {
    const auto found = std::find_if(sets_.begin(), sets_.end(), [name](const Pending& pending) {
      return pending.set.name == name;
    });
    return found == sets_.end() ? nullptr : &*found;
  }

  template <class Visit>
  void forEach(DumpId id, const Visit& visit) {
    for (const RawMessage& message : messagesOf(capture_, id)) {
      if (isEnd(message)) {
        continue;
      }
      try {
        visit(fixedHeader<nfgenmsg>(message).nfgen_family, attributesOf<nfgenmsg>(message));
      } catch (const Failure& failure) {
        findings_.add(std::string(dumpName(id)) + ": " + failure.what());
      }
    }
  }

  const Capture& capture_;
  Findings& findings_;
  std::vector<Pending> sets_;
};

}  // namespace

std::vector<ReadSet> readSets(const Capture& capture, bool expected, Findings& findings) {
  Reader reader(capture, findings);
  reader.readSets(expected);
  reader.readElements();
  return std::move(reader).finish();
}

}  // namespace vethgate::nft
