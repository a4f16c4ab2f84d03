// The plan as the datagrams that write it, in order. Pure: nothing is sent here, so the whole
// sequence can be tested, printed (--dry-run) and measured without a kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "netlink/socket.hpp"
#include "render/plan.hpp"

namespace vethgate {

enum class Channel : std::uint8_t { kRoute, kNetfilter };

// What a message is about, so that a refusal can name it.
enum class Subject : std::uint8_t {
  kClsact,
  kGuard,
  kTransaction,  // NFNL_MSG_BATCH_BEGIN and _END
  kTableV4,
  kTableV6,
  kChainV4,
  kChainV6,
  kRuleV4,  // `index` counts the plan's list
  kRuleV6,
  kTableNetdev,
  kChainNetdev,
  kSet,  // `index` is that of its rule
  kElements,
  kRuleNetdev,
  kFilter,
  kGuardRemoval,
  kClsactRemoval,
};

struct StepMessage {
  std::uint32_t offset = 0;  // of its nlmsghdr in the datagram; a multiple of NLMSG_ALIGNTO
  Subject subject = Subject::kTransaction;
  std::uint32_t index = 0;
};

enum class StepKind : std::uint8_t { kSeal, kTables, kFilters, kUnseal };

// One datagram. The kernel works through its messages in order and before send returns; it answers
// those with NLM_F_ACK, and any that it refuses.
//
// Every message of rtnetlink asks for its answer: each is an operation of its own. A transaction of
// nf_tables asks for one, with its last message: it is committed whole or not at all, errors need
// no NLM_F_ACK and are queued first (nfnl_err_deliver() of net/netfilter/nfnetlink.c). Measured
// with 20,000 rules: one answer takes a third off the time to apply, and no receive buffer of 20
// MB.
struct Step {
  StepKind kind = StepKind::kSeal;
  Channel channel = Channel::kRoute;
  Bytes datagram;
  std::vector<StepMessage> messages;

  // As the last message so far.
  void append(const RawMessage& message, Subject subject, std::uint32_t index = 0);
  // Has the kernel acknowledge the last message so far.
  void acknowledgeLast();
};

// Filters in one datagram, whose answers must all fit into the receive buffer at once: with 128
// they fit into the system's own limit. Measured with 10,000 filters: 32 take half as much time
// again, 1,024 a tenth less.
inline constexpr std::size_t kFiltersPerStep = 128;

// seal (clsact and guard) → tables (one transaction for iptables and netdev) → filters… → unseal.
// A layer that the plan lacks has no steps.
[[nodiscard]] std::vector<Step> buildSteps(const Plan& plan);

// "seal", "tables", "filters", "unseal"
[[nodiscard]] const char* label(StepKind kind);
// For messages: `rule 3 of 21 of iptables v4 ("private")`.
[[nodiscard]] std::string describe(const Plan& plan, const StepMessage& message);
// The messages of a step that the kernel will acknowledge: those with NLM_F_ACK.
[[nodiscard]] std::size_t expectedAnswers(const Step& step);

// What --dry-run prints: one line a message, its step's label and its bytes in hex. Sequence
// numbers and port are 0.
[[nodiscard]] std::string dryRunText(const std::vector<Step>& steps);

}  // namespace vethgate
