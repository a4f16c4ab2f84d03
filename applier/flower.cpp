// Attributes stand in the order in which iproute2 6.1 sends them. It must not know why a filter
// exists.
#include "applier/flower.hpp"

#include <arpa/inet.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <string>

#include "base/error.hpp"
#include "netlink/message.hpp"

namespace vethgate {
namespace {

// TC_H_MIN_EGRESS and TC_H_CLSACT are linux/pkt_sched.h's; `parent ffff:fff3` in tc's spelling.
constexpr std::uint32_t kEgress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);
constexpr std::uint32_t kGuardHandle = 1;
// Attribute types within TCA_ACT_TAB and TCA_FLOWER_ACT count actions from 1.
constexpr std::uint16_t kFirstAction = 1;
constexpr std::uint8_t kWholeByte = 0xff;

tcmsg clsactHeader(std::uint32_t ifindex) {
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = static_cast<int>(ifindex);
  header.tcm_parent = TC_H_CLSACT;
  header.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
  return header;
}

tcmsg filterHeader(std::uint32_t ifindex, const FlowerFilter& filter) {
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = static_cast<int>(ifindex);
  header.tcm_parent = kEgress;
  header.tcm_handle = filter.handle;
  header.tcm_info = static_cast<std::uint32_t>(filter.pref) << 16 |
                    htons(static_cast<std::uint16_t>(filter.protocol));
  return header;
}

// The filter that `… flower action drop` at pref 100 is, so that one encoder writes all filters.
FlowerFilter guard() {
  FlowerFilter filter;
  filter.pref = kGuardPref;
  filter.handle = kGuardHandle;
  filter.protocol = EtherType::kAll;
  filter.action = FilterAction::kDrop;
  return filter;
}

// dst_ip <prefix>
void putDestination(MessageBuilder& builder, const Prefix& prefix) {
  const std::size_t length = prefix.base().bits() / 8;
  std::array<std::uint8_t, 16> mask{};
  for (unsigned bit = 0; bit < prefix.length(); ++bit) {
    mask.at(bit / 8) = static_cast<std::uint8_t>(mask.at(bit / 8) | 0x80U >> bit % 8);
  }
  const bool v4 = prefix.family() == Family::kV4;
  builder.put(v4 ? TCA_FLOWER_KEY_IPV4_DST : TCA_FLOWER_KEY_IPV6_DST,
              ByteView(prefix.base().bytes()).first(length));
  builder.put(v4 ? TCA_FLOWER_KEY_IPV4_DST_MASK : TCA_FLOWER_KEY_IPV6_DST_MASK,
              ByteView(mask).first(length));
}

// dst_port N  /  dst_port N-M
void putDestinationPorts(MessageBuilder& builder, bool tcp, const PortRange& ports) {
  if (ports.isSingle()) {
    // A range needs min < max; a single port without a mask attribute is matched whole.
    builder.putU16Be(tcp ? TCA_FLOWER_KEY_TCP_DST : TCA_FLOWER_KEY_UDP_DST, ports.first());
    return;
  }
  builder.putU16Be(TCA_FLOWER_KEY_PORT_DST_MIN, ports.first());
  builder.putU16Be(TCA_FLOWER_KEY_PORT_DST_MAX, ports.last());
}

// action pass  /  action drop
void putAction(MessageBuilder& builder, FilterAction action) {
  tc_gact parameters{};
  parameters.action = action == FilterAction::kPass ? TC_ACT_OK : TC_ACT_SHOT;
  const auto list = builder.nestUnmarked(TCA_FLOWER_ACT);
  const auto element = builder.nestUnmarked(kFirstAction);
  builder.putString(TCA_ACT_KIND, "gact");
  const auto options = builder.nest(TCA_ACT_OPTIONS);
  builder.put(TCA_GACT_PARMS,
              ByteView(reinterpret_cast<const std::uint8_t*>(&parameters), sizeof parameters));
}

void checkFilter(const FlowerFilter& filter) {
  const auto refuse = [&](const char* problem) {
    throw Failure(ExitCode::kUntouchable,
                  "the flower filter \"" + filter.why + "\" cannot be written: " + problem);
  };
  const bool v4 = filter.protocol == EtherType::kIpv4;
  const bool v6 = filter.protocol == EtherType::kIpv6;
  // pref and handle 0 ask the kernel to choose, which puts the filter somewhere else in the order.
  if (filter.pref == 0 || filter.handle == 0) {
    refuse("its pref or its handle is 0");
  }
  if (filter.to && filter.to->family() != (v4 ? Family::kV4 : Family::kV6)) {
    refuse("its destination is of another family than its protocol");
  }
  if (filter.to && filter.to->length() == 0) {
    refuse("its destination is a prefix of length 0");
  }
  const bool narrowed =
      filter.to || filter.ipProtocol || filter.ports || filter.icmpType || filter.hopLimit;
  if (narrowed && !v4 && !v6) {
    refuse("it matches on IP fields but is not of protocol ip or ipv6");
  }
  if (filter.ports && filter.ipProtocol != kProtocolTcp && filter.ipProtocol != kProtocolUdp) {
    refuse("ports need tcp or udp");
  }
  if (filter.icmpType && (filter.ipProtocol != kProtocolIcmpV6 || !v6)) {
    refuse("an ICMPv6 type needs ip_proto 58 and protocol ipv6");
  }
}

}  // namespace

