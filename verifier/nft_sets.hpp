// The interval sets of table `netdev vethgate`, as the prefixes that they hold. Every other set,
// and every set when the netdev layer is not expected, is reported by name.
#pragma once

#include <string>
#include <vector>

#include "render/address.hpp"
#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate::nft {

struct ReadSet {
  std::string name;
  Family family = Family::kV4;
  std::vector<Prefix> members;  // the fewest that hold exactly its addresses, ascending
};

// Sets that could be read completely, elements included. The envelopes have been checked.
[[nodiscard]] std::vector<ReadSet> readSets(const Capture& capture, bool expected,
                                            Findings& findings);

}  // namespace vethgate::nft
