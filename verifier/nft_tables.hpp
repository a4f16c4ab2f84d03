// What nf_tables may say, attribute by attribute: the tables that the accounting reader checks
// against. Every attribute of the headers that this was built with is listed, so that a refusal can
// name what it found; one that is newer than that refuses by its number. Source:
// linux/netfilter/nf_tables.h and nf_tables_compat.h.
#pragma once

#include <cstdint>

#include "netlink/reader.hpp"

namespace vethgate::nft {

// Of a set, from 6.16 on; the headers of 6.1 lack them.
inline constexpr std::uint16_t kSetType = 19;   // NFTA_SET_TYPE
inline constexpr std::uint16_t kSetCount = 20;  // NFTA_SET_COUNT

extern const AttributeTable kGeneration;  // NFT_MSG_NEWGEN
extern const AttributeTable kTable;       // NFT_MSG_NEWTABLE
extern const AttributeTable kChain;       // NFT_MSG_NEWCHAIN, with kHook nested
extern const AttributeTable kSet;         // NFT_MSG_NEWSET
extern const AttributeTable kElements;    // NFT_MSG_NEWSETELEM, a list of elements
extern const AttributeTable kRule;        // NFT_MSG_NEWRULE, with elements of kExpression

// NFTA_EXPR_DATA of each expression that a plan is made of.
extern const AttributeTable kMeta;
extern const AttributeTable kPayload;
extern const AttributeTable kBitwise;
extern const AttributeTable kCmp;
extern const AttributeTable kLookup;
extern const AttributeTable kRange;
extern const AttributeTable kLimit;
extern const AttributeTable kCounter;
extern const AttributeTable kImmediate;
extern const AttributeTable kMatch;
extern const AttributeTable kTarget;

}  // namespace vethgate::nft