// tc qdisc add dev DEV clsact
RawMessage newClsact(std::uint32_t ifindex) {
  MessageBuilder builder(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
  builder.header(clsactHeader(ifindex));
  builder.putString(TCA_KIND, "clsact");
  return std::move(builder).finish();
}

// tc qdisc del dev DEV clsact
RawMessage deleteClsact(std::uint32_t ifindex) {
  MessageBuilder builder(RTM_DELQDISC, 0);
  builder.header(clsactHeader(ifindex));
  builder.putString(TCA_KIND, "clsact");
  return std::move(builder).finish();
}

// tc filter add dev DEV egress pref P protocol X handle H flower [ip_proto P] [type T] [dst_ip
// PREFIX]
//    [ip_ttl N] [dst_port N[-M]] action pass|drop
RawMessage newFilter(std::uint32_t ifindex, const FlowerFilter& filter) {
  checkFilter(filter);
  MessageBuilder builder(RTM_NEWTFILTER, NLM_F_CREATE | NLM_F_EXCL);
  builder.header(filterHeader(ifindex, filter));
  builder.putString(TCA_KIND, "flower");
  {
    const auto options = builder.nestUnmarked(TCA_OPTIONS);
    if (filter.ipProtocol) {
      builder.putU8(TCA_FLOWER_KEY_IP_PROTO, *filter.ipProtocol);
    }
    if (filter.icmpType) {
      builder.putU8(TCA_FLOWER_KEY_ICMPV6_TYPE, *filter.icmpType);
      builder.putU8(TCA_FLOWER_KEY_ICMPV6_TYPE_MASK, kWholeByte);
    }
    if (filter.to) {
      putDestination(builder, *filter.to);
    }
    if (filter.hopLimit) {
      builder.putU8(TCA_FLOWER_KEY_IP_TTL, *filter.hopLimit);
      builder.putU8(TCA_FLOWER_KEY_IP_TTL_MASK, kWholeByte);
    }
    if (filter.ports) {
      putDestinationPorts(builder, filter.ipProtocol == kProtocolTcp, *filter.ports);
    }
    putAction(builder, filter.action);
    builder.putU32(TCA_FLOWER_FLAGS, 0);
    // `protocol all` is the absence of the key.
    if (filter.protocol != EtherType::kAll) {
      builder.putU16Be(TCA_FLOWER_KEY_ETH_TYPE, static_cast<std::uint16_t>(filter.protocol));
    }
  }
  return std::move(builder).finish();
}

// tc filter add dev DEV egress pref 100 protocol all handle 1 flower action drop
RawMessage newGuard(std::uint32_t ifindex) { return newFilter(ifindex, guard()); }

// tc filter del dev DEV egress pref 100 protocol all handle 1 flower
RawMessage deleteGuard(std::uint32_t ifindex) {
  MessageBuilder builder(RTM_DELTFILTER, 0);
  builder.header(filterHeader(ifindex, guard()));
  builder.putString(TCA_KIND, "flower");
  return std::move(builder).finish();
}

// tc qdisc add dev DEV ingress_block 0 clsact, which iproute2 would not send: block indexes start
// at 1 (qdisc_block_indexes_set() of net/sched/sch_api.c, which runs after the kind has been looked
// up).
RawMessage malformedClsact(std::uint32_t ifindex) {
  MessageBuilder builder(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL);
  builder.header(clsactHeader(ifindex));
  builder.putString(TCA_KIND, "clsact");
  builder.putU32(TCA_INGRESS_BLOCK, 0);
  return std::move(builder).finish();
}

// tc actions add action gact, without the parameters that gact requires
// (tcf_gact_init() of net/sched/act_gact.c).
RawMessage malformedGact() {
  MessageBuilder builder(RTM_NEWACTION, NLM_F_CREATE | NLM_F_EXCL);
  tcamsg header{};
  header.tca_family = AF_UNSPEC;
  builder.header(header);
  {
    const auto list = builder.nestUnmarked(TCA_ACT_TAB);
    const auto element = builder.nestUnmarked(kFirstAction);
    builder.putString(TCA_ACT_KIND, "gact");
  }
  return std::move(builder).finish();
}

}  // namespace vethgate
