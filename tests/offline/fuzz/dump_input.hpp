// The form in which a dump is handed to its target: one byte, then its messages one after another.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "verifier/capture.hpp"

namespace vethgate::fuzz {

// One with filters and OUTPUT rules, one with the egress hook and its sets.
inline constexpr std::array kDumpFixtures{"contained-tiny-6.1", "contained-netdev-6.1"};
// Those of the second reading repeat the first.
inline constexpr std::size_t kDumpKinds = 15;

struct DumpInput {
  DumpId id = DumpId::kLinks;
  std::size_t fixture = 0;
  std::vector<RawMessage> messages;
};

// Of any bytes, at least one: what is no message is one all the same.
[[nodiscard]] DumpInput readInput(ByteView bytes);
[[nodiscard]] Bytes writeInput(const DumpInput& input);
// nlmsghdr and what stands ahead of the attributes in this dump's messages.
[[nodiscard]] std::size_t headOf(DumpId id);

}  // namespace vethgate::fuzz
