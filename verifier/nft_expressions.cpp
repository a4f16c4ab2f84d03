// Bytes of NFTA_EXPR_DATA to values; see nft_expressions.hpp.
#include "verifier/nft_expressions.hpp"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "verifier/expect.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate::nft {
namespace {

// struct ip6t_icmp (linux/netfilter_ipv6/ip6_tables.h), rounded up to 8 bytes.
constexpr std::size_t kIcmp6InfoBytes = 8;
// struct ip6t_hl_info (linux/netfilter_ipv6/ip6t_hl.h), rounded up to 8 bytes.
constexpr std::size_t kHopLimitInfoBytes = 8;
// struct xt_log_info (linux/netfilter/xt_LOG.h): level, flags, prefix[30].
constexpr std::size_t kLogInfoBytes = 32;
constexpr std::size_t kLogPrefixAt = 2;
constexpr std::uint8_t kLogLevelWarning = 4;

Value readValue(AttributeReader& parent, std::uint16_t type) {
  AttributeReader data = parent.nested(type);
  const ByteView bytes = data.bytes(NFTA_DATA_VALUE);
  data.finish();
  Value value;
  value.size = static_cast<std::uint8_t>(bytes.size());  // the table allows at most 16
  std::copy(bytes.begin(), bytes.end(), value.bytes.begin());
  return value;
}

Expression readMeta(AttributeReader& data) {
  expectU32(data, NFTA_META_DREG, NFT_REG_1);
  const std::uint32_t key = data.u32(NFTA_META_KEY);
  if (key != NFT_META_L4PROTO) {
    data.refuse(NFTA_META_KEY, "is " + std::to_string(key) + ", expected " +
                                   std::to_string(NFT_META_L4PROTO) +
                                   " (l4proto): a plan matches on no other meta data");
  }
  return MetaL4Protocol{};
}

Expression readPayload(AttributeReader& data) {
  expectU32(data, NFTA_PAYLOAD_DREG, NFT_REG_1);
  PayloadLoad load;
  load.base = data.u32(NFTA_PAYLOAD_BASE);
  load.offset = data.u32(NFTA_PAYLOAD_OFFSET);
  load.length = data.u32(NFTA_PAYLOAD_LEN);
  return load;
}

Expression readBitwise(AttributeReader& data) {
  expectU32(data, NFTA_BITWISE_SREG, NFT_REG_1);
  expectU32(data, NFTA_BITWISE_DREG, NFT_REG_1);
  expectU32(data, NFTA_BITWISE_OP, NFT_BITWISE_BOOL);
  const std::uint32_t length = data.u32(NFTA_BITWISE_LEN);
  const Mask result{readValue(data, NFTA_BITWISE_MASK)};
  expect(data, NFTA_BITWISE_LEN, length, result.mask.size);
  Value zero;
  zero.size = result.mask.size;
  if (readValue(data, NFTA_BITWISE_XOR) != zero) {
    data.refuse(NFTA_BITWISE_XOR, "is not " + std::to_string(zero.size) + " zero bytes");
  }
  return result;
}

Expression readCmp(AttributeReader& data) {
  expectU32(data, NFTA_CMP_SREG, NFT_REG_1);
  const std::uint32_t op = data.u32(NFTA_CMP_OP);
  const Value value = readValue(data, NFTA_CMP_DATA);
  switch (op) {
    case NFT_CMP_EQ:
      return Equals{value};
    case NFT_CMP_GTE:
      return AtLeast{value};
    case NFT_CMP_LTE:
      return AtMost{value};
    default:
      data.refuse(NFTA_CMP_OP,
                  "is " + std::to_string(op) + ", expected 0 (equal), 5 (at least) or 3 (at most)");
  }
}

Expression readLookup(AttributeReader& data) {
  expectU32(data, NFTA_LOOKUP_SREG, NFT_REG_1);
  const std::uint32_t flags = data.u32(NFTA_LOOKUP_FLAGS);
  if (flags != 0) {
    data.refuse(NFTA_LOOKUP_FLAGS, "is " + std::to_string(flags) +
                                       ", expected 0: an inverted lookup matches the rest");
  }
  return Lookup{std::string(data.string(NFTA_LOOKUP_SET))};
}

Expression readRange(AttributeReader& data) {
  expectU32(data, NFTA_RANGE_SREG, NFT_REG_1);
  const std::uint32_t op = data.u32(NFTA_RANGE_OP);
  if (op != NFT_RANGE_EQ) {
    data.refuse(NFTA_RANGE_OP, "is " + std::to_string(op) + ", expected 0 (within)");
  }
  Within result{readValue(data, NFTA_RANGE_FROM_DATA), readValue(data, NFTA_RANGE_TO_DATA)};
  if (result.first.size != result.last.size) {
    data.refuse(NFTA_RANGE_TO_DATA, "has another size than the start of the range");
  }
  return result;
}

Expression readLimit(AttributeReader& data) {
  RateLimit limit;
  limit.rate = data.u64(NFTA_LIMIT_RATE);
  limit.unit = data.u64(NFTA_LIMIT_UNIT);
  limit.burst = data.u32(NFTA_LIMIT_BURST);
  expectU32(data, NFTA_LIMIT_TYPE, NFT_LIMIT_PKTS);
  const std::uint32_t flags = data.u32(NFTA_LIMIT_FLAGS);
  if (flags != 0) {
    data.refuse(NFTA_LIMIT_FLAGS, "is " + std::to_string(flags) +
                                      ", expected 0: an inverted limit matches the excess");
  }
  return limit;
}

Expression readCounter(AttributeReader& data) {
  data.discard(NFTA_COUNTER_BYTES, "grows with traffic; no verdict depends on it");
  return Counter{data.u64(NFTA_COUNTER_PACKETS)};
}

Expression readImmediate(AttributeReader& data) {
  expectU32(data, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
  AttributeReader value = data.nested(NFTA_IMMEDIATE_DATA);
  AttributeReader verdict = value.nested(NFTA_DATA_VERDICT);
  value.finish();
  const std::uint32_t code = verdict.u32(NFTA_VERDICT_CODE);
  if (code != NF_ACCEPT && code != NF_DROP) {
    const auto chain = verdict.maybeString(NFTA_VERDICT_CHAIN);
    verdict.refuse(NFTA_VERDICT_CODE,
                   "is " + std::to_string(static_cast<std::int32_t>(code)) +
                       (chain ? " to chain " + std::string(*chain) : std::string()) +
                       ", expected 1 (accept) or 0 (drop)");
  }
  verdict.finish();
  return code == NF_ACCEPT ? Expression(Accept{}) : Expression(Drop{});
}

// The payload of an xt extension, of exactly `size` bytes; the kernel pads it with zeros.
ByteView readInfo(AttributeReader& data, std::uint16_t type, std::size_t size) {
  const ByteView info = data.bytes(type);
  expect(data, type, info.size(), size);
  return info;
}

bool zeroFrom(ByteView bytes, std::size_t start) {
  return std::all_of(bytes.begin() + static_cast<std::ptrdiff_t>(start), bytes.end(),
                     [](std::uint8_t byte) { return byte == 0; });
}

Expression readMatch(AttributeReader& data) {
  const std::string_view name = data.string(NFTA_MATCH_NAME);
  expectU32(data, NFTA_MATCH_REV, 0);
  if (name == "icmp6") {
    const ByteView info = readInfo(data, NFTA_MATCH_INFO, kIcmp6InfoBytes);
    // type, lowest and highest code, inversion flags
    if (info[1] != 0 || info[2] != 0xff || !zeroFrom(info, 3)) {
      data.refuse(NFTA_MATCH_INFO, "is not one icmp6 type with any code and without inversion");
    }
    return Icmp6Type{info[0]};
  }
  if (name == "hl") {
    const ByteView info = readInfo(data, NFTA_MATCH_INFO, kHopLimitInfoBytes);
    // mode (0 is "equal"), hop limit
    if (info[0] != 0 || !zeroFrom(info, 2)) {
      data.refuse(NFTA_MATCH_INFO, "is not a hop limit matched for equality");
    }
    return HopLimitEquals{info[1]};
  }
  data.refuse(NFTA_MATCH_NAME, "is \"" + std::string(name) + "\", expected icmp6 or hl");
}

Expression readTarget(AttributeReader& data) {
  const std::string_view name = data.string(NFTA_TARGET_NAME);
  if (name != "LOG") {
    data.refuse(NFTA_TARGET_NAME, "is \"" + std::string(name) + "\", expected LOG");
  }
  expectU32(data, NFTA_TARGET_REV, 0);
  const ByteView info = readInfo(data, NFTA_TARGET_INFO, kLogInfoBytes);
  if (info[0] != kLogLevelWarning || info[1] != 0) {
    data.refuse(NFTA_TARGET_INFO, "has the level " + std::to_string(info[0]) + " and the flags " +
                                      std::to_string(info[1]) + ", expected 4 and 0");
  }
  const ByteView text = info.subspan(kLogPrefixAt);
  const auto end = std::find(text.begin(), text.end(), std::uint8_t{0});
  if (end == text.end() || !zeroFrom(text, static_cast<std::size_t>(end - text.begin()))) {
    data.refuse(NFTA_TARGET_INFO, "has a prefix that does not end in zeros");
  }
  return LogTarget{std::string(text.begin(), end)};
}

struct Decoder {
  const char* name;
  const AttributeTable* table;
  Expression (*read)(AttributeReader&);
};
constexpr std::array kDecoders = {
    Decoder{"payload", &kPayload, readPayload}, Decoder{"cmp", &kCmp, readCmp},
    Decoder{"counter", &kCounter, readCounter}, Decoder{"immediate", &kImmediate, readImmediate},
    Decoder{"bitwise", &kBitwise, readBitwise}, Decoder{"limit", &kLimit, readLimit},
    Decoder{"target", &kTarget, readTarget},    Decoder{"meta", &kMeta, readMeta},
    Decoder{"range", &kRange, readRange},       Decoder{"match", &kMatch, readMatch},
    Decoder{"lookup", &kLookup, readLookup},
};

const Decoder* decoderOf(std::string_view name) {
  const auto decoder = std::find_if(kDecoders.begin(), kDecoders.end(),
                                    [name](const Decoder& entry) { return entry.name == name; });
  return decoder == kDecoders.end() ? nullptr : &*decoder;
}

Expression readExpression(AttributeReader& element) {
  const std::string_view name = element.string(NFTA_EXPR_NAME);
  const Decoder* const decoder = decoderOf(name);
  if (decoder == nullptr) {
    element.refuse(NFTA_EXPR_NAME,
                   "is \"" + std::string(name) + "\", which no rule of a plan is made of");
  }
  AttributeReader data = element.nestedAs(NFTA_EXPR_DATA, *decoder->table, decoder->name);
  element.finish();
  Expression expression = decoder->read(data);
  data.finish();
  return expression;
}

}  // namespace

const char* nameOf(const Expression& expression) {
  static constexpr std::array<const char*, std::variant_size_v<Expression>> kNames = {
      "meta load l4proto",
      "payload load",
      "bitwise and",
      "comparison",
      "range",
      "limit",
      "counter",
      "verdict accept",
      "verdict drop",
      "match icmp6",
      "match hl",
      "target LOG",
      "comparison (at least)",
      "comparison (at most)",
      "lookup"};
  return kNames[expression.index()];
}

const AttributeTable* expressionTable(std::string_view name) {
  const Decoder* const decoder = decoderOf(name);
  return decoder == nullptr ? nullptr : decoder->table;
}

void readExpressions(AttributeReader& rule, std::vector<Expression>& expressions) {
  expressions.clear();
  AttributeReader list = rule.nested(NFTA_RULE_EXPRESSIONS);
  for (AttributeReader& element : list.elements(NFTA_LIST_ELEM)) {
    expressions.push_back(readExpression(element));
  }
  list.finish();
}

}  // namespace vethgate::nft
