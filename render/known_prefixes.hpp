// The addresses that policies know by name: metadata endpoints, loopback, the named sets of a
// policy, and the IPv6 ranges that carry an IPv4 address. It must not know what is done with them.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "render/address.hpp"

namespace vethgate {

// Where cloud providers serve credentials to whoever asks; always denied, ahead of every exception.
[[nodiscard]] std::span<const Prefix> metadataHosts();
// 127.0.0.0/8 and ::1/128.
[[nodiscard]] const Prefix& loopbackOf(Family family);

// The named sets of `deny`, in the order in which they are rendered.
[[nodiscard]] std::span<const Prefix> privatePrefixes();
[[nodiscard]] std::span<const Prefix> transitionPrefixes();

// Every IPv4 prefix that `prefix` may lead to when it is read as NAT64 (RFC 6052, 8215), 6to4 (RFC
// 3056), Teredo (RFC 4380: server and obfuscated client), IPv4-mapped or IPv4-compatible (RFC
// 4291). Empty for IPv4, and for IPv6 outside these ranges; 0.0.0.0/0 when `prefix` leaves the
// address open.
struct EmbeddedV4 {
  Prefix prefix;
  std::string_view spelling;  // "NAT64", …
};
[[nodiscard]] std::vector<EmbeddedV4> embeddedV4(const Prefix& prefix);

// ::ffff:0:0/96
[[nodiscard]] const Prefix& mappedPrefix();

}  // namespace vethgate
