// RTM_NEWLINK, completely: every attribute that Linux 6.1 to 6.18 sends for any kind of device, so
// that a device that does not belong is refused by its kind and not by an attribute that only it
// has. Sources: linux/if_link.h; net/core/rtnetlink.c, rtnl_fill_ifinfo(). It must not know which
// link is wanted.
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "netlink/datagram.hpp"
#include "netlink/reader.hpp"
#include "probe/link_selection.hpp"

namespace vethgate {
namespace {

// linux/if_link.h of 6.2 to 6.18, which the headers of 6.1 lack.
constexpr std::uint16_t kIflaDevlinkPort = 62;              // 6.2
constexpr std::uint16_t kIflaGsoIpv4MaxSize = 63;           // 6.3
constexpr std::uint16_t kIflaGroIpv4MaxSize = 64;           // 6.3
constexpr std::uint16_t kIflaDpllPin = 65;                  // 6.7
constexpr std::uint16_t kIflaMaxPacingOffloadHorizon = 66;  // 6.13
constexpr std::uint16_t kIflaNetnsImmutable = 67;           // 6.15
constexpr std::uint16_t kIflaHeadroom = 68;                 // 6.18
constexpr std::uint16_t kIflaTailroom = 69;                 // 6.18

constexpr std::uint16_t kMaxName = 15;          // IFNAMSIZ without its NUL (linux/if.h)
constexpr std::uint16_t kMaxAlias = 255;        // IFALIASZ without its NUL (linux/if.h)
constexpr std::uint16_t kMaxAddress = 32;       // MAX_ADDR_LEN (linux/netdevice.h)
constexpr std::uint16_t kMaxPhysicalItem = 32;  // MAX_PHYS_ITEM_ID_LEN (linux/netdevice.h)

using enum AttributeKind;

constexpr std::array kXdpSpecs{
    AttributeSpec{IFLA_XDP_ATTACHED, "IFLA_XDP_ATTACHED", kU8},
    AttributeSpec{IFLA_XDP_PROG_ID, "IFLA_XDP_PROG_ID", kU32},
    AttributeSpec{IFLA_XDP_DRV_PROG_ID, "IFLA_XDP_DRV_PROG_ID", kU32},
    AttributeSpec{IFLA_XDP_SKB_PROG_ID, "IFLA_XDP_SKB_PROG_ID", kU32},
    AttributeSpec{IFLA_XDP_HW_PROG_ID, "IFLA_XDP_HW_PROG_ID", kU32},
};
constexpr AttributeTable kXdpTable{"IFLA_XDP", kXdpSpecs};

// The data of a kind are its own; taken as bytes, since a kind that has any is not a veth.
constexpr std::array kLinkInfoSpecs{
    AttributeSpec{IFLA_INFO_KIND, "IFLA_INFO_KIND", kString, 1, kAnySize},
    AttributeSpec{IFLA_INFO_DATA, "IFLA_INFO_DATA", kBytes, 0, kAnySize},
    AttributeSpec{IFLA_INFO_XSTATS, "IFLA_INFO_XSTATS", kBytes, 0, kAnySize},
    AttributeSpec{IFLA_INFO_SLAVE_KIND, "IFLA_INFO_SLAVE_KIND", kString, 1, kAnySize},
    AttributeSpec{IFLA_INFO_SLAVE_DATA, "IFLA_INFO_SLAVE_DATA", kBytes, 0, kAnySize},
};
constexpr AttributeTable kLinkInfoTable{"IFLA_LINKINFO", kLinkInfoSpecs};

// IFLA_NUM_VF, IFLA_VFINFO_LIST, IFLA_VF_PORTS and IFLA_PORT_SELF are absent: the kernel sends them
// only to those who ask with RTEXT_FILTER_VF.
constexpr std::array kLinkSpecs{
    AttributeSpec{IFLA_ADDRESS, "IFLA_ADDRESS", kBytes, 1, kMaxAddress},
    AttributeSpec{IFLA_BROADCAST, "IFLA_BROADCAST", kBytes, 1, kMaxAddress},
    AttributeSpec{IFLA_IFNAME, "IFLA_IFNAME", kString, 1, kMaxName},
    AttributeSpec{IFLA_MTU, "IFLA_MTU", kU32},
    AttributeSpec{IFLA_LINK, "IFLA_LINK", kU32},
    AttributeSpec{IFLA_QDISC, "IFLA_QDISC", kString, 1, kMaxName},
    AttributeSpec{IFLA_STATS, "IFLA_STATS", kBytes, 0, kAnySize},
    AttributeSpec{IFLA_MASTER, "IFLA_MASTER", kU32},
    AttributeSpec{IFLA_TXQLEN, "IFLA_TXQLEN", kU32},
    AttributeSpec{IFLA_MAP, "IFLA_MAP", kBytes, sizeof(rtnl_link_ifmap), sizeof(rtnl_link_ifmap)},
    AttributeSpec{IFLA_OPERSTATE, "IFLA_OPERSTATE", kU8},
    AttributeSpec{IFLA_LINKMODE, "IFLA_LINKMODE", kU8},
    AttributeSpec{IFLA_LINKINFO, "IFLA_LINKINFO", kNested, 0, 0, &kLinkInfoTable},
    AttributeSpec{IFLA_IFALIAS, "IFLA_IFALIAS", kString, 0, kMaxAlias},
    AttributeSpec{IFLA_STATS64, "IFLA_STATS64", kBytes, 0, kAnySize},
    AttributeSpec{IFLA_AF_SPEC, "IFLA_AF_SPEC", kBytes, 0, kAnySize},
    AttributeSpec{IFLA_GROUP, "IFLA_GROUP", kU32},
    AttributeSpec{IFLA_PROMISCUITY, "IFLA_PROMISCUITY", kU32},
    AttributeSpec{IFLA_NUM_TX_QUEUES, "IFLA_NUM_TX_QUEUES", kU32},
    AttributeSpec{IFLA_NUM_RX_QUEUES, "IFLA_NUM_RX_QUEUES", kU32},
    AttributeSpec{IFLA_CARRIER, "IFLA_CARRIER", kU8},
    AttributeSpec{IFLA_PHYS_PORT_ID, "IFLA_PHYS_PORT_ID", kBytes, 0, kMaxPhysicalItem},
    AttributeSpec{IFLA_CARRIER_CHANGES, "IFLA_CARRIER_CHANGES", kU32},
    AttributeSpec{IFLA_PHYS_SWITCH_ID, "IFLA_PHYS_SWITCH_ID", kBytes, 0, kMaxPhysicalItem},
    AttributeSpec{IFLA_LINK_NETNSID, "IFLA_LINK_NETNSID", kU32},
    AttributeSpec{IFLA_PHYS_PORT_NAME, "IFLA_PHYS_PORT_NAME", kString, 0, kMaxName},
    AttributeSpec{IFLA_PROTO_DOWN, "IFLA_PROTO_DOWN", kU8},
    AttributeSpec{IFLA_GSO_MAX_SEGS, "IFLA_GSO_MAX_SEGS", kU32},
    AttributeSpec{IFLA_GSO_MAX_SIZE, "IFLA_GSO_MAX_SIZE", kU32},
    AttributeSpec{IFLA_XDP, "IFLA_XDP", kNested, 0, 0, &kXdpTable},
    AttributeSpec{IFLA_CARRIER_UP_COUNT, "IFLA_CARRIER_UP_COUNT", kU32},
    AttributeSpec{IFLA_CARRIER_DOWN_COUNT, "IFLA_CARRIER_DOWN_COUNT", kU32},
    AttributeSpec{IFLA_MIN_MTU, "IFLA_MIN_MTU", kU32},
    AttributeSpec{IFLA_MAX_MTU, "IFLA_MAX_MTU", kU32},
    AttributeSpec{IFLA_PROP_LIST, "IFLA_PROP_LIST", kBytes, 0, kAnySize, nullptr, NLA_F_NESTED},
    AttributeSpec{IFLA_PERM_ADDRESS, "IFLA_PERM_ADDRESS", kBytes, 1, kMaxAddress},
    AttributeSpec{IFLA_PROTO_DOWN_REASON, "IFLA_PROTO_DOWN_REASON", kBytes, 0, kAnySize, nullptr,
                  NLA_F_NESTED},
    AttributeSpec{IFLA_PARENT_DEV_NAME, "IFLA_PARENT_DEV_NAME", kString, 0, kAnySize},
    AttributeSpec{IFLA_PARENT_DEV_BUS_NAME, "IFLA_PARENT_DEV_BUS_NAME", kString, 0, kAnySize},
    AttributeSpec{IFLA_GRO_MAX_SIZE, "IFLA_GRO_MAX_SIZE", kU32},
    AttributeSpec{IFLA_TSO_MAX_SIZE, "IFLA_TSO_MAX_SIZE", kU32},
    AttributeSpec{IFLA_TSO_MAX_SEGS, "IFLA_TSO_MAX_SEGS", kU32},
    AttributeSpec{IFLA_ALLMULTI, "IFLA_ALLMULTI", kU32},
    AttributeSpec{kIflaDevlinkPort, "IFLA_DEVLINK_PORT", kBytes, 0, kAnySize, nullptr,
                  NLA_F_NESTED},
    AttributeSpec{kIflaGsoIpv4MaxSize, "IFLA_GSO_IPV4_MAX_SIZE", kU32},
    AttributeSpec{kIflaGroIpv4MaxSize, "IFLA_GRO_IPV4_MAX_SIZE", kU32},
    AttributeSpec{kIflaDpllPin, "IFLA_DPLL_PIN", kBytes, 0, kAnySize, nullptr, NLA_F_NESTED},
    // 4 bytes when the value fits (nla_put_uint).
    AttributeSpec{kIflaMaxPacingOffloadHorizon, "IFLA_MAX_PACING_OFFLOAD_HORIZON", kBytes, 4, 8},
    AttributeSpec{kIflaNetnsImmutable, "IFLA_NETNS_IMMUTABLE", kU8},
    AttributeSpec{kIflaHeadroom, "IFLA_HEADROOM", kU16},
    AttributeSpec{kIflaTailroom, "IFLA_TAILROOM", kU16},
};
}  // namespace

constexpr AttributeTable kLinkTable{"RTM_NEWLINK", kLinkSpecs};

namespace {

void ignoreAll(AttributeReader& reader, std::initializer_list<std::uint16_t> types,
               const char* reason) {
  for (const std::uint16_t type : types) {
    reader.ignore(type, reason);
  }
}

void ignoreTheRest(AttributeReader& reader) {
  ignoreAll(reader,
            {IFLA_MTU, IFLA_MIN_MTU, IFLA_MAX_MTU, IFLA_TXQLEN, IFLA_NUM_TX_QUEUES,
             IFLA_NUM_RX_QUEUES, IFLA_GSO_MAX_SEGS, IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE,
             IFLA_TSO_MAX_SIZE, IFLA_TSO_MAX_SEGS, kIflaGsoIpv4MaxSize, kIflaGroIpv4MaxSize,
             kIflaMaxPacingOffloadHorizon, kIflaHeadroom, kIflaTailroom},
            "sizes and queues: how fast a link is, not where its packets go");
  ignoreAll(reader,
            {IFLA_STATS, IFLA_STATS64, IFLA_CARRIER_CHANGES, IFLA_CARRIER_UP_COUNT,
             IFLA_CARRIER_DOWN_COUNT, IFLA_PROMISCUITY, IFLA_ALLMULTI},
            "counters");
  ignoreAll(reader,
            {IFLA_LINKMODE, IFLA_CARRIER, IFLA_PROTO_DOWN, IFLA_PROTO_DOWN_REASON, IFLA_GROUP,
             IFLA_BROADCAST, IFLA_PERM_ADDRESS, kIflaNetnsImmutable},
            "states and settings that filter nothing and let nothing past a filter");
  ignoreAll(reader, {IFLA_IFALIAS, IFLA_PROP_LIST}, "further names; links are not chosen by name");
  ignoreAll(reader, {IFLA_QDISC}, "the name of the root qdisc; qdiscs have a dump of their own");
  ignoreAll(reader, {IFLA_AF_SPEC}, "addresses' settings; gVisor strips addresses anyway");
  ignoreAll(reader,
            {IFLA_MAP, IFLA_PHYS_PORT_ID, IFLA_PHYS_PORT_NAME, IFLA_PHYS_SWITCH_ID,
             IFLA_PARENT_DEV_NAME, IFLA_PARENT_DEV_BUS_NAME, kIflaDevlinkPort, kIflaDpllPin},
            "hardware, which a veth is not");
}

void readLinkInfo(AttributeReader reader, LinkState& state) {
  state.kind = reader.maybeString(IFLA_INFO_KIND).value_or("");
  if (state.kind == "veth") {
    if (reader.has(IFLA_INFO_DATA)) {
      reader.refuse(IFLA_INFO_DATA, "a veth has no data of its kind, but here are some");
    }
  } else {
    reader.ignore(IFLA_INFO_DATA, "such a device is refused by its kind or is a dormant tunnel");
  }
  ignoreAll(reader, {IFLA_INFO_XSTATS}, "counters");
  ignoreAll(reader, {IFLA_INFO_SLAVE_KIND, IFLA_INFO_SLAVE_DATA},
            "a link with a master is refused by IFLA_MASTER");
  reader.finish();
}

bool readXdp(AttributeReader reader) {
  bool attached = reader.u8(IFLA_XDP_ATTACHED) != XDP_ATTACHED_NONE;
  for (const std::uint16_t program :
       {IFLA_XDP_PROG_ID, IFLA_XDP_DRV_PROG_ID, IFLA_XDP_SKB_PROG_ID, IFLA_XDP_HW_PROG_ID}) {
    attached = reader.maybeU32(program).has_value() || attached;
  }
  reader.finish();
  return attached;
}

LinkState decodeLink(const RawMessage& message) {
  const auto refuse = [](const std::string& problem) {
    throw Failure(ExitCode::kRefused, "RTM_NEWLINK: " + problem);
  };
  const nlmsghdr header = messageHeader(message);
  if (header.nlmsg_type != RTM_NEWLINK) {
    refuse("message type " + std::to_string(header.nlmsg_type) + " stands in a dump of links");
  }
  if (message.size() < NLMSG_SPACE(sizeof(ifinfomsg))) {
    refuse("a message of " + std::to_string(message.size()) + " bytes lacks its ifinfomsg");
  }
  ifinfomsg info{};
  std::memcpy(&info, message.data() + sizeof(nlmsghdr), sizeof info);
  if (info.ifi_family != AF_UNSPEC || info.__ifi_pad != 0 || info.ifi_index <= 0 ||
      info.ifi_change != 0) {
    refuse("a dump holds a message of family " + std::to_string(info.ifi_family) + ", index " +
           std::to_string(info.ifi_index) + ", change mask " + std::to_string(info.ifi_change) +
           " where no family, a positive index and no change are expected");
  }
  LinkState state;
  state.index = static_cast<std::uint32_t>(info.ifi_index);
  state.hardwareType = info.ifi_type;
  state.flags = info.ifi_flags;

  AttributeReader reader(kLinkTable, ByteView(message).subspan(NLMSG_SPACE(sizeof(ifinfomsg))),
                         kLinkTable.name);
  state.name = reader.string(IFLA_IFNAME);
  state.operState = reader.u8(IFLA_OPERSTATE);
  state.peer = reader.maybeU32(IFLA_LINK).value_or(0);
  state.peerElsewhere = reader.maybeU32(IFLA_LINK_NETNSID).has_value();
  state.master = reader.maybeU32(IFLA_MASTER).value_or(0);
  if (const auto address = reader.maybeBytes(IFLA_ADDRESS);
      address && address->size() == state.mac.size()) {
    std::copy(address->begin(), address->end(), state.mac.begin());
    state.hasMac = true;
  }
  if (auto linkInfo = reader.maybeNested(IFLA_LINKINFO)) {
    readLinkInfo(*std::move(linkInfo), state);
  }
  // Every kernel that the project runs on sends it for every device; without it, XDP is unknown.
  state.xdp = readXdp(reader.nested(IFLA_XDP));
  ignoreTheRest(reader);
  reader.finish();
  return state;
}

}  // namespace

std::vector<LinkState> decodeLinks(std::span<const RawMessage> dump) {
  if (dump.empty() || readDone(dump.back()).error != 0) {
    throw Failure(ExitCode::kRefused, "the dump of links has no successful end");
  }
  std::vector<LinkState> links;
  for (const RawMessage& message : dump.first(dump.size() - 1)) {
    LinkState state = decodeLink(message);
    if (std::any_of(links.begin(), links.end(),
                    [&](const LinkState& other) { return other.index == state.index; })) {
      throw Failure(ExitCode::kRefused,
                    "RTM_NEWLINK: two links have the index " + std::to_string(state.index));
    }
    links.push_back(std::move(state));
  }
  return links;
}

}  // namespace vethgate
