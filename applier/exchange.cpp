// It must not know what a refusal means; that depends on the step.
#include "applier/exchange.hpp"

#include <linux/netlink.h>

#include <cstring>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"

namespace vethgate {
namespace {

// Which answers of a step are still to come. Sequence numbers follow each other without a gap.
class Ledger {
 public:
  // Writes sequence numbers and port into the datagram.
  Ledger(Kernel& kernel, Step& step) : step_(step), port_(kernel.portId(step.channel)) {
    open_.resize(step.messages.size());
    for (std::size_t i = 0; i < step.messages.size(); ++i) {
      const std::uint32_t sequence = kernel.nextSequence(step.channel);
      if (i == 0) {
        first_ = sequence;
      }
      std::uint8_t* const place = step.datagram.data() + step.messages[i].offset;
      nlmsghdr header{};
      std::memcpy(&header, place, sizeof header);
      header.nlmsg_seq = sequence;
      header.nlmsg_pid = port_;
      std::memcpy(place, &header, sizeof header);
      open_[i] = (header.nlmsg_flags & NLM_F_ACK) != 0;
      outstanding_ += open_[i] ? 1 : 0;
    }
  }

  [[nodiscard]] bool settled() const noexcept { return outstanding_ == 0; }

  // Takes one answer; returns the refusal that it is, if it is one.
  [[nodiscard]] std::optional<Refusal> take(const RawMessage& message) {
    const nlmsghdr header = messageHeader(message);
    if (header.nlmsg_type != NLMSG_ERROR) {
      refuse("a message of type " + std::to_string(header.nlmsg_type) +
             " came where an acknowledgement is expected");
    }
    if (header.nlmsg_pid != port_) {
      refuse("an acknowledgement is for port " + std::to_string(header.nlmsg_pid) + ", not " +
             std::to_string(port_));
    }
    const Acknowledgement answer = readAcknowledgement(message);
    const std::uint32_t place = answer.sequence - first_;  // wraps as the sequence does
    if (place >= open_.size()) {
      refuse("an acknowledgement carries the sequence number " + std::to_string(answer.sequence) +
             ", which this step did not use");
    }
    if (open_[place]) {
      open_[place] = false;
      --outstanding_;
    } else if (answer.error == 0) {
      // An error needs no NLM_F_ACK, and one about a transaction may come on top of its own answer.
      refuse("an acknowledgement of sequence number " + std::to_string(answer.sequence) +
             " came that nobody waits for");
    }
    if (answer.error == 0) {
      return std::nullopt;
    }
    return Refusal{step_.messages[place], answer.error, answer.text};
  }

 private:
  [[noreturn]] void refuse(const std::string& problem) const {
    throw Failure(ExitCode::kRefused, std::string("step ") + label(step_.kind) + ": " + problem);
  }

  const Step& step_;
  std::uint32_t port_;
  std::uint32_t first_ = 0;
  std::vector<bool> open_;
  std::size_t outstanding_ = 0;
};

}  // namespace

std::string Refusal::reason() const {
  const std::string name = std::generic_category().message(error);
  return text.empty() ? name : name + " (" + text + ")";
}

std::vector<Refusal> exchange(Kernel& kernel, Step& step, Errors errors, const Deadline& deadline) {
  Ledger ledger(kernel, step);
  if (!kernel.send(step.channel, step.datagram)) {
    throw Failure(ExitCode::kRefused, std::string("step ") + label(step.kind) +
                                          ": the kernel had no memory for it, and what it did "
                                          "of it is unknown");
  }
  std::vector<Refusal> refusals;
  while (!ledger.settled()) {
    for (const RawMessage& message : kernel.receive(step.channel, deadline)) {
      if (auto refusal = ledger.take(message)) {
        refusals.push_back(std::move(*refusal));
      }
    }
    if (errors == Errors::kFirst && !refusals.empty()) {
      break;
    }
  }
  return refusals;
}

}  // namespace vethgate
