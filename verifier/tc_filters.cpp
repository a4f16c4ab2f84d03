// RTM_NEWTFILTER to FlowerFilter. For each pref the kernel sends one message for the classifier
// itself, with handle 0 and no options, and then one for each filter in it (tcf_chain_dump).
#include "verifier/tc_filters.hpp"

#include <arpa/inet.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_set>

#include "base/error.hpp"
#include "verifier/describe.hpp"
#include "verifier/envelope.hpp"
#include "verifier/expect.hpp"
#include "verifier/tc_tables.hpp"

namespace vethgate {
namespace {

constexpr std::uint32_t kEgressParent = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);

template <class Struct>
Struct structOf(ByteView bytes) {
  Struct value;
  static_assert(std::is_trivially_copyable_v<Struct>);
  std::memcpy(&value, bytes.data(), sizeof value);  // the table has fixed the size
  return value;
}

std::optional<EtherType> etherTypeOf(std::uint16_t protocol) {
  for (const EtherType known :
       {EtherType::kAll, EtherType::kIpv4, EtherType::kArp, EtherType::kIpv6}) {
    if (protocol == static_cast<std::uint16_t>(known)) {
      return known;
    }
  }
  return std::nullopt;
}

// A key and its mask. The mask must begin with ones and go on with zeros; the key must be zero
// there.
std::optional<Prefix> readDestination(AttributeReader& options, Family family) {
  const bool v4 = family == Family::kV4;
  const std::uint16_t keyType = v4 ? TCA_FLOWER_KEY_IPV4_DST : TCA_FLOWER_KEY_IPV6_DST;
  const std::uint16_t maskType = v4 ? TCA_FLOWER_KEY_IPV4_DST_MASK : TCA_FLOWER_KEY_IPV6_DST_MASK;
  const auto key = options.maybeBytes(keyType);
  if (!key) {
    return std::nullopt;  // a mask without its key is left over, and refused for that
  }
  const ByteView mask = options.bytes(maskType);
  const auto bit = [](ByteView bytes, unsigned index) {
    return (bytes[index / 8] >> (7 - index % 8) & 1) != 0;
  };
  const auto bits = static_cast<unsigned>(mask.size()) * 8;
  unsigned length = 0;
  while (length < bits && bit(mask, length)) {
    ++length;
  }
  for (unsigned index = length; index < bits; ++index) {
    if (bit(mask, index)) {
      options.refuse(maskType, "is not contiguous: " + toHex(mask));
    }
    if (bit(*key, index)) {
      options.refuse(keyType, "has bits beyond its mask: " + toHex(*key));
    }
  }
  if (length == 0) {
    options.refuse(maskType, "matches everything, expected the key to be absent then");
  }
  std::array<std::uint8_t, 16> bytes{};
  std::copy(key->begin(), key->end(), bytes.begin());
  return Prefix(Address(family, bytes), length);
}

std::optional<std::uint8_t> readByte(AttributeReader& options, std::uint16_t keyType,
                                     std::uint16_t maskType) {
  const auto key = options.maybeU8(keyType);
  if (key) {
    expect(options, maskType, options.u8(maskType), 0xff);
  }
  return key;
}

std::optional<PortRange> readPorts(AttributeReader& options, std::uint8_t protocol) {
  const bool tcp = protocol == kProtocolTcp;
  const std::uint16_t keyType = tcp ? TCA_FLOWER_KEY_TCP_DST : TCA_FLOWER_KEY_UDP_DST;
  const std::uint16_t maskType = tcp ? TCA_FLOWER_KEY_TCP_DST_MASK : TCA_FLOWER_KEY_UDP_DST_MASK;
  if (const auto port = options.maybeU16(keyType)) {
    expect(options, maskType, options.u16(maskType), 0xffff);
    if (*port == 0) {
      options.refuse(keyType, "is port 0");
    }
    return PortRange(*port, *port);
  }
  if (const auto first = options.maybeU16(TCA_FLOWER_KEY_PORT_DST_MIN)) {
    const std::uint16_t last = options.u16(TCA_FLOWER_KEY_PORT_DST_MAX);
    if (*first == 0 || *first >= last) {
      options.refuse(TCA_FLOWER_KEY_PORT_DST_MIN,
                     "is no lower end of a range of ports: " + std::to_string(*first) + " to " +
                         std::to_string(last));
    }
    return PortRange(*first, last);
  }
  return std::nullopt;
}

void readKeys(AttributeReader& options, FlowerFilter& filter) {
  const auto etherType = options.maybeU16(TCA_FLOWER_KEY_ETH_TYPE);
  const bool any = filter.protocol == EtherType::kAll;
  if (any == etherType.has_value() ||
      etherType.value_or(static_cast<std::uint16_t>(filter.protocol)) !=
          static_cast<std::uint16_t>(filter.protocol)) {
    options.refuse(TCA_FLOWER_KEY_ETH_TYPE, "is not the protocol that the pref is for");
  }
  if (filter.protocol != EtherType::kIpv4 && filter.protocol != EtherType::kIpv6) {
    return;
  }
  const Family family = filter.protocol == EtherType::kIpv4 ? Family::kV4 : Family::kV6;
  filter.to = readDestination(options, family);
  filter.ipProtocol = options.maybeU8(TCA_FLOWER_KEY_IP_PROTO);
  filter.hopLimit = readByte(options, TCA_FLOWER_KEY_IP_TTL, TCA_FLOWER_KEY_IP_TTL_MASK);
  const std::uint8_t protocol = filter.ipProtocol.value_or(0);
  if (protocol == kProtocolTcp || protocol == kProtocolUdp) {
    filter.ports = readPorts(options, protocol);
  }
  if (family == Family::kV6 && protocol == kProtocolIcmpV6) {
    filter.icmpType =
        readByte(options, TCA_FLOWER_KEY_ICMPV6_TYPE, TCA_FLOWER_KEY_ICMPV6_TYPE_MASK);
  }
}

// Packets that the action saw, which are those that the filter matched.
std::uint64_t readStats(AttributeReader stats) {
  std::uint64_t packets = structOf<gnet_stats_basic>(stats.bytes(TCA_STATS_BASIC)).packets;
  // Sent only when 32 bits do not hold the number.
  if (const auto wide = stats.maybeU64(TCA_STATS_PKT64)) {
    packets = *wide;
  }
  stats.discard(TCA_STATS_BASIC_HW, "the hardware's share of TCA_STATS_BASIC");
  stats.discard(TCA_STATS_QUEUE,
                "drops and overlimits repeat what the verdict and the packets say");
  stats.ignore(TCA_STATS_PAD, "alignment");
  stats.finish();
  return packets;
}

// Exactly one gact, owned by this filter alone: an action that is shared, or that somebody else
// holds, can be changed under a live filter.
void readAction(AttributeReader& options, ReadFilter& result,
                std::unordered_set<std::uint32_t>& indexes) {
  AttributeReader list = options.nested(TCA_FLOWER_ACT);
  std::vector<AttributeReader> actions = list.elements();
  if (actions.size() != 1) {
    list.refuse("holds " + std::to_string(actions.size()) + " actions, expected 1");
  }
  AttributeReader& action = actions.front();
  const std::string_view kind = action.string(TCA_ACT_KIND);
  if (kind != "gact") {
    action.refuse(TCA_ACT_KIND, "is \"" + std::string(kind) + "\", expected gact");
  }
  result.packets = readStats(action.nested(TCA_ACT_STATS));
  expect(action, TCA_ACT_IN_HW_COUNT, action.u32(TCA_ACT_IN_HW_COUNT), 0);
  AttributeReader gact = action.nested(TCA_ACT_OPTIONS);
  action.finish();
  list.finish();

  const auto parameters = structOf<tc_gact>(gact.bytes(TCA_GACT_PARMS));
  gact.discard(TCA_GACT_TM, "when the action was installed and used; no verdict depends on it");
  gact.ignore(TCA_GACT_PAD, "alignment");
  gact.finish();
  if (parameters.action != TC_ACT_SHOT && parameters.action != TC_ACT_OK) {
    gact.refuse(TCA_GACT_PARMS, "its action is " + std::to_string(parameters.action) +
                                    ", expected 2 (drop) or 0 (pass)");
  }
  if (parameters.refcnt != 1 || parameters.bindcnt != 1) {
    gact.refuse(TCA_GACT_PARMS, "its action has ref " + std::to_string(parameters.refcnt) +
                                    " and bind " + std::to_string(parameters.bindcnt) +
                                    ", expected 1 and 1: somebody else holds it");
  }
  if (parameters.capab != 0) {
    gact.refuse(TCA_GACT_PARMS, "capab is " + std::to_string(parameters.capab) + ", expected 0");
  }
  // The number itself is the kernel's choice.
  if (parameters.index == 0 || !indexes.insert(parameters.index).second) {
    gact.refuse(TCA_GACT_PARMS, "the index " + std::to_string(parameters.index) +
                                    " of its action is 0 or another filter's too");
  }
  result.filter.action =
      parameters.action == TC_ACT_SHOT ? FilterAction::kDrop : FilterAction::kPass;
}

void readOptions(AttributeReader options, ReadFilter& result,
                 std::unordered_set<std::uint32_t>& indexes) {
  readKeys(options, result.filter);
  // skip_sw would list the filter and never evaluate it; in_hw cannot be on a veth.
  expect(options, TCA_FLOWER_FLAGS, options.u32(TCA_FLOWER_FLAGS), TCA_CLS_FLAGS_NOT_IN_HW);
  expect(options, TCA_FLOWER_IN_HW_COUNT, options.u32(TCA_FLOWER_IN_HW_COUNT), 0);
  readAction(options, result, indexes);
  options.finish();
}

class FilterList {
 public:
  FilterList(std::uint32_t job, TcReadback& readback) : job_(job), readback_(readback) {}

