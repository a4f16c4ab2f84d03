// Datagrams into messages, and the kernel's acknowledgements.
#include "netlink/datagram.hpp"

#include <array>
#include <cstring>
#include <system_error>

#include "base/error.hpp"
#include "netlink/reader.hpp"

namespace vethgate {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  throw Failure(ExitCode::kRefused, "netlink: " + problem);
}

std::string bytesText(std::size_t count) { return std::to_string(count) + " bytes"; }

nlmsghdr headerOf(ByteView bytes) {
  nlmsghdr header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

// linux/netlink.h, enum nlmsgerr_attrs. The policy is the kernel's advice to a developer.
constexpr std::array kAcknowledgementSpecs{
    AttributeSpec{NLMSGERR_ATTR_MSG, "NLMSGERR_ATTR_MSG", AttributeKind::kString, 0, kAnySize},
    AttributeSpec{NLMSGERR_ATTR_OFFS, "NLMSGERR_ATTR_OFFS", AttributeKind::kU32},
    AttributeSpec{NLMSGERR_ATTR_COOKIE, "NLMSGERR_ATTR_COOKIE", AttributeKind::kBytes, 0, kAnySize},
    AttributeSpec{NLMSGERR_ATTR_POLICY, "NLMSGERR_ATTR_POLICY", AttributeKind::kBytes, 0, kAnySize,
                  nullptr, NLA_F_NESTED},
    AttributeSpec{NLMSGERR_ATTR_MISS_TYPE, "NLMSGERR_ATTR_MISS_TYPE", AttributeKind::kU32},
    AttributeSpec{NLMSGERR_ATTR_MISS_NEST, "NLMSGERR_ATTR_MISS_NEST", AttributeKind::kU32},
};
constexpr AttributeTable kAcknowledgementTable{"nlmsgerr_attrs", kAcknowledgementSpecs};

std::string readExtendedText(ByteView attributes, const char* parent) {
  AttributeReader reader(kAcknowledgementTable, attributes, parent);
  std::string text(reader.maybeString(NLMSGERR_ATTR_MSG).value_or(std::string_view{}));
  reader.ignore(NLMSGERR_ATTR_OFFS, "says where in the request; the request is named already");
  reader.ignore(NLMSGERR_ATTR_COOKIE, "no family used here gives it a meaning");
  reader.ignore(NLMSGERR_ATTR_POLICY, "advice on how to build the request");
  reader.ignore(NLMSGERR_ATTR_MISS_TYPE, "advice on how to build the request");
  reader.ignore(NLMSGERR_ATTR_MISS_NEST, "advice on how to build the request");
  reader.finish();
  return text;
}

// The code at the front of NLMSG_ERROR and NLMSG_DONE: zero or a negative errno.
int errorCode(ByteView payload, const char* what) {
  std::int32_t code = 0;
  std::memcpy(&code, payload.data(), sizeof code);
  constexpr std::int32_t kMaxErrno = 4095;  // linux/err.h
  if (code > 0 || code < -kMaxErrno) {
    refuse(std::string(what) + " carries " + std::to_string(code) +
           " where zero or a negative errno is expected");
  }
  return -code;
}

Acknowledgement withText(Acknowledgement acknowledgement, ByteView attributes, bool announced,
                         const char* what) {
  if (announced == attributes.empty()) {
    refuse(std::string(what) + " holds " + bytesText(attributes.size()) +
           " of attributes, which NLM_F_ACK_TLVS contradicts");
  }
  if (announced) {
    try {
      acknowledgement.text = readExtendedText(attributes, what);
    } catch (const Failure& failure) {
      // The kernel's own error must not get lost behind what is wrong with its explanation.
      throw Failure(failure.code(), std::string(failure.what()) + " (in the answer \"" +
                                        std::generic_category().message(acknowledgement.error) +
                                        "\")");
    }
  }
  return acknowledgement;
}

}  // namespace

