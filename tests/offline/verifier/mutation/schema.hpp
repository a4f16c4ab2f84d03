// How a captured message is built: fixed headers by field, attributes by the decoders' own tables.
// A new dump, or a new table, is one row here; nothing else in this folder knows message types.
// It must not know what any value means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "netlink/reader.hpp"
#include "verifier/capture.hpp"

namespace vethgate::test {

// One attribute, with its place by name: "TCA_OPTIONS/TCA_FLOWER_ACT/action/TCA_ACT_KIND".
struct Node {
  std::uint16_t type = 0;  // with its NLA_F_* bits
  std::string path;
  bool nested = false;
  Bytes value;                 // when it is not nested
  std::vector<Node> children;  // when it is
};

// Bytes of a message that belong to one place: a field of a header, the value of an attribute, or
// its length, type or padding ("…/TCA_KIND:nla_len").
struct Region {
  std::string path;
  std::size_t begin = 0;
  std::size_t end = 0;
};

struct Anatomy {
  std::size_t attributesAt = 0;
  std::vector<Node> attributes;  // empty for NLMSG_DONE
  std::vector<Region> regions;   // without gaps, over the whole message
};

// Throws std::logic_error when a message of a real kernel is not what the tables say, or does not
// come out of serialize() as it went in: the mutants would not be single changes then.
[[nodiscard]] Anatomy dissect(DumpId id, const RawMessage& message);

// Which list of its dump the message belongs to, such as the rules of a chain: the values that say
// so. Empty of NLMSG_DONE alone.
[[nodiscard]] std::string listOf(DumpId id, const RawMessage& message);

[[nodiscard]] Bytes serialize(const std::vector<Node>& attributes);

}  // namespace vethgate::test
