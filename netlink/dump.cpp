// Assembling the answers to one request.
#include "netlink/dump.hpp"

#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

[[noreturn]] void refuse(const Exchange& exchange, const std::string& problem) {
  throw Failure(ExitCode::kRefused, exchange.what + ": " + problem);
}

// Checks that the message belongs to the exchange, and is data, NLMSG_DONE or NLMSG_ERROR.
nlmsghdr checkedHeader(const Exchange& exchange, const RawMessage& message) {
  const nlmsghdr header = messageHeader(message);
  if (header.nlmsg_seq != exchange.sequence) {
    refuse(exchange, "an answer carries the sequence number " + std::to_string(header.nlmsg_seq) +
                         " where " + std::to_string(exchange.sequence) + " is expected");
  }
  if (header.nlmsg_pid != exchange.portId) {
    refuse(exchange, "an answer is for port " + std::to_string(header.nlmsg_pid) + " where " +
                         std::to_string(exchange.portId) + " is expected");
  }
  if (header.nlmsg_type == NLMSG_OVERRUN) {
    refuse(exchange, "the kernel says that data were lost (NLMSG_OVERRUN)");
  }
  if (header.nlmsg_type < NLMSG_MIN_TYPE && header.nlmsg_type != NLMSG_ERROR &&
      header.nlmsg_type != NLMSG_DONE) {
    refuse(exchange, "an answer has the control type " + std::to_string(header.nlmsg_type) +
                         ", which no answer has");
  }
  return header;
}

[[noreturn]] void throwError(const Exchange& exchange, const RawMessage& message) {
  const Acknowledgement acknowledgement = readAcknowledgement(message);
  if (acknowledgement.error == 0) {
    refuse(exchange, "the kernel acknowledged the request instead of answering it");
  }
  throwKernelError(acknowledgement, exchange.what);
}

}  // namespace

bool DumpAssembler::feed(std::vector<RawMessage> messages) {
  for (RawMessage& message : messages) {
    if (ended_) {
      refuse(exchange_, "a message follows the end of the dump");
    }
    const nlmsghdr header = checkedHeader(exchange_, message);
    if (header.nlmsg_type == NLMSG_ERROR) {
      throwError(exchange_, message);
    }
    if ((header.nlmsg_flags & NLM_F_MULTI) == 0) {
      refuse(exchange_, "a message lacks NLM_F_MULTI, so it is not part of a dump");
    }
    interrupted_ = interrupted_ || (header.nlmsg_flags & NLM_F_DUMP_INTR) != 0;
    if (header.nlmsg_type == NLMSG_DONE) {
      if (const Acknowledgement outcome = readDone(message); outcome.error != 0) {
        throwKernelError(outcome, exchange_.what);
      }
      ended_ = true;
    }
    if (message.size() > room_) {
      refuse(exchange_, "the answer is longer than a dump may be");
    }
    room_ -= message.size();
    messages_.push_back(std::move(message));
  }
  return ended_;
}

std::vector<RawMessage> repeatUntilWhole(const std::function<DumpAssembler()>& attempt,
                                         const std::string& what) {
  for (int made = 0; made < kDumpAttempts; ++made) {
    DumpAssembler answers = attempt();
    if (!answers.interrupted()) {
      return std::move(answers).take();
    }
  }
  throw Failure(ExitCode::kRefused, what + ": interrupted by changes " +
                                        std::to_string(kDumpAttempts) + " times in a row");
}

RawMessage soleAnswer(const Exchange& exchange, std::vector<RawMessage> messages) {
  if (messages.size() != 1) {
    refuse(exchange, std::to_string(messages.size()) + " messages came where one is expected");
  }
  const nlmsghdr header = checkedHeader(exchange, messages.front());
  if (header.nlmsg_type == NLMSG_ERROR) {
    throwError(exchange, messages.front());
  }
  if (header.nlmsg_type == NLMSG_DONE || (header.nlmsg_flags & NLM_F_MULTI) != 0) {
    refuse(exchange, "a part of a dump came where one message is expected");
  }
  return std::move(messages.front());
}

}  // namespace vethgate
