// The judgement of a capture of a namespace, twice: field by field against the plan, rendered from
// the policy in this process, and by what the rules let through against what the policy means
// (proof.hpp). Pure: it opens nothing and sends nothing, so that it runs after every privilege is
// gone, and on a capture from a file exactly as on one just read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "render/plan.hpp"
#include "render/policy.hpp"
#include "verifier/capture.hpp"
#include "verifier/engine_resolver.hpp"

namespace vethgate {

struct Verdict {
  // kDone: contained. kRefused: the readback is not the plan. kWrongNamespace: it is of another
  // namespace, or the namespace's link is not the one that was asked about.
  ExitCode code = ExitCode::kRefused;
  std::vector<std::string> reasons;  // empty exactly when contained
  // What could not be found out, one sentence each; it is no reason to refuse by itself.
  std::vector<std::string> unchecked;
  std::string policy;  // SHA-256 of the canonical policy
  // SHA-256 over what was decoded, one line per rule in evaluation order: "iptables v4 " or
  // "iptables v6 " and describe(rule), then "flower <pref>/<handle in hex> " and describe(filter),
  // then "netdev " and describe(rule), then "engine resolver" when its table is there.
  // No handles of rules, indexes, times, counters or ports of the engine's resolver are in it: two
  // namespaces that hold the same rules have the same digest. Absent when not everything could be
  // decoded.
  std::optional<std::string> readback;
  std::size_t v4 = 0;  // rules and filters that were read
  std::size_t v6 = 0;
  std::size_t flower = 0;
  std::size_t netdev = 0;
  std::optional<EngineResolver> resolver;  // the engine's own NAT, which is no rule of the plan
  // Packets that each drop rule stopped: "iptables v4 #7 drop 10.0.0.0/8", "flower 103/0x5
  // drop 10.0.0.0/8", "netdev #2 drop v4_1 (25 prefixes)".
  std::vector<std::pair<std::string, std::uint64_t>> drops;
  // For people, when asked for: where each kind of packet may go by each layer, computed from what
  // was read.
  std::string reach;
  std::string kernel;
  Link link;  // the one that was asked about
};

enum class Reasons : std::uint8_t {
  kAll,
  kFirst,  // ends at the first one: for who judges millions of captures, as the mutation test does
};

// `explain`: fill in `reach` as well, which costs as much as the judgement itself.
[[nodiscard]] Verdict judge(const Policy& policy, const Plan& plan, const Capture& capture,
                            bool explain = false, Reasons reasons = Reasons::kAll);

// The verdict of docs/documents.md, on one line.
[[nodiscard]] std::string verdictText(const Verdict& verdict);
// One sentence for people.
[[nodiscard]] std::string verdictSentence(const Verdict& verdict);

}  // namespace vethgate