  // Sets `place` as soon as it is known.
  void read(const RawMessage& message, std::string& place) {
    const auto header = fixedHeader<tcmsg>(message);
    const auto pref = static_cast<std::uint16_t>(TC_H_MAJ(header.tcm_info) >> 16);
    const std::uint16_t protocol = ntohs(static_cast<std::uint16_t>(TC_H_MIN(header.tcm_info)));
    AttributeReader reader(tc::kFilter, attributesOf<tcmsg>(message), "RTM_NEWTFILTER");
    const std::string_view kind = reader.string(TCA_KIND);
    if (kind != "flower") {
      reader.refuse(TCA_KIND, "is \"" + std::string(kind) + "\" at pref " + std::to_string(pref) +
                                  ", expected flower");
    }
    place = filterPlace(pref, header.tcm_handle);
    checkHeader(reader, header);
    const std::uint32_t chain = reader.u32(TCA_CHAIN);
    if (chain != 0) {
      reader.refuse(TCA_CHAIN, "is " + std::to_string(chain) +
                                   ", expected 0: no other chain is ever evaluated");
    }
    if (header.tcm_handle == 0) {
      startPref(reader, pref, protocol);
      reader.finish();
      return;
    }
    if (!open_ || pref != pref_ || protocol != protocol_) {
      reader.refuse("the filter does not follow the classifier of its pref and protocol");
    }
    ReadFilter result;
    result.filter.pref = pref;
    result.filter.handle = header.tcm_handle;
    result.filter.protocol = *etherTypeOf(protocol);  // startPref() has seen to that
    readOptions(reader.nested(TCA_OPTIONS), result, indexes_);
    reader.finish();
    empty_ = false;
    readback_.filters.push_back(std::move(result));
  }

