// The message builder; see message.hpp for what it promises.
#include "netlink/message.hpp"

#include <endian.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/error.hpp"

namespace vethgate {
namespace {

[[noreturn]] void defect(const std::string& problem) {
  throw Failure(ExitCode::kDefect, "netlink message builder: " + problem);
}

template <class Value>
ByteView bytesOf(const Value& value) {
  return {reinterpret_cast<const std::uint8_t*>(&value), sizeof value};
}

}  // namespace

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see buffer_
MessageBuilder::MessageBuilder(std::uint16_t type, std::uint16_t flags) {
  nlmsghdr header{};
  header.nlmsg_type = type;
  header.nlmsg_flags = flags | NLM_F_REQUEST;
  append(bytesOf(header));
}

void MessageBuilder::append(ByteView bytes) {
  std::copy(bytes.begin(), bytes.end(), buffer_.data() + size_);
  size_ += bytes.size();
}

void MessageBuilder::appendHeader(ByteView bytes) {
  if (hasAttributes_) {
    defect("a fixed header cannot follow an attribute");
  }
  if (bytes.size() > buffer_.size() - size_) {
    defect("the fixed header does not fit");
  }
  append(bytes);
}

void MessageBuilder::put(std::uint16_t type, ByteView payload) {
  constexpr std::array<std::uint8_t, NLA_ALIGNTO> kPadding{};
  const std::size_t length = NLA_HDRLEN + payload.size();
  // The first comparison keeps the alignment of the second from wrapping around.
  if (length > buffer_.size() || NLA_ALIGN(length) > buffer_.size() - size_) {
    defect("attribute " + std::to_string(type) + " of " + std::to_string(payload.size()) +
           " bytes does not fit into " + std::to_string(kMaxMessageBytes) + " bytes");
  }
  append(bytesOf(nlattr{static_cast<std::uint16_t>(length), type}));
  append(payload);
  append(ByteView(kPadding).first(NLA_ALIGN(length) - length));
  hasAttributes_ = true;
}

void MessageBuilder::putU8(std::uint16_t type, std::uint8_t value) { put(type, bytesOf(value)); }
void MessageBuilder::putU16(std::uint16_t type, std::uint16_t value) { put(type, bytesOf(value)); }
void MessageBuilder::putU32(std::uint16_t type, std::uint32_t value) { put(type, bytesOf(value)); }

void MessageBuilder::putU16Be(std::uint16_t type, std::uint16_t value) {
  put(type, bytesOf(htobe16(value)));
}
void MessageBuilder::putU32Be(std::uint16_t type, std::uint32_t value) {
  put(type, bytesOf(htobe32(value)));
}
void MessageBuilder::putU64Be(std::uint16_t type, std::uint64_t value) {
  put(type, bytesOf(htobe64(value)));
}

void MessageBuilder::putString(std::uint16_t type, std::string_view text) {
  if (text.find('\0') != std::string_view::npos) {
    defect("the text of attribute " + std::to_string(type) + " holds a NUL");
  }
  const std::string terminated(text);
  put(type, {reinterpret_cast<const std::uint8_t*>(terminated.c_str()), terminated.size() + 1});
}

MessageBuilder::Nest MessageBuilder::nest(std::uint16_t type) {
  return nestUnmarked(type | NLA_F_NESTED);
}

MessageBuilder::Nest MessageBuilder::nestUnmarked(std::uint16_t type) {
  const std::size_t start = size_;
  put(type, {});
  return {*this, start, ++openNests_};
}

template <class Length>
void MessageBuilder::setLength(std::size_t place, std::size_t value) {
  const auto length = static_cast<Length>(value);
  std::memcpy(buffer_.data() + place, &length, sizeof length);
}

MessageBuilder::Nest::~Nest() {
  // A destructor cannot throw: finish() reports it.
  if (depth_ != builder_.openNests_) {
    builder_.closedOutOfOrder_ = true;
  }
  --builder_.openNests_;
  builder_.setLength<std::uint16_t>(start_ + offsetof(nlattr, nla_len), builder_.size_ - start_);
}

Bytes MessageBuilder::finish() && {
  if (closedOutOfOrder_) {
    defect("nested attributes were closed out of order");
  }
  if (openNests_ != 0) {
    defect("a nested attribute is still open");
  }
  setLength<std::uint32_t>(offsetof(nlmsghdr, nlmsg_len), size_);
  return {buffer_.data(), buffer_.data() + size_};
}

}  // namespace vethgate
