// The answers to one request, judged message by message, without a socket.
// It refuses what is not exactly the answer: a foreign sequence number or port, a message without
// NLM_F_MULTI, anything behind NLMSG_DONE.
// Sources: linux/netlink.h; net/netlink/af_netlink.c, netlink_dump() and netlink_dump_done().
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "netlink/datagram.hpp"

namespace vethgate {

// Which answers belong to a request.
struct Exchange {
  std::string what;  // for messages, e.g. "dump of RTM_GETLINK"
  std::uint32_t sequence = 0;
  std::uint32_t portId = 0;
};

// All messages of one dump together. The largest plan that a policy can lead to (65,536 entries) is
// below 64 MiB in each; a kernel that sends more is not describing a namespace of ours.
inline constexpr std::size_t kMaxDumpBytes = std::size_t{128} << 20;

class DumpAssembler {
 public:
  explicit DumpAssembler(Exchange exchange, std::size_t maxBytes = kMaxDumpBytes)
      : exchange_(std::move(exchange)), room_(maxBytes) {}

  // Takes the messages of the next datagram. True once the dump has ended. An error answer throws
  // KernelError, whatever else does not belong Failure(kRefused).
  [[nodiscard]] bool feed(std::vector<RawMessage> messages);

  // NLM_F_DUMP_INTR stood on at least one message: what was collected is not one state. Known only
  // once the dump has ended.
  [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }
  // All messages, NLMSG_DONE last.
  [[nodiscard]] std::vector<RawMessage> take() && { return std::move(messages_); }

 private:
  Exchange exchange_;
  std::size_t room_;  // bytes that may still come
  std::vector<RawMessage> messages_;
  bool interrupted_ = false;
  bool ended_ = false;
};

// What `attempt` (send the request, feed the answers to their end) collected, made again while the
// kernel marks it interrupted; Failure(kRefused), with `what` in front, after kDumpAttempts times.
inline constexpr int kDumpAttempts = 5;
[[nodiscard]] std::vector<RawMessage> repeatUntilWhole(
    const std::function<DumpAssembler()>& attempt, const std::string& what);

// The only message of the only datagram that answers a request which is no dump.
[[nodiscard]] RawMessage soleAnswer(const Exchange& exchange, std::vector<RawMessage> messages);

}  // namespace vethgate
