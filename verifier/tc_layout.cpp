// Checks of qdiscs and chains; see tc_layout.hpp.
#include "verifier/tc_layout.hpp"

#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "verifier/envelope.hpp"
#include "verifier/tc_tables.hpp"

namespace vethgate::tc {
namespace {

constexpr std::uint32_t kClsactHandle = 0xffff0000;  // ffff:

struct Tally {
  std::uint32_t link;
  int roots = 0;
  int clsacts = 0;
};

std::string hex(std::uint32_t value) {
  const std::array<std::uint8_t, 4> bytes = {
      static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16),
      static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
  const std::string digits = toHex(bytes);
  return digits.substr(0, 4) + ":" + digits.substr(4);
}

// tcm_info is the qdisc's reference count, which rises for a moment with every concurrent reader.
// Sets `place` as soon as it is known.
void checkQdisc(const RawMessage& message, std::span<Tally> tallies, std::string& place) {
  const auto header = fixedHeader<tcmsg>(message);
  AttributeReader reader(kQdisc, attributesOf<tcmsg>(message), "RTM_NEWQDISC");
  const std::string kind(reader.string(TCA_KIND));
  place = "qdisc " + kind + " " + hex(header.tcm_handle) + " at " + hex(header.tcm_parent) +
          " of link " + std::to_string(header.tcm_ifindex);
  const auto tally = std::find_if(tallies.begin(), tallies.end(), [&](const Tally& entry) {
    return static_cast<int>(entry.link) == header.tcm_ifindex;
  });
  if (tally == tallies.end()) {
    reader.refuse("no such link is in the namespace");
  }
  if (header.tcm_family != AF_UNSPEC || header.tcm__pad1 != 0 || header.tcm__pad2 != 0) {
    reader.refuse("the family or padding of its header is not zero");
  }
  if (kind == "noqueue" && header.tcm_parent == TC_H_ROOT && header.tcm_handle == 0) {
    ++tally->roots;
  } else if (kind == "clsact" && header.tcm_parent == TC_H_CLSACT &&
             header.tcm_handle == kClsactHandle) {
    ++tally->clsacts;
    AttributeReader options = reader.nested(TCA_OPTIONS);
    options.finish();
  } else {
    reader.refuse("is there, expected only noqueue at the root and clsact ffff:0000");
  }
  if (reader.u8(TCA_HW_OFFLOAD) != 0) {
    reader.refuse(TCA_HW_OFFLOAD, "is set on a link without hardware");
  }
  AttributeReader stats = reader.nested(TCA_STATS2);
  stats.discard(TCA_STATS_BASIC, "counts packets, as the filters' own counters do better");
  stats.discard(TCA_STATS_QUEUE, "how full a queue is that a plan does not have");
  stats.finish();
  reader.discard(TCA_STATS, "the same counters in their older form");
  reader.finish();
}

}  // namespace

void checkQdiscs(const Capture& capture, std::span<const LinkState> links, std::uint32_t job,
                 bool expected, Findings& findings) {
  std::vector<Tally> tallies;
  tallies.reserve(links.size());
  for (const LinkState& link : links) {
    tallies.push_back({link.index});
  }
  for (const RawMessage& message : messagesOf(capture, DumpId::kQdiscs)) {
    std::string place = "qdiscs";
    try {
      checkQdisc(message, tallies, place);
    } catch (const Failure& failure) {
      findings.add(place + ": " + failure.what());
    }
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const std::string place = "qdiscs: link " + std::to_string(links[i].index);
    // A link that was never up has the kernel's built-in noop, which no dump shows.
    const bool up = (links[i].flags & IFF_UP) != 0;
    if (tallies[i].roots > 1 || (up && tallies[i].roots == 0)) {
      findings.add(place + " has " + std::to_string(tallies[i].roots) +
                   " root qdiscs noqueue, expected 1");
    }
    const int clsacts = expected && links[i].index == job ? 1 : 0;
    if (tallies[i].clsacts != clsacts) {
      findings.add(place + " has " + std::to_string(tallies[i].clsacts) +
                   " qdiscs clsact, expected " + std::to_string(clsacts));
    }
  }
}

void checkChains(const Capture& capture, std::uint32_t job, bool expected, Findings& findings) {
  int chains = 0;
  for (const DumpId id : {DumpId::kChainsEgress, DumpId::kChainsIngress}) {
    for (const RawMessage& message : messagesOf(capture, id)) {
      try {
        const auto header = fixedHeader<tcmsg>(message);
        AttributeReader reader(kChain, attributesOf<tcmsg>(message), "RTM_NEWCHAIN");
        const std::uint32_t index = reader.u32(TCA_CHAIN);
        const bool egress = id == DumpId::kChainsEgress;
        if (!expected || !egress || index != 0 || chains != 0) {
          reader.refuse("chain " + std::to_string(index) + " is there, expected " +
                        (expected && egress ? "one chain 0" : "none"));
        }
        ++chains;
        // The kernel answers with the handle of the qdisc, not with the hook that was asked for.
        if (header.tcm_family != AF_UNSPEC || header.tcm__pad1 != 0 || header.tcm__pad2 != 0 ||
            static_cast<std::uint32_t>(header.tcm_ifindex) != job ||
            header.tcm_parent != kClsactHandle || header.tcm_handle != 0 || header.tcm_info != 0) {
          reader.refuse("the chain belongs to link " + std::to_string(header.tcm_ifindex) +
                        " parent " + hex(header.tcm_parent) + ", expected link " +
                        std::to_string(job) + " parent ffff:0000 without handle or info");
        }
        reader.finish();
      } catch (const Failure& failure) {
        findings.add(std::string(dumpName(id)) + ": " + failure.what());
      }
    }
  }
  if (expected && chains == 0) {
    findings.add("chains.egress: chain 0 is missing");
  }
}

}  // namespace vethgate::tc
