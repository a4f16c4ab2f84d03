// The outside of every dump: message headers, sequence numbers, ends. After it has been checked,
// each message of a dump is whole, of the expected type and part of one uninterrupted answer. It
// must not know what attributes say, except for the nf_tables generation. Sources: linux/netlink.h,
// linux/netfilter/nfnetlink.h, nf_tables_api.c (nft_base_seq).
#pragma once

#include <cstring>
#include <span>

#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate {

// Adds a reason for each dump whose envelope is not as the kernel makes it.
void checkEnvelopes(const Capture& capture, Findings& findings);

// True when no dump had to be asked for twice: the sequence numbers of each socket follow one
// another. Where not, the capture is to be refused; a question about a set that is not there leaves
// a gap as well, and that the set is missing says more.
[[nodiscard]] bool sequencesFollow(const Capture& capture);
// True when both generation messages, and the mark on each message between them, agree.
[[nodiscard]] bool sameGeneration(const Capture& capture);

// True when a dump of the second reading is there; checkEnvelopes() sees to it that all are then.
[[nodiscard]] bool hasSecondReading(const Capture& capture);

// The messages of a dump without its NLMSG_DONE; only after checkEnvelopes() found nothing. Of
// nft.elements the answers' ends stand between the messages: see isEnd().
[[nodiscard]] std::span<const RawMessage> messagesOf(const Capture& capture, DumpId id);

[[nodiscard]] bool isEnd(const RawMessage& message);

// The fixed header behind nlmsghdr, and the attributes behind that one.
template <class Header>
[[nodiscard]] Header fixedHeader(const RawMessage& message) {
  Header header;
  std::memcpy(&header, message.data() + 16, sizeof header);
  return header;
}
template <class Header>
[[nodiscard]] ByteView attributesOf(const RawMessage& message) {
  static_assert(sizeof(Header) % 4 == 0);
  return ByteView(message).subspan(16 + sizeof(Header));
}

}  // namespace vethgate
