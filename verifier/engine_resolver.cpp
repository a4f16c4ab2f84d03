// The only table `ip nat` that is accepted, attribute by attribute; see engine_resolver.hpp.
#include "verifier/engine_resolver.hpp"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_nat.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter_ipv4.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "render/plan.hpp"
#include "verifier/expect.hpp"
#include "verifier/nft_layout.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate::nft {
namespace {

constexpr std::string_view kTableName = "nat";
constexpr std::array<std::uint8_t, 4> kResolver = {127, 0, 0, 11};
constexpr std::uint16_t kDnsPort = 53;

// Offsets within a header; RFC 791, RFC 9293, RFC 768.
constexpr std::uint32_t kProtocolAt = 9;
constexpr std::uint32_t kSourceAt = 12;
constexpr std::uint32_t kDestinationAt = 16;
constexpr std::uint32_t kSourcePortAt = 0;
constexpr std::uint32_t kDestinationPortAt = 2;

// XT_ALIGN() of the structures of linux/netfilter/nf_nat.h: the kernel pads with zeros.
constexpr std::size_t kDnatBytes = 48;  // struct nf_nat_range2, revision 2
constexpr std::size_t kSnatBytes = 24;  // struct nf_nat_ipv4_multi_range_compat, revision 0
static_assert(sizeof(nf_nat_range2) <= kDnatBytes);
static_assert(sizeof(nf_nat_ipv4_multi_range_compat) <= kSnatBytes);

// The chains in the order in which they are made. A base chain holds a jump; the chain that it
// leads to, the one before it, holds the translations of tcp and of udp.
struct Shape {
  std::string_view name;
  bool base;
  std::uint32_t hook;
  std::int32_t priority;
  std::size_t rules;
  std::uint32_t uses;  // its rules, and the jumps to it
};
constexpr std::array kShapes = {
    Shape{"DOCKER_OUTPUT", false, 0, 0, 2, 3},
    Shape{"OUTPUT", true, NF_INET_LOCAL_OUT, NF_IP_PRI_NAT_DST, 1, 1},
    Shape{"DOCKER_POSTROUTING", false, 0, 0, 2, 3},
    Shape{"POSTROUTING", true, NF_INET_POST_ROUTING, NF_IP_PRI_NAT_SRC, 1, 1},
};
constexpr std::size_t kDestination = 0;  // the index of DOCKER_OUTPUT
constexpr std::array<std::uint8_t, 2> kProtocols = {kProtocolTcp, kProtocolUdp};
constexpr std::size_t kRules = 6;
constexpr std::size_t kMessages = 1 + kShapes.size() + kRules;

std::string placeOf(std::size_t chain, std::size_t number) {
  return "ip nat " + std::string(kShapes.at(chain).name) + " #" + std::to_string(number);
}

std::array<std::uint8_t, 2> networkOrder(std::uint16_t port) {
  return {static_cast<std::uint8_t>(port >> 8), static_cast<std::uint8_t>(port)};
}

// The number of the chain of this name; refuses another name, and one that stands behind its place.
std::size_t chainOf(const AttributeReader& reader, std::string_view name, std::size_t last,
                    const std::string& what) {
  const auto* const shape = std::find_if(kShapes.begin(), kShapes.end(),
                                         [name](const Shape& one) { return one.name == name; });
  const std::string text = what + chainText(NFPROTO_IPV4, kTableName, name);
  if (shape == kShapes.end()) {
    reader.refuse(text + ", expected none but of the engine's resolver");
  }
  const auto chain = static_cast<std::size_t>(shape - kShapes.begin());
  if (chain < last) {
    reader.refuse(text + " stands behind " + std::string(kShapes.at(last).name) +
                  ", expected ahead of it");
  }
  return chain;
}

template <class Value>
void put(std::span<std::uint8_t> bytes, std::size_t at, const Value& value) {
  std::memcpy(bytes.subspan(at, sizeof value).data(), &value, sizeof value);
}

void expectBytes(const AttributeReader& reader, std::uint16_t type, ByteView found,
                 ByteView expected) {
  if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end())) {
    reader.refuse(type, "is " + toHex(found) + ", expected " + toHex(expected));
  }
}

}  // namespace

