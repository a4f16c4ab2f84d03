// The list, and what an entry covers; see exceptions.hpp.
#include "exceptions.hpp"

#include <linux/if_link.h>

#include <algorithm>
#include <vector>

namespace vethgate::test {
namespace {

using enum Change;

constexpr std::string_view kAction = "filters.egress/TCA_OPTIONS/TCA_FLOWER_ACT/action/";
constexpr std::string_view kExpression = "nft.rules/NFTA_RULE_EXPRESSIONS/NFTA_LIST_ELEM/";

class List {
 public:
  // `paths` lie below `parent`.
  List& add(std::string_view parent, std::initializer_list<std::string_view> paths, Changes changes,
            const char* reason) {
    added_ = list_.size();
    for (const std::string_view path : paths) {
      Insignificant exception{std::string(parent) + std::string(path), changes, reason};
      list_.push_back(std::move(exception));
    }
    return *this;
  }
  // Each of these narrows what was added last.
  List& at(std::size_t first, std::size_t last) {
    return narrow([&](Insignificant& exception) {
      exception.first = first;
      exception.last = last;
    });
  }
  List& bits(std::size_t byte, std::uint8_t bits) {
    return at(byte, byte).narrow([&](Insignificant& exception) { exception.bits = bits; });
  }
  List& of(Links links) {
    return narrow([&](Insignificant& exception) { exception.links = links; });
  }
  List& standing(Standing standing) {
    return narrow([&](Insignificant& exception) { exception.standing = standing; });
  }
  [[nodiscard]] std::vector<Insignificant> take() && { return std::move(list_); }

 private:
  template <class Narrow>
  List& narrow(const Narrow& narrow) {
    std::for_each(list_.begin() + static_cast<std::ptrdiff_t>(added_), list_.end(), narrow);
    return *this;
  }

