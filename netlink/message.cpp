// The message builder on libmnl's checked puts.
#include "netlink/message.hpp"

#include <endian.h>
#include <libmnl/libmnl.h>

#include <algorithm>
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
  nlmsghdr* const header = mnl_nlmsg_put_header(buffer_.data());
  header->nlmsg_type = type;
  header->nlmsg_flags = flags | NLM_F_REQUEST;
}

void MessageBuilder::appendHeader(ByteView bytes) {
  if (hasAttributes_) {
    defect("a fixed header cannot follow an attribute");
  }
  if (message()->nlmsg_len + bytes.size() > buffer_.size()) {
    defect("the fixed header does not fit");
  }
  std::memcpy(mnl_nlmsg_put_extra_header(message(), bytes.size()), bytes.data(), bytes.size());
}

void MessageBuilder::put(std::uint16_t type, ByteView payload) {
  auto* const start = static_cast<std::uint8_t*>(mnl_nlmsg_get_payload_tail(message()));
  // Checked here as well: libmnl adds the lengths up without a check for wrap-around.
  if (payload.size() > buffer_.size() ||
      !mnl_attr_put_check(message(), buffer_.size(), type, payload.size(), payload.data())) {
    defect("attribute " + std::to_string(type) + " of " + std::to_string(payload.size()) +
           " bytes does not fit into " + std::to_string(kMaxMessageBytes) + " bytes");
  }
  // libmnl 1.0.4 leaves the padding as it finds it: bytes of our stack would go to the kernel.
  std::fill(start + sizeof(nlattr) + payload.size(),
            static_cast<std::uint8_t*>(mnl_nlmsg_get_payload_tail(message())), std::uint8_t{0});
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
  auto* const start = static_cast<nlattr*>(mnl_nlmsg_get_payload_tail(message()));
  put(type, {});
  return {*this, start, ++openNests_};
}

MessageBuilder::Nest::~Nest() {
  // A destructor cannot throw: finish() reports it.
  if (depth_ != builder_.openNests_) {
    builder_.closedOutOfOrder_ = true;
  }
  --builder_.openNests_;
  mnl_attr_nest_end(builder_.message(), start_);
}

Bytes MessageBuilder::finish() && {
  if (closedOutOfOrder_) {
    defect("nested attributes were closed out of order");
  }
  if (openNests_ != 0) {
    defect("a nested attribute is still open");
  }
  return {buffer_.data(), buffer_.data() + message()->nlmsg_len};
}

}  // namespace vethgate