std::vector<RawMessage> splitDatagram(const Datagram& datagram) {
  if (datagram.senderLength != sizeof(sockaddr_nl) || datagram.sender.nl_family != AF_NETLINK) {
    refuse("a datagram came without a netlink sender");
  }
  if (datagram.sender.nl_pid != 0) {
    refuse("a datagram was sent by port " + std::to_string(datagram.sender.nl_pid) +
           ", not by the kernel");
  }
  if (datagram.truncated) {
    refuse("a datagram was longer than the " + bytesText(kMaxDatagramBytes) + " of the buffer");
  }
  if (datagram.bytes.empty()) {
    refuse("a datagram is empty");
  }
  std::vector<RawMessage> messages;
  ByteView rest = datagram.bytes;
  while (!rest.empty()) {
    if (rest.size() < sizeof(nlmsghdr)) {
      refuse(bytesText(rest.size()) + " are left over behind the last message of a datagram");
    }
    const std::size_t length = headerOf(rest).nlmsg_len;
    if (length < sizeof(nlmsghdr) || length > rest.size()) {
      refuse("a message says it is " + bytesText(length) + " long where " +
             std::to_string(sizeof(nlmsghdr)) + " to " + std::to_string(rest.size()) +
             " are possible");
    }
    messages.emplace_back(rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(length));
    // The last message may end without its padding, but not amid it.
    if (length == rest.size()) {
      break;
    }
    const std::size_t step = NLMSG_ALIGN(length);
    if (step > rest.size()) {
      refuse("a datagram ends amid the padding of its last message");
    }
    for (const std::uint8_t byte : rest.subspan(length, step - length)) {
      if (byte != 0) {
        refuse("the padding between two messages is not zero");
      }
    }
    rest = rest.subspan(step);
  }
  return messages;
}

nlmsghdr messageHeader(ByteView message) {
  if (message.size() < sizeof(nlmsghdr)) {
    refuse("a message of " + bytesText(message.size()) + " is shorter than its header");
  }
  const nlmsghdr header = headerOf(message);
  if (header.nlmsg_len != message.size()) {
    refuse("a message of " + bytesText(message.size()) + " says it is " +
           bytesText(header.nlmsg_len) + " long");
  }
  return header;
}

Acknowledgement readAcknowledgement(const RawMessage& message) {
  const nlmsghdr header = messageHeader(message);
  if (header.nlmsg_type != NLMSG_ERROR) {
    refuse("message type " + std::to_string(header.nlmsg_type) +
           " stands where an acknowledgement (NLMSG_ERROR) is expected");
  }
  ByteView payload = ByteView(message).subspan(sizeof(nlmsghdr));
  if (payload.size() < sizeof(nlmsgerr)) {
    refuse("an acknowledgement of " + bytesText(message.size()) + " is too short");
  }
  Acknowledgement acknowledgement;
  acknowledgement.sequence = header.nlmsg_seq;
  acknowledgement.error = errorCode(payload, "NLMSG_ERROR");

  // Behind the code stands the request's header; its payload too, unless it was capped.
  const nlmsghdr request = headerOf(payload.subspan(sizeof(std::int32_t)));
  payload = payload.subspan(sizeof(nlmsgerr));
  if ((header.nlmsg_flags & NLM_F_CAPPED) == 0) {
    const std::size_t length = request.nlmsg_len;
    if (length < sizeof(nlmsghdr) || NLMSG_ALIGN(length - sizeof(nlmsghdr)) > payload.size()) {
      refuse("an acknowledgement holds " + bytesText(payload.size()) +
             " of a request that says it is " + bytesText(length) + " long");
    }
    payload = payload.subspan(NLMSG_ALIGN(length - sizeof(nlmsghdr)));
  }
  return withText(std::move(acknowledgement), payload, (header.nlmsg_flags & NLM_F_ACK_TLVS) != 0,
                  "NLMSG_ERROR");
}

Acknowledgement readDone(const RawMessage& message) {
  const nlmsghdr header = messageHeader(message);
  const ByteView payload = ByteView(message).subspan(sizeof(nlmsghdr));
  if (header.nlmsg_type != NLMSG_DONE || payload.size() < sizeof(std::int32_t)) {
    refuse("message type " + std::to_string(header.nlmsg_type) + " of " +
           bytesText(message.size()) + " stands where the end of a dump (NLMSG_DONE) is expected");
  }
  Acknowledgement outcome;
  outcome.sequence = header.nlmsg_seq;
  outcome.error = errorCode(payload, "NLMSG_DONE");
  outcome = withText(std::move(outcome), payload.subspan(sizeof(std::int32_t)),
                     (header.nlmsg_flags & NLM_F_ACK_TLVS) != 0, "NLMSG_DONE");
  if (outcome.error == 0 && !outcome.text.empty()) {
    refuse("a dump ended with the warning \"" + outcome.text + "\"");
  }
  return outcome;
}

void throwKernelError(const Acknowledgement& acknowledgement, const std::string& what) {
  std::string message = what + ": " + std::generic_category().message(acknowledgement.error);
  if (!acknowledgement.text.empty()) {
    message += " (" + acknowledgement.text + ")";
  }
  throw KernelError(message, acknowledgement.error);
}

}  // namespace vethgate
