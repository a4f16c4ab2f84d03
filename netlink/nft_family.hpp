// The families of nf_tables by the names that nft(8) gives them. Source: linux/netfilter.h.
#pragma once

#include <cstdint>
#include <string>

namespace vethgate {

// `family`: nfgenmsg.nfgen_family. One without a name is "family N".
[[nodiscard]] std::string nftFamilyName(std::uint8_t family);

}  // namespace vethgate