// The expressions of one rule, each asked for in its turn.
class EngineTable::Expressions {
 public:
  explicit Expressions(AttributeReader& rule) : list_(rule.nested(NFTA_RULE_EXPRESSIONS)) {
    for (AttributeReader& element : list_.elements(NFTA_LIST_ELEM)) {
      names_.push_back(element.string(NFTA_EXPR_NAME));
      elements_.push_back(std::move(element));
    }
    list_.finish();
  }

  [[nodiscard]] bool startsWith(std::string_view name) const {
    return !names_.empty() && names_.front() == name;
  }

  void l4Protocol() {
    AttributeReader data = next("meta", kMeta);
    expectU32(data, NFTA_META_DREG, NFT_REG_1);
    expectU32(data, NFTA_META_KEY, NFT_META_L4PROTO);
    data.finish();
  }

  void load(std::uint32_t base, std::uint32_t offset, std::uint32_t length) {
    AttributeReader data = next("payload", kPayload);
    expectU32(data, NFTA_PAYLOAD_DREG, NFT_REG_1);
    expectU32(data, NFTA_PAYLOAD_BASE, base);
    expectU32(data, NFTA_PAYLOAD_OFFSET, offset);
    expectU32(data, NFTA_PAYLOAD_LEN, length);
    data.finish();
  }

  void equals(ByteView expected) {
    AttributeReader data = next("cmp", kCmp);
    expectU32(data, NFTA_CMP_SREG, NFT_REG_1);
    expectU32(data, NFTA_CMP_OP, NFT_CMP_EQ);
    AttributeReader value = data.nested(NFTA_CMP_DATA);
    expectBytes(value, NFTA_DATA_VALUE, value.bytes(NFTA_DATA_VALUE), expected);
    value.finish();
    data.finish();
  }

  void address(std::uint32_t offset) {
    load(NFT_PAYLOAD_NETWORK_HEADER, offset, kResolver.size());
    equals(kResolver);
  }

  void counter() {
    AttributeReader data = next("counter", kCounter);
    data.discard(NFTA_COUNTER_BYTES, "grows with traffic");
    data.discard(NFTA_COUNTER_PACKETS, "grows with traffic");
    data.finish();
  }

