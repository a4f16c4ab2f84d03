// The attribute tables of traffic control; see tc_tables.hpp. Integers are in host order, except
// those that mirror packet headers.
#include "verifier/tc_tables.hpp"

#include <linux/gen_stats.h>
#include <linux/if.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>

#include <array>

namespace vethgate::tc {
namespace {

using enum AttributeKind;

// An attribute that no plan leads to: listed for its name, refused because nobody takes it.
constexpr AttributeSpec foreign(std::uint16_t type, const char* text) {
  return {type, text, kBytes, 0, kAnySize};
}
constexpr AttributeSpec name(std::uint16_t type, const char* text) {
  return {type, text, kString, 1, IFNAMSIZ - 1};
}

constexpr std::array kStatsSpecs = {
    AttributeSpec{TCA_STATS_BASIC, "TCA_STATS_BASIC", kBytes, 16, 16},  // struct gnet_stats_basic
    foreign(TCA_STATS_RATE_EST, "TCA_STATS_RATE_EST"),
    AttributeSpec{TCA_STATS_QUEUE, "TCA_STATS_QUEUE", kBytes, 20, 20},  // struct gnet_stats_queue
    foreign(TCA_STATS_APP, "TCA_STATS_APP"),
    foreign(TCA_STATS_RATE_EST64, "TCA_STATS_RATE_EST64"),
    AttributeSpec{TCA_STATS_PAD, "TCA_STATS_PAD", kFlag},
    AttributeSpec{TCA_STATS_BASIC_HW, "TCA_STATS_BASIC_HW", kBytes, 16, 16},
    AttributeSpec{TCA_STATS_PKT64, "TCA_STATS_PKT64", kU64},
};
constexpr AttributeTable kStats{"stats", kStatsSpecs};

constexpr std::array kGactSpecs = {
    AttributeSpec{TCA_GACT_TM, "TCA_GACT_TM", kBytes, 32, 32},        // struct tcf_t
    AttributeSpec{TCA_GACT_PARMS, "TCA_GACT_PARMS", kBytes, 20, 20},  // struct tc_gact
    foreign(TCA_GACT_PROB, "TCA_GACT_PROB"),
    AttributeSpec{TCA_GACT_PAD, "TCA_GACT_PAD", kFlag},
};
constexpr AttributeTable kGact{"gact", kGactSpecs};

constexpr std::array kActionSpecs = {
    name(TCA_ACT_KIND, "TCA_ACT_KIND"),
    AttributeSpec{TCA_ACT_OPTIONS, "TCA_ACT_OPTIONS", kNested, 0, 0, &kGact},
    foreign(TCA_ACT_INDEX, "TCA_ACT_INDEX"),
    AttributeSpec{TCA_ACT_STATS, "TCA_ACT_STATS", kNested, 0, 0, &kStats},
    foreign(TCA_ACT_PAD, "TCA_ACT_PAD"),
    foreign(TCA_ACT_COOKIE, "TCA_ACT_COOKIE"),
    foreign(TCA_ACT_FLAGS, "TCA_ACT_FLAGS"),
    foreign(TCA_ACT_HW_STATS, "TCA_ACT_HW_STATS"),
    foreign(TCA_ACT_USED_HW_STATS, "TCA_ACT_USED_HW_STATS"),
    AttributeSpec{TCA_ACT_IN_HW_COUNT, "TCA_ACT_IN_HW_COUNT", kU32},
};
constexpr AttributeTable kAction{"action", kActionSpecs};
constexpr AttributeSpec kActionElement{1, "action", kNested, 0, 0, &kAction};
constexpr AttributeTable kActions{"actions", {}, &kActionElement};

constexpr std::array kFlowerSpecs = {
    foreign(TCA_FLOWER_CLASSID, "TCA_FLOWER_CLASSID"),
    foreign(TCA_FLOWER_INDEV, "TCA_FLOWER_INDEV"),
    AttributeSpec{TCA_FLOWER_ACT, "TCA_FLOWER_ACT", kNested, 0, 0, &kActions},
    foreign(TCA_FLOWER_KEY_ETH_DST, "TCA_FLOWER_KEY_ETH_DST"),
    foreign(TCA_FLOWER_KEY_ETH_DST_MASK, "TCA_FLOWER_KEY_ETH_DST_MASK"),
    foreign(TCA_FLOWER_KEY_ETH_SRC, "TCA_FLOWER_KEY_ETH_SRC"),
    foreign(TCA_FLOWER_KEY_ETH_SRC_MASK, "TCA_FLOWER_KEY_ETH_SRC_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_ETH_TYPE, "TCA_FLOWER_KEY_ETH_TYPE", kU16Be},
    AttributeSpec{TCA_FLOWER_KEY_IP_PROTO, "TCA_FLOWER_KEY_IP_PROTO", kU8},
    foreign(TCA_FLOWER_KEY_IPV4_SRC, "TCA_FLOWER_KEY_IPV4_SRC"),
    foreign(TCA_FLOWER_KEY_IPV4_SRC_MASK, "TCA_FLOWER_KEY_IPV4_SRC_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_IPV4_DST, "TCA_FLOWER_KEY_IPV4_DST", kBytes, 4, 4},
    AttributeSpec{TCA_FLOWER_KEY_IPV4_DST_MASK, "TCA_FLOWER_KEY_IPV4_DST_MASK", kBytes, 4, 4},
    foreign(TCA_FLOWER_KEY_IPV6_SRC, "TCA_FLOWER_KEY_IPV6_SRC"),
    foreign(TCA_FLOWER_KEY_IPV6_SRC_MASK, "TCA_FLOWER_KEY_IPV6_SRC_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_IPV6_DST, "TCA_FLOWER_KEY_IPV6_DST", kBytes, 16, 16},
    AttributeSpec{TCA_FLOWER_KEY_IPV6_DST_MASK, "TCA_FLOWER_KEY_IPV6_DST_MASK", kBytes, 16, 16},
    foreign(TCA_FLOWER_KEY_TCP_SRC, "TCA_FLOWER_KEY_TCP_SRC"),
    AttributeSpec{TCA_FLOWER_KEY_TCP_DST, "TCA_FLOWER_KEY_TCP_DST", kU16Be},
    foreign(TCA_FLOWER_KEY_UDP_SRC, "TCA_FLOWER_KEY_UDP_SRC"),
    AttributeSpec{TCA_FLOWER_KEY_UDP_DST, "TCA_FLOWER_KEY_UDP_DST", kU16Be},
    AttributeSpec{TCA_FLOWER_FLAGS, "TCA_FLOWER_FLAGS", kU32},
    foreign(TCA_FLOWER_KEY_VLAN_ID, "TCA_FLOWER_KEY_VLAN_ID"),
    foreign(TCA_FLOWER_KEY_VLAN_PRIO, "TCA_FLOWER_KEY_VLAN_PRIO"),
    foreign(TCA_FLOWER_KEY_VLAN_ETH_TYPE, "TCA_FLOWER_KEY_VLAN_ETH_TYPE"),
    foreign(TCA_FLOWER_KEY_ENC_KEY_ID, "TCA_FLOWER_KEY_ENC_KEY_ID"),
    foreign(TCA_FLOWER_KEY_ENC_IPV4_SRC, "TCA_FLOWER_KEY_ENC_IPV4_SRC"),
    foreign(TCA_FLOWER_KEY_ENC_IPV4_SRC_MASK, "TCA_FLOWER_KEY_ENC_IPV4_SRC_MASK"),
    foreign(TCA_FLOWER_KEY_ENC_IPV4_DST, "TCA_FLOWER_KEY_ENC_IPV4_DST"),
    foreign(TCA_FLOWER_KEY_ENC_IPV4_DST_MASK, "TCA_FLOWER_KEY_ENC_IPV4_DST_MASK"),
    foreign(TCA_FLOWER_KEY_ENC_IPV6_SRC, "TCA_FLOWER_KEY_ENC_IPV6_SRC"),
    foreign(TCA_FLOWER_KEY_ENC_IPV6_SRC_MASK, "TCA_FLOWER_KEY_ENC_IPV6_SRC_MASK"),
    foreign(TCA_FLOWER_KEY_ENC_IPV6_DST, "TCA_FLOWER_KEY_ENC_IPV6_DST"),
    foreign(TCA_FLOWER_KEY_ENC_IPV6_DST_MASK, "TCA_FLOWER_KEY_ENC_IPV6_DST_MASK"),
    foreign(TCA_FLOWER_KEY_TCP_SRC_MASK, "TCA_FLOWER_KEY_TCP_SRC_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_TCP_DST_MASK, "TCA_FLOWER_KEY_TCP_DST_MASK", kU16Be},
    foreign(TCA_FLOWER_KEY_UDP_SRC_MASK, "TCA_FLOWER_KEY_UDP_SRC_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_UDP_DST_MASK, "TCA_FLOWER_KEY_UDP_DST_MASK", kU16Be},
    foreign(TCA_FLOWER_KEY_SCTP_SRC_MASK, "TCA_FLOWER_KEY_SCTP_SRC_MASK"),
    foreign(TCA_FLOWER_KEY_SCTP_DST_MASK, "TCA_FLOWER_KEY_SCTP_DST_MASK"),
    foreign(TCA_FLOWER_KEY_SCTP_SRC, "TCA_FLOWER_KEY_SCTP_SRC"),
    foreign(TCA_FLOWER_KEY_SCTP_DST, "TCA_FLOWER_KEY_SCTP_DST"),
    foreign(TCA_FLOWER_KEY_ENC_UDP_SRC_PORT, "TCA_FLOWER_KEY_ENC_UDP_SRC_PORT"),
    foreign(TCA_FLOWER_KEY_ENC_UDP_SRC_PORT_MASK, "TCA_FLOWER_KEY_ENC_UDP_SRC_PORT_MASK"),
    foreign(TCA_FLOWER_KEY_ENC_UDP_DST_PORT, "TCA_FLOWER_KEY_ENC_UDP_DST_PORT"),
    foreign(TCA_FLOWER_KEY_ENC_UDP_DST_PORT_MASK, "TCA_FLOWER_KEY_ENC_UDP_DST_PORT_MASK"),
    foreign(TCA_FLOWER_KEY_FLAGS, "TCA_FLOWER_KEY_FLAGS"),
    foreign(TCA_FLOWER_KEY_FLAGS_MASK, "TCA_FLOWER_KEY_FLAGS_MASK"),
    foreign(TCA_FLOWER_KEY_ICMPV4_CODE, "TCA_FLOWER_KEY_ICMPV4_CODE"),
    foreign(TCA_FLOWER_KEY_ICMPV4_CODE_MASK, "TCA_FLOWER_KEY_ICMPV4_CODE_MASK"),
    foreign(TCA_FLOWER_KEY_ICMPV4_TYPE, "TCA_FLOWER_KEY_ICMPV4_TYPE"),
    foreign(TCA_FLOWER_KEY_ICMPV4_TYPE_MASK, "TCA_FLOWER_KEY_ICMPV4_TYPE_MASK"),
    foreign(TCA_FLOWER_KEY_ICMPV6_CODE, "TCA_FLOWER_KEY_ICMPV6_CODE"),
    foreign(TCA_FLOWER_KEY_ICMPV6_CODE_MASK, "TCA_FLOWER_KEY_ICMPV6_CODE_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_ICMPV6_TYPE, "TCA_FLOWER_KEY_ICMPV6_TYPE", kU8},
    AttributeSpec{TCA_FLOWER_KEY_ICMPV6_TYPE_MASK, "TCA_FLOWER_KEY_ICMPV6_TYPE_MASK", kU8},
    foreign(TCA_FLOWER_KEY_ARP_SIP, "TCA_FLOWER_KEY_ARP_SIP"),
    foreign(TCA_FLOWER_KEY_ARP_SIP_MASK, "TCA_FLOWER_KEY_ARP_SIP_MASK"),
    foreign(TCA_FLOWER_KEY_ARP_TIP, "TCA_FLOWER_KEY_ARP_TIP"),
    foreign(TCA_FLOWER_KEY_ARP_TIP_MASK, "TCA_FLOWER_KEY_ARP_TIP_MASK"),
    foreign(TCA_FLOWER_KEY_ARP_OP, "TCA_FLOWER_KEY_ARP_OP"),
    foreign(TCA_FLOWER_KEY_ARP_OP_MASK, "TCA_FLOWER_KEY_ARP_OP_MASK"),
    foreign(TCA_FLOWER_KEY_ARP_SHA, "TCA_FLOWER_KEY_ARP_SHA"),
    foreign(TCA_FLOWER_KEY_ARP_SHA_MASK, "TCA_FLOWER_KEY_ARP_SHA_MASK"),
    foreign(TCA_FLOWER_KEY_ARP_THA, "TCA_FLOWER_KEY_ARP_THA"),
    foreign(TCA_FLOWER_KEY_ARP_THA_MASK, "TCA_FLOWER_KEY_ARP_THA_MASK"),
    foreign(TCA_FLOWER_KEY_MPLS_TTL, "TCA_FLOWER_KEY_MPLS_TTL"),
    foreign(TCA_FLOWER_KEY_MPLS_BOS, "TCA_FLOWER_KEY_MPLS_BOS"),
    foreign(TCA_FLOWER_KEY_MPLS_TC, "TCA_FLOWER_KEY_MPLS_TC"),
    foreign(TCA_FLOWER_KEY_MPLS_LABEL, "TCA_FLOWER_KEY_MPLS_LABEL"),
    foreign(TCA_FLOWER_KEY_TCP_FLAGS, "TCA_FLOWER_KEY_TCP_FLAGS"),
    foreign(TCA_FLOWER_KEY_TCP_FLAGS_MASK, "TCA_FLOWER_KEY_TCP_FLAGS_MASK"),
    foreign(TCA_FLOWER_KEY_IP_TOS, "TCA_FLOWER_KEY_IP_TOS"),
    foreign(TCA_FLOWER_KEY_IP_TOS_MASK, "TCA_FLOWER_KEY_IP_TOS_MASK"),
    AttributeSpec{TCA_FLOWER_KEY_IP_TTL, "TCA_FLOWER_KEY_IP_TTL", kU8},
    AttributeSpec{TCA_FLOWER_KEY_IP_TTL_MASK, "TCA_FLOWER_KEY_IP_TTL_MASK", kU8},
    foreign(TCA_FLOWER_KEY_CVLAN_ID, "TCA_FLOWER_KEY_CVLAN_ID"),
    foreign(TCA_FLOWER_KEY_CVLAN_PRIO, "TCA_FLOWER_KEY_CVLAN_PRIO"),
    foreign(TCA_FLOWER_KEY_CVLAN_ETH_TYPE, "TCA_FLOWER_KEY_CVLAN_ETH_TYPE"),
    foreign(TCA_FLOWER_KEY_ENC_IP_TOS, "TCA_FLOWER_KEY_ENC_IP_TOS"),
    foreign(TCA_FLOWER_KEY_ENC_IP_TOS_MASK, "TCA_FLOWER_KEY_ENC_IP_TOS_MASK"),
    foreign(TCA_FLOWER_KEY_ENC_IP_TTL, "TCA_FLOWER_KEY_ENC_IP_TTL"),
    foreign(TCA_FLOWER_KEY_ENC_IP_TTL_MASK, "TCA_FLOWER_KEY_ENC_IP_TTL_MASK"),
    foreign(TCA_FLOWER_KEY_ENC_OPTS, "TCA_FLOWER_KEY_ENC_OPTS"),
    foreign(TCA_FLOWER_KEY_ENC_OPTS_MASK, "TCA_FLOWER_KEY_ENC_OPTS_MASK"),
    AttributeSpec{TCA_FLOWER_IN_HW_COUNT, "TCA_FLOWER_IN_HW_COUNT", kU32},
    foreign(TCA_FLOWER_KEY_PORT_SRC_MIN, "TCA_FLOWER_KEY_PORT_SRC_MIN"),
    foreign(TCA_FLOWER_KEY_PORT_SRC_MAX, "TCA_FLOWER_KEY_PORT_SRC_MAX"),
    AttributeSpec{TCA_FLOWER_KEY_PORT_DST_MIN, "TCA_FLOWER_KEY_PORT_DST_MIN", kU16Be},
    AttributeSpec{TCA_FLOWER_KEY_PORT_DST_MAX, "TCA_FLOWER_KEY_PORT_DST_MAX", kU16Be},
    foreign(TCA_FLOWER_KEY_CT_STATE, "TCA_FLOWER_KEY_CT_STATE"),
    foreign(TCA_FLOWER_KEY_CT_STATE_MASK, "TCA_FLOWER_KEY_CT_STATE_MASK"),
    foreign(TCA_FLOWER_KEY_CT_ZONE, "TCA_FLOWER_KEY_CT_ZONE"),
    foreign(TCA_FLOWER_KEY_CT_ZONE_MASK, "TCA_FLOWER_KEY_CT_ZONE_MASK"),
    foreign(TCA_FLOWER_KEY_CT_MARK, "TCA_FLOWER_KEY_CT_MARK"),
    foreign(TCA_FLOWER_KEY_CT_MARK_MASK, "TCA_FLOWER_KEY_CT_MARK_MASK"),
    foreign(TCA_FLOWER_KEY_CT_LABELS, "TCA_FLOWER_KEY_CT_LABELS"),
    foreign(TCA_FLOWER_KEY_CT_LABELS_MASK, "TCA_FLOWER_KEY_CT_LABELS_MASK"),
    foreign(TCA_FLOWER_KEY_MPLS_OPTS, "TCA_FLOWER_KEY_MPLS_OPTS"),
    foreign(TCA_FLOWER_KEY_HASH, "TCA_FLOWER_KEY_HASH"),
    foreign(TCA_FLOWER_KEY_HASH_MASK, "TCA_FLOWER_KEY_HASH_MASK"),
    foreign(TCA_FLOWER_KEY_NUM_OF_VLANS, "TCA_FLOWER_KEY_NUM_OF_VLANS"),
    foreign(TCA_FLOWER_KEY_PPPOE_SID, "TCA_FLOWER_KEY_PPPOE_SID"),
    foreign(TCA_FLOWER_KEY_PPP_PROTO, "TCA_FLOWER_KEY_PPP_PROTO"),
    foreign(TCA_FLOWER_KEY_L2TPV3_SID, "TCA_FLOWER_KEY_L2TPV3_SID"),
};
constexpr AttributeTable kFlower{"flower", kFlowerSpecs};

constexpr std::array kFilterSpecs = {
    name(TCA_KIND, "TCA_KIND"),
    AttributeSpec{TCA_OPTIONS, "TCA_OPTIONS", kNested, 0, 0, &kFlower},
    foreign(TCA_STATS, "TCA_STATS"),
    foreign(TCA_XSTATS, "TCA_XSTATS"),
    foreign(TCA_RATE, "TCA_RATE"),
    foreign(TCA_FCNT, "TCA_FCNT"),
    foreign(TCA_STATS2, "TCA_STATS2"),
    foreign(TCA_STAB, "TCA_STAB"),
    foreign(TCA_PAD, "TCA_PAD"),
    foreign(TCA_DUMP_INVISIBLE, "TCA_DUMP_INVISIBLE"),
    AttributeSpec{TCA_CHAIN, "TCA_CHAIN", kU32},
};

constexpr AttributeTable kNothing{"nothing", {}};

constexpr std::array kQdiscSpecs = {
    name(TCA_KIND, "TCA_KIND"),
    // clsact sends its options, of which it has none.
    AttributeSpec{TCA_OPTIONS, "TCA_OPTIONS", kNested, 0, 0, &kNothing},
    AttributeSpec{TCA_STATS, "TCA_STATS", kBytes, 40, 40},  // struct tc_stats
    foreign(TCA_XSTATS, "TCA_XSTATS"),
    foreign(TCA_RATE, "TCA_RATE"),
    foreign(TCA_FCNT, "TCA_FCNT"),
    AttributeSpec{TCA_STATS2, "TCA_STATS2", kNested, 0, 0, &kStats},
    foreign(TCA_STAB, "TCA_STAB"),
    foreign(TCA_PAD, "TCA_PAD"),
    foreign(TCA_DUMP_INVISIBLE, "TCA_DUMP_INVISIBLE"),
    foreign(TCA_CHAIN, "TCA_CHAIN"),
    AttributeSpec{TCA_HW_OFFLOAD, "TCA_HW_OFFLOAD", kU8},
    foreign(TCA_INGRESS_BLOCK, "TCA_INGRESS_BLOCK"),
    foreign(TCA_EGRESS_BLOCK, "TCA_EGRESS_BLOCK"),
};

constexpr std::array kChainSpecs = {
    foreign(TCA_KIND, "TCA_KIND"),  // with TCA_OPTIONS: a template
    foreign(TCA_OPTIONS, "TCA_OPTIONS"),
    AttributeSpec{TCA_CHAIN, "TCA_CHAIN", kU32},
};

}  // namespace

constexpr AttributeTable kQdisc{"qdisc", kQdiscSpecs};
constexpr AttributeTable kFilter{"filter", kFilterSpecs};
constexpr AttributeTable kChain{"chain", kChainSpecs};

}  // namespace vethgate::tc
