// The attribute tables of nf_tables; see nft_tables.hpp. All integers are big-endian on the wire.
#include "verifier/nft_tables.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>

#include <array>

namespace vethgate::nft {
namespace {

using enum AttributeKind;

constexpr std::uint16_t kMaxName = NFT_NAME_MAXLEN - 1;
// NFT_USERDATA_MAXLEN; also what a data register can hold, and the largest xt extension, fit below.
constexpr std::uint16_t kMaxBlob = 4096;

constexpr AttributeSpec name(std::uint16_t type, const char* text) {
  return {type, text, kString, 1, kMaxName};
}
constexpr AttributeSpec blob(std::uint16_t type, const char* text) {
  return {type, text, kBytes, 0, kMaxBlob};
}
constexpr AttributeSpec nest(std::uint16_t type, const char* text, const AttributeTable& table) {
  return {type, text, kNested, 0, 0, &table};
}

constexpr std::array kVerdictSpecs = {
    AttributeSpec{NFTA_VERDICT_CODE, "NFTA_VERDICT_CODE", kU32Be},
    name(NFTA_VERDICT_CHAIN, "NFTA_VERDICT_CHAIN"),
    AttributeSpec{NFTA_VERDICT_CHAIN_ID, "NFTA_VERDICT_CHAIN_ID", kU32Be},
};
constexpr AttributeTable kVerdict{"verdict", kVerdictSpecs};

constexpr std::array kDataSpecs = {
    // A register holds 16 bytes; what iptables compares never needs more.
    AttributeSpec{NFTA_DATA_VALUE, "NFTA_DATA_VALUE", kBytes, 1, 16},
    nest(NFTA_DATA_VERDICT, "NFTA_DATA_VERDICT", kVerdict),
};
constexpr AttributeTable kData{"data", kDataSpecs};

constexpr std::array kGenerationSpecs = {
    AttributeSpec{NFTA_GEN_ID, "NFTA_GEN_ID", kU32Be},
    AttributeSpec{NFTA_GEN_PROC_PID, "NFTA_GEN_PROC_PID", kU32Be},
    name(NFTA_GEN_PROC_NAME, "NFTA_GEN_PROC_NAME"),
};

constexpr std::array kTableSpecs = {
    name(NFTA_TABLE_NAME, "NFTA_TABLE_NAME"),
    AttributeSpec{NFTA_TABLE_FLAGS, "NFTA_TABLE_FLAGS", kU32Be},
    AttributeSpec{NFTA_TABLE_USE, "NFTA_TABLE_USE", kU32Be},
    AttributeSpec{NFTA_TABLE_HANDLE, "NFTA_TABLE_HANDLE", kU64Be},
    blob(NFTA_TABLE_PAD, "NFTA_TABLE_PAD"),
    blob(NFTA_TABLE_USERDATA, "NFTA_TABLE_USERDATA"),
    AttributeSpec{NFTA_TABLE_OWNER, "NFTA_TABLE_OWNER", kU32Be},
};

// One device: a second one, which a chain of netdev may have, stands there twice.
constexpr std::array kDeviceSpecs = {
    name(NFTA_DEVICE_NAME, "NFTA_DEVICE_NAME"),
};
constexpr AttributeTable kDevices{"devices", kDeviceSpecs};

constexpr std::array kHookSpecs = {
    AttributeSpec{NFTA_HOOK_HOOKNUM, "NFTA_HOOK_HOOKNUM", kU32Be},
    AttributeSpec{NFTA_HOOK_PRIORITY, "NFTA_HOOK_PRIORITY", kU32Be},
    name(NFTA_HOOK_DEV, "NFTA_HOOK_DEV"),
    nest(NFTA_HOOK_DEVS, "NFTA_HOOK_DEVS", kDevices),
};
constexpr AttributeTable kHook{"hook", kHookSpecs};

constexpr std::array kChainSpecs = {
    name(NFTA_CHAIN_TABLE, "NFTA_CHAIN_TABLE"),
    AttributeSpec{NFTA_CHAIN_HANDLE, "NFTA_CHAIN_HANDLE", kU64Be},
    name(NFTA_CHAIN_NAME, "NFTA_CHAIN_NAME"),
    nest(NFTA_CHAIN_HOOK, "NFTA_CHAIN_HOOK", kHook),
    AttributeSpec{NFTA_CHAIN_POLICY, "NFTA_CHAIN_POLICY", kU32Be},
    AttributeSpec{NFTA_CHAIN_USE, "NFTA_CHAIN_USE", kU32Be},
    name(NFTA_CHAIN_TYPE, "NFTA_CHAIN_TYPE"),
    nest(NFTA_CHAIN_COUNTERS, "NFTA_CHAIN_COUNTERS", kCounter),
    blob(NFTA_CHAIN_PAD, "NFTA_CHAIN_PAD"),
    AttributeSpec{NFTA_CHAIN_FLAGS, "NFTA_CHAIN_FLAGS", kU32Be},
    AttributeSpec{NFTA_CHAIN_ID, "NFTA_CHAIN_ID", kU32Be},
    blob(NFTA_CHAIN_USERDATA, "NFTA_CHAIN_USERDATA"),
};

constexpr std::array kSetDescriptionSpecs = {
    AttributeSpec{NFTA_SET_DESC_SIZE, "NFTA_SET_DESC_SIZE", kU32Be},
    blob(NFTA_SET_DESC_CONCAT, "NFTA_SET_DESC_CONCAT"),
};
constexpr AttributeTable kSetDescription{"description", kSetDescriptionSpecs};

constexpr std::array kSetSpecs = {
    name(NFTA_SET_TABLE, "NFTA_SET_TABLE"),
    name(NFTA_SET_NAME, "NFTA_SET_NAME"),
    AttributeSpec{NFTA_SET_FLAGS, "NFTA_SET_FLAGS", kU32Be},
    AttributeSpec{NFTA_SET_KEY_TYPE, "NFTA_SET_KEY_TYPE", kU32Be},
    AttributeSpec{NFTA_SET_KEY_LEN, "NFTA_SET_KEY_LEN", kU32Be},
    AttributeSpec{NFTA_SET_DATA_TYPE, "NFTA_SET_DATA_TYPE", kU32Be},
    AttributeSpec{NFTA_SET_DATA_LEN, "NFTA_SET_DATA_LEN", kU32Be},
    AttributeSpec{NFTA_SET_POLICY, "NFTA_SET_POLICY", kU32Be},
    nest(NFTA_SET_DESC, "NFTA_SET_DESC", kSetDescription),
    AttributeSpec{NFTA_SET_ID, "NFTA_SET_ID", kU32Be},
    AttributeSpec{NFTA_SET_TIMEOUT, "NFTA_SET_TIMEOUT", kU64Be},
    AttributeSpec{NFTA_SET_GC_INTERVAL, "NFTA_SET_GC_INTERVAL", kU32Be},
    blob(NFTA_SET_USERDATA, "NFTA_SET_USERDATA"),
    blob(NFTA_SET_PAD, "NFTA_SET_PAD"),
    AttributeSpec{NFTA_SET_OBJ_TYPE, "NFTA_SET_OBJ_TYPE", kU32Be},
    AttributeSpec{NFTA_SET_HANDLE, "NFTA_SET_HANDLE", kU64Be},
    blob(NFTA_SET_EXPR, "NFTA_SET_EXPR"),
    blob(NFTA_SET_EXPRESSIONS, "NFTA_SET_EXPRESSIONS"),
    name(kSetType, "NFTA_SET_TYPE"),
    AttributeSpec{kSetCount, "NFTA_SET_COUNT", kU32Be},
};

constexpr std::array kElementSpecs = {
    nest(NFTA_SET_ELEM_KEY, "NFTA_SET_ELEM_KEY", kData),
    blob(NFTA_SET_ELEM_DATA, "NFTA_SET_ELEM_DATA"),
    AttributeSpec{NFTA_SET_ELEM_FLAGS, "NFTA_SET_ELEM_FLAGS", kU32Be},
    AttributeSpec{NFTA_SET_ELEM_TIMEOUT, "NFTA_SET_ELEM_TIMEOUT", kU64Be},
    AttributeSpec{NFTA_SET_ELEM_EXPIRATION, "NFTA_SET_ELEM_EXPIRATION", kU64Be},
    blob(NFTA_SET_ELEM_USERDATA, "NFTA_SET_ELEM_USERDATA"),
    blob(NFTA_SET_ELEM_EXPR, "NFTA_SET_ELEM_EXPR"),
    blob(NFTA_SET_ELEM_PAD, "NFTA_SET_ELEM_PAD"),
    name(NFTA_SET_ELEM_OBJREF, "NFTA_SET_ELEM_OBJREF"),
    blob(NFTA_SET_ELEM_KEY_END, "NFTA_SET_ELEM_KEY_END"),
    blob(NFTA_SET_ELEM_EXPRESSIONS, "NFTA_SET_ELEM_EXPRESSIONS"),
};
constexpr AttributeTable kElement{"element", kElementSpecs};
constexpr std::array kElementListSpecs = {
    AttributeSpec{NFTA_LIST_ELEM, "NFTA_LIST_ELEM", kNested, 0, 0, &kElement, 0, true},
};
constexpr AttributeTable kElementList{"elements", kElementListSpecs};
constexpr std::array kElementsSpecs = {
    name(NFTA_SET_ELEM_LIST_TABLE, "NFTA_SET_ELEM_LIST_TABLE"),
    name(NFTA_SET_ELEM_LIST_SET, "NFTA_SET_ELEM_LIST_SET"),
    nest(NFTA_SET_ELEM_LIST_ELEMENTS, "NFTA_SET_ELEM_LIST_ELEMENTS", kElementList),
    AttributeSpec{NFTA_SET_ELEM_LIST_SET_ID, "NFTA_SET_ELEM_LIST_SET_ID", kU32Be},
};

constexpr std::array kExpressionSpecs = {
    name(NFTA_EXPR_NAME, "NFTA_EXPR_NAME"),
    // Bytes, not nested: which table describes them depends on the name.
    blob(NFTA_EXPR_DATA, "NFTA_EXPR_DATA"),
};
constexpr AttributeTable kExpression{"expression", kExpressionSpecs};

constexpr std::array kExpressionListSpecs = {
    AttributeSpec{NFTA_LIST_ELEM, "NFTA_LIST_ELEM", kNested, 0, 0, &kExpression, 0, true},
};
constexpr AttributeTable kExpressionList{"expressions", kExpressionListSpecs};

constexpr std::array kRuleSpecs = {
    name(NFTA_RULE_TABLE, "NFTA_RULE_TABLE"),
    name(NFTA_RULE_CHAIN, "NFTA_RULE_CHAIN"),
    AttributeSpec{NFTA_RULE_HANDLE, "NFTA_RULE_HANDLE", kU64Be},
    nest(NFTA_RULE_EXPRESSIONS, "NFTA_RULE_EXPRESSIONS", kExpressionList),
    blob(NFTA_RULE_COMPAT, "NFTA_RULE_COMPAT"),
    AttributeSpec{NFTA_RULE_POSITION, "NFTA_RULE_POSITION", kU64Be},
    blob(NFTA_RULE_USERDATA, "NFTA_RULE_USERDATA"),
    blob(NFTA_RULE_PAD, "NFTA_RULE_PAD"),
    AttributeSpec{NFTA_RULE_ID, "NFTA_RULE_ID", kU32Be},
    AttributeSpec{NFTA_RULE_POSITION_ID, "NFTA_RULE_POSITION_ID", kU32Be},
    AttributeSpec{NFTA_RULE_CHAIN_ID, "NFTA_RULE_CHAIN_ID", kU32Be},
};

constexpr std::array kMetaSpecs = {
    AttributeSpec{NFTA_META_DREG, "NFTA_META_DREG", kU32Be},
    AttributeSpec{NFTA_META_KEY, "NFTA_META_KEY", kU32Be},
    AttributeSpec{NFTA_META_SREG, "NFTA_META_SREG", kU32Be},
};

constexpr std::array kPayloadSpecs = {
    AttributeSpec{NFTA_PAYLOAD_DREG, "NFTA_PAYLOAD_DREG", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_BASE, "NFTA_PAYLOAD_BASE", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_OFFSET, "NFTA_PAYLOAD_OFFSET", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_LEN, "NFTA_PAYLOAD_LEN", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_SREG, "NFTA_PAYLOAD_SREG", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_CSUM_TYPE, "NFTA_PAYLOAD_CSUM_TYPE", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_CSUM_OFFSET, "NFTA_PAYLOAD_CSUM_OFFSET", kU32Be},
    AttributeSpec{NFTA_PAYLOAD_CSUM_FLAGS, "NFTA_PAYLOAD_CSUM_FLAGS", kU32Be},
};

constexpr std::array kBitwiseSpecs = {
    AttributeSpec{NFTA_BITWISE_SREG, "NFTA_BITWISE_SREG", kU32Be},
    AttributeSpec{NFTA_BITWISE_DREG, "NFTA_BITWISE_DREG", kU32Be},
    AttributeSpec{NFTA_BITWISE_LEN, "NFTA_BITWISE_LEN", kU32Be},
    nest(NFTA_BITWISE_MASK, "NFTA_BITWISE_MASK", kData),
    nest(NFTA_BITWISE_XOR, "NFTA_BITWISE_XOR", kData),
    AttributeSpec{NFTA_BITWISE_OP, "NFTA_BITWISE_OP", kU32Be},
    nest(NFTA_BITWISE_DATA, "NFTA_BITWISE_DATA", kData),
};

constexpr std::array kCmpSpecs = {
    AttributeSpec{NFTA_CMP_SREG, "NFTA_CMP_SREG", kU32Be},
    AttributeSpec{NFTA_CMP_OP, "NFTA_CMP_OP", kU32Be},
    nest(NFTA_CMP_DATA, "NFTA_CMP_DATA", kData),
};

constexpr std::array kLookupSpecs = {
    name(NFTA_LOOKUP_SET, "NFTA_LOOKUP_SET"),
    AttributeSpec{NFTA_LOOKUP_SREG, "NFTA_LOOKUP_SREG", kU32Be},
    AttributeSpec{NFTA_LOOKUP_DREG, "NFTA_LOOKUP_DREG", kU32Be},
    AttributeSpec{NFTA_LOOKUP_SET_ID, "NFTA_LOOKUP_SET_ID", kU32Be},
    AttributeSpec{NFTA_LOOKUP_FLAGS, "NFTA_LOOKUP_FLAGS", kU32Be},
};

constexpr std::array kRangeSpecs = {
    AttributeSpec{NFTA_RANGE_SREG, "NFTA_RANGE_SREG", kU32Be},
    AttributeSpec{NFTA_RANGE_OP, "NFTA_RANGE_OP", kU32Be},
    nest(NFTA_RANGE_FROM_DATA, "NFTA_RANGE_FROM_DATA", kData),
    nest(NFTA_RANGE_TO_DATA, "NFTA_RANGE_TO_DATA", kData),
};

constexpr std::array kLimitSpecs = {
    AttributeSpec{NFTA_LIMIT_RATE, "NFTA_LIMIT_RATE", kU64Be},
    AttributeSpec{NFTA_LIMIT_UNIT, "NFTA_LIMIT_UNIT", kU64Be},
    AttributeSpec{NFTA_LIMIT_BURST, "NFTA_LIMIT_BURST", kU32Be},
    AttributeSpec{NFTA_LIMIT_TYPE, "NFTA_LIMIT_TYPE", kU32Be},
    AttributeSpec{NFTA_LIMIT_FLAGS, "NFTA_LIMIT_FLAGS", kU32Be},
    blob(NFTA_LIMIT_PAD, "NFTA_LIMIT_PAD"),
};

constexpr std::array kCounterSpecs = {
    AttributeSpec{NFTA_COUNTER_BYTES, "NFTA_COUNTER_BYTES", kU64Be},
    AttributeSpec{NFTA_COUNTER_PACKETS, "NFTA_COUNTER_PACKETS", kU64Be},
    blob(NFTA_COUNTER_PAD, "NFTA_COUNTER_PAD"),
};

constexpr std::array kImmediateSpecs = {
    AttributeSpec{NFTA_IMMEDIATE_DREG, "NFTA_IMMEDIATE_DREG", kU32Be},
    nest(NFTA_IMMEDIATE_DATA, "NFTA_IMMEDIATE_DATA", kData),
};

constexpr std::array kMatchSpecs = {
    name(NFTA_MATCH_NAME, "NFTA_MATCH_NAME"),
    AttributeSpec{NFTA_MATCH_REV, "NFTA_MATCH_REV", kU32Be},
    blob(NFTA_MATCH_INFO, "NFTA_MATCH_INFO"),
};

constexpr std::array kTargetSpecs = {
    name(NFTA_TARGET_NAME, "NFTA_TARGET_NAME"),
    AttributeSpec{NFTA_TARGET_REV, "NFTA_TARGET_REV", kU32Be},
    blob(NFTA_TARGET_INFO, "NFTA_TARGET_INFO"),
};

}  // namespace

constexpr AttributeTable kGeneration{"generation", kGenerationSpecs};
constexpr AttributeTable kTable{"table", kTableSpecs};
constexpr AttributeTable kCounter{"counter", kCounterSpecs};
constexpr AttributeTable kChain{"chain", kChainSpecs};
constexpr AttributeTable kSet{"set", kSetSpecs};
constexpr AttributeTable kElements{"elements", kElementsSpecs};
constexpr AttributeTable kRule{"rule", kRuleSpecs};
constexpr AttributeTable kMeta{"meta", kMetaSpecs};
constexpr AttributeTable kPayload{"payload", kPayloadSpecs};
constexpr AttributeTable kBitwise{"bitwise", kBitwiseSpecs};
constexpr AttributeTable kCmp{"cmp", kCmpSpecs};
constexpr AttributeTable kLookup{"lookup", kLookupSpecs};
constexpr AttributeTable kRange{"range", kRangeSpecs};
constexpr AttributeTable kLimit{"limit", kLimitSpecs};
constexpr AttributeTable kImmediate{"immediate", kImmediateSpecs};
constexpr AttributeTable kMatch{"match", kMatchSpecs};
constexpr AttributeTable kTarget{"target", kTargetSpecs};

}  // namespace vethgate::nft
