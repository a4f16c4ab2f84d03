// The comparison walks both messages along the tables that the decoders use, in step; see
// readings.hpp. It runs after every privilege is gone, as every other look into a message does.
#include "verifier/readings.hpp"

#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "netlink/reader.hpp"
#include "probe/link_selection.hpp"
#include "verifier/envelope.hpp"
#include "verifier/tc_tables.hpp"

namespace vethgate {
namespace {

// An attribute whose value differs between two readings of one state: counters and times. By the
// table that lists it, since numbers repeat from table to table.
struct Restless {
  const char* table;
  std::uint16_t type;
};
constexpr std::array kRestless = {
    Restless{"RTM_NEWLINK", IFLA_STATS},
    Restless{"RTM_NEWLINK", IFLA_STATS64},
    Restless{"RTM_NEWLINK", IFLA_CARRIER_CHANGES},
    Restless{"RTM_NEWLINK", IFLA_CARRIER_UP_COUNT},
    Restless{"RTM_NEWLINK", IFLA_CARRIER_DOWN_COUNT},
    Restless{"RTM_NEWLINK", IFLA_PROMISCUITY},
    Restless{"RTM_NEWLINK", IFLA_ALLMULTI},
    Restless{"RTM_NEWLINK", IFLA_AF_SPEC},  // IPv6 puts its counters there
    Restless{"qdisc", TCA_STATS},
    Restless{"stats", TCA_STATS_BASIC},
    Restless{"stats", TCA_STATS_BASIC_HW},
    Restless{"stats", TCA_STATS_PKT64},
    Restless{"stats", TCA_STATS_QUEUE},
    Restless{"gact", TCA_GACT_TM},
};

bool isRestless(const AttributeTable& table, std::uint16_t type) {
  return std::any_of(kRestless.begin(), kRestless.end(), [&](const Restless& one) {
    return one.type == type && std::string_view(one.table) == table.name;
  });
}

const AttributeTable* tableBelow(const AttributeTable& table, std::uint16_t type) {
  if (table.element != nullptr) {
    return table.element->table;
  }
  const auto spec = std::find_if(table.specs.begin(), table.specs.end(),
                                 [type](const AttributeSpec& one) { return one.type == type; });
  return spec == table.specs.end() ? nullptr : spec->table;
}

bool sameBytes(ByteView left, ByteView right) {
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

struct Attribute {
  std::uint16_t header = 0;  // its type with the NLA_F_* bits
  ByteView value;
};

// Takes the first attribute off; nothing when what is left holds none, which is then for the
// decoder of the first reading to refuse.
std::optional<Attribute> takeAttribute(ByteView& rest) {
  nlattr header{};
  if (rest.size() < sizeof header) {
    return std::nullopt;
  }
  std::memcpy(&header, rest.data(), sizeof header);
  if (header.nla_len < sizeof header || header.nla_len > rest.size()) {
    return std::nullopt;
  }
  const Attribute attribute{header.nla_type,
                            rest.subspan(sizeof header, header.nla_len - sizeof header)};
  // The last attribute may end without its padding, but not amid it.
  const std::size_t step =
      header.nla_len == rest.size() ? header.nla_len : NLA_ALIGN(header.nla_len);
  if (step > rest.size()) {
    return std::nullopt;
  }
  const ByteView padding = rest.subspan(header.nla_len, step - header.nla_len);
  if (std::any_of(padding.begin(), padding.end(), [](std::uint8_t byte) { return byte != 0; })) {
    return std::nullopt;
  }
  rest = rest.subspan(step);
  return attribute;
}

// Attributes of one level, in step: the kernel writes them in one order.
bool sameAttributes(const AttributeTable& table, ByteView left, ByteView right) {
  if (sameBytes(left, right)) {
    return true;
  }
  while (!left.empty() && !right.empty()) {
    const auto first = takeAttribute(left);
    const auto second = takeAttribute(right);
    if (!first || !second || first->header != second->header) {
      return false;
    }
    const auto type = static_cast<std::uint16_t>(first->header & NLA_TYPE_MASK);
    if (sameBytes(first->value, second->value) ||
        (first->value.size() == second->value.size() && isRestless(table, type))) {
      continue;
    }
    const AttributeTable* const below = tableBelow(table, type);
    if (below == nullptr || !sameAttributes(*below, first->value, second->value)) {
      return false;
    }
  }
  return left.empty() && right.empty();
}

bool sameFixed(DumpId id, const RawMessage& left, const RawMessage& right) {
  if (id == DumpId::kLinks) {
    return sameBytes(ByteView(left).subspan(sizeof(nlmsghdr), sizeof(ifinfomsg)),
                     ByteView(right).subspan(sizeof(nlmsghdr), sizeof(ifinfomsg)));
  }
  auto first = fixedHeader<tcmsg>(left);
  auto second = fixedHeader<tcmsg>(right);
  if (id == DumpId::kQdiscs) {
    // The reference count, which rises for a moment with every concurrent reader.
    first.tcm_info = 0;
    second.tcm_info = 0;
  }
  return std::memcmp(&first, &second, sizeof first) == 0;
}

const AttributeTable& tableOf(DumpId id) {
  switch (id) {
    case DumpId::kLinks:
      return kLinkTable;
    case DumpId::kQdiscs:
      return tc::kQdisc;
    case DumpId::kFiltersEgress:
    case DumpId::kFiltersIngress:
      return tc::kFilter;
    default:
      return tc::kChain;
  }
}

bool sameMessage(DumpId id, const RawMessage& left, const RawMessage& right) {
  if (!sameFixed(id, left, right)) {
    return false;
  }
  return id == DumpId::kLinks
             ? sameAttributes(tableOf(id), attributesOf<ifinfomsg>(left),
                              attributesOf<ifinfomsg>(right))
             : sameAttributes(tableOf(id), attributesOf<tcmsg>(left), attributesOf<tcmsg>(right));
}

}  // namespace

void compareReadings(const Capture& capture, Findings& findings) {
  for (std::size_t i = 0; i < kReadTwice; ++i) {
    const auto id = static_cast<DumpId>(i);
    const auto before = messagesOf(capture, id);
    const auto after = messagesOf(capture, againOf(id));
    const auto [first, second] =
        std::mismatch(before.begin(), before.end(), after.begin(), after.end(),
                      [id](const RawMessage& left, const RawMessage& right) {
                        return sameMessage(id, left, right);
                      });
    if (first != before.end() || second != after.end()) {
      findings.add("dump " + std::string(dumpName(againOf(id))) + ": message " +
                   std::to_string(first - before.begin()) +
                   " is not what the first reading says: the namespace changed unannounced");
    }
  }
}

}  // namespace vethgate
