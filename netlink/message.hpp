// Building the bytes of one netlink message. No sockets: what is built here is tested as bytes.
// Sources: RFC 3549, linux/netlink.h.
#pragma once

#include <linux/netlink.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/digest.hpp"

namespace vethgate {

// Room for the largest single message that the project builds; more is a defect, never a
// truncation.
inline constexpr std::size_t kMaxMessageBytes = 4096;

// NOTE: one builder, one message, one thread. The buffer lies in the object (no heap until
// finish()), so build it where it is used. Every misuse (overflow, a header after an attribute, a
// nest that closes out of order or is still open at the end) is Failure(kDefect).
class MessageBuilder {
 public:
  // `flags` is completed with NLM_F_REQUEST. The sequence number is set by the socket that sends
  // it.
  MessageBuilder(std::uint16_t type, std::uint16_t flags);

  // The fixed header that follows nlmsghdr (tcmsg, ifinfomsg, nfgenmsg); before any attribute.
  template <class Header>
  void header(const Header& value) {
    static_assert(sizeof(Header) % NLMSG_ALIGNTO == 0, "attributes start right behind the header");
    appendHeader({reinterpret_cast<const std::uint8_t*>(&value), sizeof value});
  }

  void put(std::uint16_t type, ByteView payload);
  void putFlag(std::uint16_t type) { put(type, {}); }
  void putU8(std::uint16_t type, std::uint8_t value);
  void putU16(std::uint16_t type, std::uint16_t value);    // host order
  void putU32(std::uint16_t type, std::uint32_t value);    // host order
  void putU16Be(std::uint16_t type, std::uint16_t value);  // value in host order, sent big-endian
  void putU32Be(std::uint16_t type, std::uint32_t value);
  void putU64Be(std::uint16_t type, std::uint64_t value);
  void putString(std::uint16_t type, std::string_view text);  // with its terminating NUL

  // An open attribute; closes, and gets its length, at the end of the scope. Scopes in the source
  // mirror the nesting of the message.
  class Nest {
   public:
    ~Nest();
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    friend class MessageBuilder;
    Nest(MessageBuilder& builder, std::size_t start, std::size_t depth)
        : builder_(builder), start_(start), depth_(depth) {}
    MessageBuilder& builder_;
    std::size_t start_;  // of its nlattr in the buffer
    std::size_t depth_;
  };
  // nf_tables wants NLA_F_NESTED set; tc's old attributes are sent without it, as iproute2 does.
  [[nodiscard]] Nest nest(std::uint16_t type);
  [[nodiscard]] Nest nestUnmarked(std::uint16_t type);

  // Exactly the bytes of the message.
  [[nodiscard]] Bytes finish() &&;

  // Nests refer to the builder.
  MessageBuilder(const MessageBuilder&) = delete;
  MessageBuilder& operator=(const MessageBuilder&) = delete;

 private:
  void appendHeader(ByteView bytes);
  void append(ByteView bytes);  // which must fit
  template <class Length>
  void setLength(std::size_t place, std::size_t value);

  // Left uninitialised: only the first size_ bytes are ever read.
  std::array<std::uint8_t, kMaxMessageBytes> buffer_;
  std::size_t size_ = 0;
  std::size_t openNests_ = 0;
  bool hasAttributes_ = false;
  bool closedOutOfOrder_ = false;
};

}  // namespace vethgate