  void jump(std::string_view chain) {
    AttributeReader data = next("immediate", kImmediate);
    expectU32(data, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    AttributeReader value = data.nested(NFTA_IMMEDIATE_DATA);
    AttributeReader verdict = value.nested(NFTA_DATA_VERDICT);
    expectU32(verdict, NFTA_VERDICT_CODE, static_cast<std::uint32_t>(NFT_JUMP));
    const std::string_view to = verdict.string(NFTA_VERDICT_CHAIN);
    if (to != chain) {
      verdict.refuse(NFTA_VERDICT_CHAIN,
                     "is \"" + printable(to) + "\", expected " + std::string(chain));
    }
    verdict.finish();
    value.finish();
    data.finish();
  }

  // To 127.0.0.11 and the port that it returns.
  std::uint16_t translateDestination() {
    AttributeReader data = next("target", kTarget);
    const ByteView info = target(data, "DNAT", 2, kDnatBytes);
    std::array<std::uint8_t, 2> port{};
    std::copy_n(info.begin() + offsetof(nf_nat_range2, min_proto), port.size(), port.begin());
    std::array<std::uint8_t, kDnatBytes> expected{};
    constexpr unsigned kFlags = NF_NAT_RANGE_MAP_IPS | NF_NAT_RANGE_PROTO_SPECIFIED;
    put(expected, offsetof(nf_nat_range2, flags), kFlags);
    put(expected, offsetof(nf_nat_range2, min_addr), kResolver);
    put(expected, offsetof(nf_nat_range2, max_addr), kResolver);
    put(expected, offsetof(nf_nat_range2, min_proto), port);
    put(expected, offsetof(nf_nat_range2, max_proto), port);
    expectBytes(data, NFTA_TARGET_INFO, info, expected);
    const auto number = static_cast<std::uint16_t>(port[0] << 8 | port[1]);
    if (number == 0) {
      data.refuse(NFTA_TARGET_INFO, "leads to port 0, where nobody can listen");
    }
    data.finish();
    return number;
  }

  // To the port 53 of the same address.
  void translateSource() {
    constexpr std::size_t kFirst = offsetof(nf_nat_ipv4_multi_range_compat, range);
    constexpr unsigned kOne = 1;
    constexpr unsigned kFlags = NF_NAT_RANGE_PROTO_SPECIFIED;
    const auto port = networkOrder(kDnsPort);
    std::array<std::uint8_t, kSnatBytes> expected{};
    put(expected, offsetof(nf_nat_ipv4_multi_range_compat, rangesize), kOne);
    put(expected, kFirst + offsetof(nf_nat_ipv4_range, flags), kFlags);
    put(expected, kFirst + offsetof(nf_nat_ipv4_range, min), port);
    put(expected, kFirst + offsetof(nf_nat_ipv4_range, max), port);
    AttributeReader data = next("target", kTarget);
    expectBytes(data, NFTA_TARGET_INFO, target(data, "SNAT", 0, kSnatBytes), expected);
    data.finish();
  }

  void finish() const {
    if (position_ != elements_.size()) {
      elements_[position_].refuse(NFTA_EXPR_NAME, "is \"" + printable(names_[position_]) +
                                                      "\", expected the end of the rule");
    }
  }

 private:
  AttributeReader next(const char* name, const AttributeTable& table) {
    if (position_ == elements_.size()) {
      throw Failure(ExitCode::kRefused,
                    std::string("the rule ends where \"") + name + "\" is expected");
    }
    AttributeReader& element = elements_[position_];
    if (names_[position_] != name) {
      element.refuse(NFTA_EXPR_NAME,
                     "is \"" + printable(names_[position_]) + "\", expected " + name);
    }
    AttributeReader data = element.nestedAs(NFTA_EXPR_DATA, table, name);
    element.finish();
    ++position_;
    return data;
  }

  static ByteView target(AttributeReader& data, std::string_view name, std::uint32_t revision,
                         std::size_t size) {
    const std::string_view found = data.string(NFTA_TARGET_NAME);
    if (found != name) {
      data.refuse(NFTA_TARGET_NAME,
                  "is \"" + printable(found) + "\", expected " + std::string(name));
    }
    expectU32(data, NFTA_TARGET_REV, revision);
    const ByteView info = data.bytes(NFTA_TARGET_INFO);
    expect(data, NFTA_TARGET_INFO, info.size(), size);
    return info;
  }

  AttributeReader list_;
  std::vector<std::string_view> names_;
  std::vector<AttributeReader> elements_;
  std::size_t position_ = 0;
};

bool EngineTable::owns(std::uint8_t family, std::string_view table) noexcept {
  return family == NFPROTO_IPV4 && table == kTableName;
}

void EngineTable::readRule(AttributeReader& rule, std::string_view chain, std::string& place) {
  ++messages_;
  const std::size_t index = chainOf(rule, chain, lastRuleChain_, "a rule in ");
  lastRuleChain_ = index;
  const std::size_t number = rules_.at(index)++;
  place = placeOf(index, number + 1);
  if (number >= kShapes.at(index).rules) {
    rule.refuse("is there, expected " + std::to_string(kShapes.at(index).rules) + " in this chain");
  }
  positions_.at(index).follow(rule);
  Expressions expressions(rule);
  if (kShapes.at(index).base) {
    expressions.address(kDestinationAt);
    expressions.counter();
    expressions.jump(kShapes.at(index - 1).name);
  } else {
    readTranslation(expressions, index, kProtocols.at(number));
  }
  expressions.finish();
  rule.finish();
  ++accepted_;
}

// iptables-nft 1.8.9 matches the protocol first and as meta data, 1.8.11 in the header and behind
// the address. One program writes all rules.
void EngineTable::readTranslation(Expressions& expressions, std::size_t chain,
                                  std::uint8_t protocol) {
  const Writer writer =
      writer_.value_or(expressions.startsWith("meta") ? Writer::kMeta : Writer::kPayload);
  writer_ = writer;
  const bool destination = chain == kDestination;
  const std::uint32_t address = destination ? kDestinationAt : kSourceAt;
  if (writer == Writer::kMeta) {
    expressions.l4Protocol();
    expressions.equals(std::array{protocol});
    expressions.address(address);
  } else {
    expressions.address(address);
    expressions.load(NFT_PAYLOAD_NETWORK_HEADER, kProtocolAt, 1);
    expressions.equals(std::array{protocol});
  }
  std::uint16_t& listener = protocol == kProtocolTcp ? ports_.tcp : ports_.udp;
  if (!destination && listener == 0) {
    throw Failure(ExitCode::kRefused,
                  "is the way back of " +
                      placeOf(kDestination, protocol == kProtocols.front() ? 1 : 2) +
                      ", which is missing");
  }
  expressions.load(NFT_PAYLOAD_TRANSPORT_HEADER, destination ? kDestinationPortAt : kSourcePortAt,
                   2);
  expressions.equals(networkOrder(destination ? kDnsPort : listener));
  expressions.counter();
  if (destination) {
    listener = expressions.translateDestination();
  } else {
    expressions.translateSource();
  }
}

void EngineTable::readTable(AttributeReader& table) {
  ++messages_;
  if (std::exchange(tableSeen_, true)) {
    table.refuse(tableText(NFPROTO_IPV4, kTableName) + " stands twice");
  }
  expectU32(table, NFTA_TABLE_FLAGS, 0);
  expectU32(table, NFTA_TABLE_USE, kShapes.size());
  table.discard(NFTA_TABLE_HANDLE, "names the table for deletion; no packet meets it");
  table.finish();
  ++accepted_;
}

void EngineTable::readChain(AttributeReader& chain, std::string_view name) {
  ++messages_;
  const std::size_t index =
      chainOf(chain, name, lastChain_, chain.has(NFTA_CHAIN_HOOK) ? "base " : "");
  lastChain_ = index;
  const Shape& shape = kShapes.at(index);
  if (std::exchange(chainsSeen_.at(index), true)) {
    chain.refuse(chainText(NFPROTO_IPV4, kTableName, name) + " stands twice");
  }
  if (shape.base) {
    AttributeReader hook = chain.nested(NFTA_CHAIN_HOOK);
    expectU32(hook, NFTA_HOOK_HOOKNUM, shape.hook);
    expectU32(hook, NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(shape.priority));
    hook.finish();
    expectU32(chain, NFTA_CHAIN_POLICY, NF_ACCEPT);
    expectU32(chain, NFTA_CHAIN_FLAGS, NFT_CHAIN_BASE);
    const std::string_view type = chain.string(NFTA_CHAIN_TYPE);
    if (type != "nat") {
      chain.refuse(NFTA_CHAIN_TYPE, "is \"" + printable(type) + "\", expected nat");
    }
    // Of what reached the policy; some versions of iptables-nft ask for them.
    if (auto counters = chain.maybeNested(NFTA_CHAIN_COUNTERS)) {
      counters->discard(NFTA_COUNTER_BYTES, "grows with traffic");
      counters->discard(NFTA_COUNTER_PACKETS, "grows with traffic");
      counters->finish();
    }
  }
  expectU32(chain, NFTA_CHAIN_USE, shape.uses);
  chain.discard(NFTA_CHAIN_HANDLE, "names the chain for deletion; no packet meets it");
  chain.finish();
  ++accepted_;
}

std::optional<EngineResolver> EngineTable::finish(bool rulesRead, Findings& findings) const {
  if (messages_ == 0) {
    return std::nullopt;
  }
  if (messages_ == kMessages && accepted_ == kMessages) {
    return ports_;
  }
  std::string missing;
  const auto add = [&missing](const std::string& what) {
    missing += (missing.empty() ? ": missing " : ", ") + what;
  };
  for (std::size_t chain = 0; chain < kShapes.size(); ++chain) {
    if (!chainsSeen_.at(chain)) {
      add("chain " + std::string(kShapes.at(chain).name));
    }
    for (std::size_t number = rules_.at(chain); rulesRead && number < kShapes.at(chain).rules;
         ++number) {
      add("rule " + placeOf(chain, number + 1));
    }
  }
  findings.add("table ip nat is there, expected none but that of the engine's resolver" + missing);
  return std::nullopt;
}

}  // namespace vethgate::nft
