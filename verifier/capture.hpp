// The capture document: what was read of one namespace, as raw netlink messages under fixed names.
// It knows how such a document is written and read, and nothing of what the messages mean.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "netlink/socket.hpp"

namespace vethgate {

// In the order in which they are read, and in which they stand in the document.
enum class DumpId : std::uint8_t {
  kLinks,
  kQdiscs,
  kFiltersEgress,
  kFiltersIngress,
  kChainsEgress,
  kChainsIngress,
  kNftGenerationBefore,
  kNftTables,
  kNftChains,
  kNftRules,
  kNftSets,
  kNftElements,
  kNftObjects,
  kNftFlowtables,
  kNftGenerationAfter,
  // The second reading of what has no generation: the first six once more, in their order.
  kLinksAgain,
  kQdiscsAgain,
  kFiltersEgressAgain,
  kFiltersIngressAgain,
  kChainsEgressAgain,
  kChainsIngressAgain,
};
// `nft.elements` differs from the rest: nf_tables lists the elements of one set at a time, so that
// it holds one whole answer, NLMSG_DONE included, for each set that the plan has, and nothing when
// it has none. It may then be left out of a document. So may the second reading, as a whole: older
// captures lack it.
inline constexpr std::size_t kDumpCount = 21;
inline constexpr std::size_t kReadTwice = 6;  // as many dumps, from kLinks on, have an `…Again`
[[nodiscard]] std::string_view dumpName(DumpId id);  // "links", "filters.egress", "nft.rules", …
[[nodiscard]] constexpr DumpId againOf(DumpId id) {  // only of the first kReadTwice
  return static_cast<DumpId>(static_cast<std::size_t>(DumpId::kLinksAgain) +
                             static_cast<std::size_t>(id));
}

// Where a BPF program can act on a link's packets, by its name in the document: "tcx.ingress",
// "tcx.egress".
enum class ProgramHook : std::uint8_t { kTcxIngress, kTcxEgress };
[[nodiscard]] std::string_view hookName(ProgramHook hook);

// What the kernel said of one hook of one link (BPF_PROG_QUERY of bpf(2)).
struct ProgramAnswer {
  std::uint32_t link = 0;
  ProgramHook hook = ProgramHook::kTcxEgress;
  std::uint32_t error = 0;  // errno; 0 when it answered
  std::uint32_t count = 0;  // programs attached
  friend bool operator==(const ProgramAnswer&, const ProgramAnswer&) = default;
};

// 10,000 denied prefixes are 27 MB; the rest is room for whatever else a namespace may hold.
inline constexpr std::size_t kMaxCaptureBytes = std::size_t{256} << 20;

struct Capture {
  std::string kernel;       // release, as uname(2) says it
  std::uint64_t netns = 0;  // inode number of the namespace
  // Tables that the legacy iptables modules hold: "ip filter", "ip6 nat", "arp filter".
  std::vector<std::string> legacy;
  // Absent: the document, an older one, does not say.
  std::optional<std::vector<ProgramAnswer>> programs;
  // Absent: the document has no dump of that name. Messages are as the kernel sent them, the
  // closing NLMSG_DONE included.
  std::array<std::optional<std::vector<RawMessage>>, kDumpCount> dumps;

  [[nodiscard]] const std::optional<std::vector<RawMessage>>& dump(DumpId id) const {
    return dumps[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] std::optional<std::vector<RawMessage>>& dump(DumpId id) {
    return dumps[static_cast<std::size_t>(id)];
  }
  friend bool operator==(const Capture&, const Capture&) = default;
};

// Writes piece by piece: the whole text is never in memory.
void writeCapture(int fd, const Capture& capture);
[[nodiscard]] std::string captureText(const Capture& capture);

// Failure(kBadInput) for anything that is not such a document: unknown or repeated members and dump
// names, dumps out of order, text that is not lower-case hex. A dump that is missing is not an
// error here: whether the namespace was read completely is for the judgement to say.
[[nodiscard]] Capture readCapture(std::string_view text);

}  // namespace vethgate
