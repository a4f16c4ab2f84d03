// Netlink bytes for tests, written by hand: no product code helps to forge what the product must
// judge.
#pragma once

#include <linux/netlink.h>

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace vethgate::wire {

template <class Value>
Bytes raw(const Value& value) {
  const auto* const first = reinterpret_cast<const std::uint8_t*>(&value);
  return {first, first + sizeof value};
}

inline Bytes join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Padded, as the kernel sends it. `type` may hold NLA_F_* bits.
inline Bytes attribute(unsigned type, const Bytes& payload) {
  const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + payload.size()),
                      static_cast<std::uint16_t>(type)};
  Bytes bytes = join({raw(header), payload});
  bytes.resize((bytes.size() + 3) / 4 * 4);
  return bytes;
}

inline Bytes text(std::string_view value) {
  Bytes bytes(value.begin(), value.end());
  bytes.push_back(0);
  return bytes;
}

inline constexpr std::uint32_t kSequence = 7;
inline constexpr std::uint32_t kPort = 4711;

struct Head {
  unsigned type = 0x10;
  unsigned flags = NLM_F_MULTI;
  std::uint32_t sequence = kSequence;
  std::uint32_t port = kPort;
};

inline Bytes message(const Head& head, const Bytes& payload) {
  const nlmsghdr header{static_cast<std::uint32_t>(sizeof(nlmsghdr) + payload.size()),
                        static_cast<std::uint16_t>(head.type),
                        static_cast<std::uint16_t>(head.flags), head.sequence, head.port};
  return join({raw(header), payload});
}

inline Bytes data(unsigned flags = NLM_F_MULTI) { return message({.flags = flags}, {1, 2, 3, 4}); }

inline Bytes done(std::int32_t code = 0, unsigned flags = NLM_F_MULTI) {
  return message({.type = NLMSG_DONE, .flags = flags}, raw(code));
}

// NLMSG_ERROR for a capped request, as NETLINK_CAP_ACK gives it.
inline Bytes error(std::int32_t code, unsigned flags = NLM_F_CAPPED, const Bytes& attributes = {}) {
  return message(
      {.type = NLMSG_ERROR, .flags = flags},
      join({raw(code), raw(nlmsghdr{36, 0x12, NLM_F_REQUEST, kSequence, kPort}), attributes}));
}

// The message of the Failure that `body` throws with `code`, or a text that says what it did
// instead.
template <class Body>
std::string refusal(const Body& body, ExitCode code = ExitCode::kRefused) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.code() == code
               ? failure.what()
               : "exit code " + std::to_string(static_cast<int>(failure.code())) + ": " +
                     failure.what();
  } catch (const std::exception& other) {
    return std::string("not a Failure: ") + other.what();
  }
  return "nothing was thrown";
}

}  // namespace vethgate::wire