  // After the last message: a classifier without a filter would be a pref that matches nothing.
  void finish() const {
    if (open_ && empty_) {
      throw Failure(ExitCode::kRefused,
                    "pref " + std::to_string(pref_) + " holds no filter, expected at least one");
    }
  }

 private:
  void checkHeader(const AttributeReader& reader, const tcmsg& header) const {
    if (header.tcm_family != AF_UNSPEC || header.tcm__pad1 != 0 || header.tcm__pad2 != 0) {
      reader.refuse("the family or padding of its header is not zero");
    }
    if (static_cast<std::uint32_t>(header.tcm_ifindex) != job_) {
      reader.refuse("belongs to link " + std::to_string(header.tcm_ifindex) + ", expected " +
                    std::to_string(job_));
    }
    if (header.tcm_parent != kEgressParent) {
      reader.refuse("its parent is " + std::to_string(header.tcm_parent) + ", expected " +
                    std::to_string(kEgressParent) + " (clsact egress)");
    }
  }

  void startPref(const AttributeReader& reader, std::uint16_t pref, std::uint16_t protocol) {
    finish();
    if (open_ && pref <= pref_) {
      reader.refuse("comes after pref " + std::to_string(pref_) + ", expected ascending prefs");
    }
    if (!etherTypeOf(protocol)) {
      reader.refuse("the protocol is " + std::to_string(protocol) +
                    ", expected all, ip, ipv6 or arp");
    }
    open_ = true;
    empty_ = true;
    pref_ = pref;
    protocol_ = protocol;
  }

  std::uint32_t job_;
  TcReadback& readback_;
  bool open_ = false;   // pref_ and protocol_ are those of the last classifier
  bool empty_ = false;  // and no filter of it has come yet
  std::uint16_t pref_ = 0;
  std::uint16_t protocol_ = 0;
  std::unordered_set<std::uint32_t> indexes_;
};

}  // namespace

std::string filterPlace(std::uint32_t pref, std::uint32_t handle) {
  return "flower pref " + std::to_string(pref) + " handle " + handleText(handle);
}

TcReadback readFilters(const Capture& capture, std::uint32_t job, Findings& findings) {
  TcReadback readback;
  FilterList list(job, readback);
  std::string place;
  std::size_t number = 0;
  try {
    for (const RawMessage& message : messagesOf(capture, DumpId::kFiltersEgress)) {
      place = "filters.egress message " + std::to_string(number++);
      list.read(message, place);
    }
    place = "filters.egress";
    list.finish();
  } catch (const Failure& failure) {
    findings.add(place + ": " + failure.what());
    readback.complete = false;
  }
  // Filters of one pref have no order among each other: several masks are tried in an order of
  // their own.
  std::sort(readback.filters.begin(), readback.filters.end(),
            [](const ReadFilter& left, const ReadFilter& right) {
              return std::pair(left.filter.pref, left.filter.handle) <
                     std::pair(right.filter.pref, right.filter.handle);
            });
  for (const RawMessage& message : messagesOf(capture, DumpId::kFiltersIngress)) {
    const auto header = fixedHeader<tcmsg>(message);
    findings.add(
        "filters.ingress: " + filterPlace(TC_H_MAJ(header.tcm_info) >> 16, header.tcm_handle) +
        " is on the ingress hook of link " + std::to_string(header.tcm_ifindex) +
        ", expected nothing there");
  }
  return readback;
}

}  // namespace vethgate