  std::vector<Insignificant> list_;
  std::size_t added_ = 0;
};

std::vector<Insignificant> make() {
  List list;
  list.add("", {"kernel"}, {kDocument}, "repeated in the verdict; nothing depends on it");
  list.add("", {"*"}, {kUnpad}, "padding behind the last attribute is no part of it");

  // Order without a meaning.
  list.add("", {"links:two lists", "qdiscs:two lists"}, {kSwap}, "links have no order");
  list.add("", {"qdiscs:one list"}, {kSwap}, "each of a link's qdiscs says where it is");
  list.add("", {"nft.tables:two lists", "nft.chains:two lists", "nft.sets:two lists"}, {kSwap},
           "tables have no order, nor have sets");
  list.add("", {"nft.rules:two lists"}, {kSwap}, "rules of two chains have no order")
      .at(0, 0);  // one that moves within its own chain is seen
  list.add("", {"filters.egress:one list"}, {kSwap},
           "filters of one pref do the same, so their order has no meaning");

  // Names that the kernel gives.
  list.add("nft.tables/", {"NFTA_TABLE_HANDLE"}, {kBit}, "names it for deletion");
  list.add("nft.chains/", {"NFTA_CHAIN_HANDLE"}, {kBit}, "names it for deletion");
  list.add("nft.rules/", {"NFTA_RULE_HANDLE"}, {kBit},
           "names it for deletion; of a last rule, whose name no position repeats")
      .standing(Standing::kLast);
  list.add(kAction, {"TCA_ACT_OPTIONS/TCA_GACT_PARMS"}, {kBit},
           "the index of the action, which only has to be its own")
      .at(0, 3);
  for (const char* const generation : {"nft.generation.before/", "nft.generation.after/"}) {
    const char* const asked = "names the process that asked";
    list.add(generation, {"NFTA_GEN_PROC_PID"}, {kBit}, asked);
    list.add(generation, {"NFTA_GEN_PROC_NAME"}, {kBit}, asked).at(0, 14);  // behind it the zero
  }

  // Counters and times.
  list.add(kAction,
           {"TCA_ACT_STATS/TCA_STATS_BASIC", "TCA_ACT_STATS/TCA_STATS_BASIC_HW",
            "TCA_ACT_STATS/TCA_STATS_QUEUE"},
           {kBit}, "counters");
  list.add(kAction, {"TCA_ACT_OPTIONS/TCA_GACT_TM"}, {kBit},
           "when the action was made and last used");
  list.add(kExpression,
           {"NFTA_EXPR_DATA(counter)/NFTA_COUNTER_BYTES",
            "NFTA_EXPR_DATA(counter)/NFTA_COUNTER_PACKETS"},
           {kBit}, "counters");
  list.add("nft.chains/",
           {"NFTA_CHAIN_COUNTERS/NFTA_COUNTER_BYTES", "NFTA_CHAIN_COUNTERS/NFTA_COUNTER_PACKETS"},
           {kBit}, "counters");
  list.add("nft.chains/", {"NFTA_CHAIN_COUNTERS"}, {kRemove}, "there only when somebody counts");
  list.add("qdiscs/", {"TCA_STATS", "TCA_STATS2/TCA_STATS_BASIC", "TCA_STATS2/TCA_STATS_QUEUE"},
           {kBit}, "counters");
  list.add("qdiscs/", {"tcm_info"}, {kBit},
           "the reference count, which rises with every concurrent reader");

  // Links: what says neither which one it is nor whether something else acts on its packets. The
  // probe reads them of any device of Linux 6.1 to 6.18, so it insists on none of them.
  const char* const size = "how fast a link is, not where its packets go";
  list.add("links/",
           {"IFLA_MTU", "IFLA_MIN_MTU", "IFLA_MAX_MTU", "IFLA_TXQLEN", "IFLA_NUM_TX_QUEUES",
            "IFLA_NUM_RX_QUEUES", "IFLA_GSO_MAX_SEGS", "IFLA_GSO_MAX_SIZE", "IFLA_GRO_MAX_SIZE",
            "IFLA_TSO_MAX_SEGS", "IFLA_TSO_MAX_SIZE", "IFLA_GSO_IPV4_MAX_SIZE",
            "IFLA_GRO_IPV4_MAX_SIZE", "IFLA_HEADROOM", "IFLA_TAILROOM"},
           {kBit, kRemove}, size);
  list.add("links/", {"IFLA_MAX_PACING_OFFLOAD_HORIZON"}, {kBit, kRemove, kLengthen}, size);
  list.add("links/",
           {"IFLA_CARRIER_CHANGES", "IFLA_CARRIER_UP_COUNT", "IFLA_CARRIER_DOWN_COUNT",
            "IFLA_PROMISCUITY", "IFLA_ALLMULTI"},
           {kBit, kRemove}, "counters");
  list.add("links/", {"IFLA_STATS", "IFLA_STATS64"}, {kBit, kRemove, kShorten, kLengthen},
           "counters, more of them with every kernel");
  list.add(
      "links/",
      {"IFLA_LINKMODE", "IFLA_CARRIER", "IFLA_PROTO_DOWN", "IFLA_GROUP", "IFLA_NETNS_IMMUTABLE"},
      {kBit, kRemove}, "states and settings that filter nothing");
  list.add("links/", {"IFLA_BROADCAST"}, {kBit, kRemove, kLengthen},
           "states and settings that filter nothing");
  list.add("links/", {"IFLA_BROADCAST"}, {kShorten}, "states and settings that filter nothing")
      .at(1, 5);
  list.add("links/", {"IFLA_MAP"}, {kBit, kRemove}, "hardware, which a veth is not");
  list.add("links/", {"IFLA_QDISC"}, {kBit, kRemove}, "the name of what the qdisc dump holds")
      .at(0, 6);  // behind it the zero
  list.add("links/", {"IFLA_AF_SPEC"}, {kBit, kRemove, kShorten, kLengthen},
           "settings of addresses, which gVisor strips");
  const char* const loopback = "of the loopback, which is known by its kind of hardware and flags";
  list.add("links/", {"IFLA_ADDRESS"}, {kBit, kRemove, kLengthen}, loopback).of(Links::kLoopback);
  list.add("links/", {"IFLA_ADDRESS"}, {kShorten}, loopback).at(1, 5).of(Links::kLoopback);
  list.add("links/", {"IFLA_ADDRESS:nla_len"}, {kBit}, loopback).bits(0, 1).of(Links::kLoopback);
  list.add("links/", {"IFLA_IFNAME"}, {kBit}, loopback).at(0, 1).of(Links::kLoopback);
  list.add(
      "links/", {"IFLA_OPERSTATE"}, {kBit},
      "whether it may be used is in its flags; it tells dormant tunnels, of which here are none");
  const char* const flags = "all but UP of the job's link and LOOPBACK of the loopback";
  list.add("links/", {"ifi_flags"}, {kBit}, flags).at(1, 3);
  list.add("links/", {"ifi_flags"}, {kBit}, flags).bits(0, 0xff - 0x8).of(Links::kLoopback);
  list.add("links/", {"ifi_flags"}, {kBit}, flags).bits(0, 0xff - 0x1).of(Links::kOthers);
  list.add("links/", {"IFLA_LINK_NETNSID"}, {kBit},
           "the name of the peer's namespace in this one; that it is elsewhere is what counts");
  list.add("links/", {"IFLA_DEVLINK_PORT", "IFLA_DPLL_PIN"}, {kRemove, kLengthen},
           "hardware, which a veth is not; sent empty from Linux 6.2 and 6.7 on");
  const char* const above = "without the last attributes, which are of those above";
  list.add("links/",
           {"IFLA_QDISC:onward", "IFLA_MAP:onward", "IFLA_AF_SPEC:onward",
            "IFLA_DEVLINK_PORT:onward", "IFLA_DPLL_PIN:onward"},
           {kShorten}, above)
      .at(0, 0);
  list.add("links/", {"IFLA_BROADCAST:nla_len"}, {kBit}, "the same as one byte less").bits(0, 1);
  // The new number is that of another attribute of this section that the message lacks.
  const char* const another = "turns one that has no meaning into another";
  const auto becomes = [&](std::uint8_t bits, std::initializer_list<std::string_view> types) {
    list.add("links/", types, {kBit}, another).bits(0, bits);
  };
  becomes(0x01, {"IFLA_CARRIER_CHANGES:nla_type", "IFLA_PROTO_DOWN:nla_type"});
  becomes(0x02, {"IFLA_ALLMULTI:nla_type", "IFLA_GRO_IPV4_MAX_SIZE:nla_type"});
  becomes(0x06, {"IFLA_NUM_RX_QUEUES:nla_type", "IFLA_TSO_MAX_SIZE:nla_type"});
  becomes(0x10, {"IFLA_CARRIER_UP_COUNT:nla_type"});
  becomes(0x14, {"IFLA_MIN_MTU:nla_type"});
  becomes(0x20, {"IFLA_MTU:nla_type", "IFLA_NUM_TX_QUEUES:nla_type", "IFLA_QDISC:nla_type"});
  becomes(0x60, {"IFLA_BROADCAST:nla_type"});
  list.add("links/", {"IFLA_CARRIER"}, {kRetype}, another).at(IFLA_PHYS_PORT_ID, IFLA_PHYS_PORT_ID);
  list.add("links/", {"IFLA_CARRIER_CHANGES"}, {kRetype}, another);
  list.add("links/", {"IFLA_PROTO_DOWN"}, {kRetype}, another)
      .at(IFLA_PHYS_PORT_NAME, IFLA_PHYS_PORT_NAME);
  const char* const peer = "gives the loopback a peer, which nothing follows";
  list.add("links/", {"IFLA_MTU:nla_type"}, {kBit}, peer).bits(0, 0x01).of(Links::kLoopback);
  list.add("links/", {"IFLA_TXQLEN:nla_type"}, {kBit}, peer).bits(0, 0x08).of(Links::kLoopback);
  list.add("links/", {"IFLA_MTU"}, {kRetype}, peer).at(IFLA_LINK, IFLA_LINK).of(Links::kLoopback);

  // The second reading, whose values say nothing by themselves: what moves between two readings.
  const char* const moves = "counters and times, which differ between two readings of one state";
  list.add("links.again/",
           {"IFLA_STATS", "IFLA_STATS64", "IFLA_CARRIER_CHANGES", "IFLA_CARRIER_UP_COUNT",
            "IFLA_CARRIER_DOWN_COUNT", "IFLA_PROMISCUITY", "IFLA_ALLMULTI", "IFLA_AF_SPEC"},
           {kBit}, moves);
  list.add("qdiscs.again/",
           {"TCA_STATS", "TCA_STATS2/TCA_STATS_BASIC", "TCA_STATS2/TCA_STATS_QUEUE"}, {kBit},
           moves);
  list.add("qdiscs.again/", {"tcm_info"}, {kBit},
           "the reference count, which rises with every concurrent reader");
  list.add("filters.egress.again/TCA_OPTIONS/TCA_FLOWER_ACT/action/",
           {"TCA_ACT_STATS/TCA_STATS_BASIC", "TCA_ACT_STATS/TCA_STATS_BASIC_HW",
            "TCA_ACT_STATS/TCA_STATS_QUEUE", "TCA_ACT_OPTIONS/TCA_GACT_TM"},
           {kBit}, moves);
  list.add("", {"programs.error"}, {kDocument}, "EPERM: a question that might not be asked")
      .at(0, 0);

  // Sets of the netdev layer.
  list.add("nft.sets/", {"NFTA_SET_KEY_TYPE"}, {kBit}, "how nft prints the keys");
  list.add("nft.sets/", {"NFTA_SET_HANDLE"}, {kBit}, "names it for deletion");
  const char* const store =
      "what the kernel chose to hold the elements, which are all there; from Linux 6.16 on";
  list.add("nft.sets/", {"NFTA_SET_TYPE"}, {kBit, kRemove}, store).at(0, 17);  // behind it the zero
  list.add("nft.sets/", {"NFTA_SET_COUNT"}, {kBit, kRemove}, store);
  list.add("nft.sets/", {"NFTA_SET_TYPE:onward", "NFTA_SET_COUNT:onward"}, {kShorten}, above);
  list.add("", {"nft.elements"}, {kDrop}, "a last message, which has no elements")
      .standing(Standing::kLast);
  return std::move(list).take();
}

}  // namespace

const std::vector<Insignificant>& exceptions() {
  static const std::vector<Insignificant> list = make();
  return list;
}

bool covers(const Insignificant& exception, const Mutant& mutant) {
  return exception.changes.contains(mutant.change) &&
         (exception.path == "*" || exception.path == mutant.path) &&
         (exception.links == Links::kAny ||
          (exception.links == Links::kLoopback) == (mutant.place.message == 0)) &&
         (!exception.standing || exception.standing == mutant.place.standing) &&
         exception.first <= mutant.position && mutant.position <= exception.last &&
         (mutant.change != kBit || (exception.bits >> mutant.bit & 1U) != 0);
}

bool saysNothing(std::string_view path, std::size_t message, std::size_t byte) {
  const Mutant flipped{Change::kBit, path, byte, 0, {kNoDump, message}};
  return std::any_of(exceptions().begin(), exceptions().end(), [&](const Insignificant& exception) {
    return exception.bits == 0xff && covers(exception, flipped);
  });
}

}  // namespace vethgate::test
