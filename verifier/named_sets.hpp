// The addresses that the words of a policy stand for, stated a second time: what the proof holds
// the rules against must not come from the tables that they were rendered from
// (render/known_prefixes.hpp), or a prefix missing there would be missing on both sides. Whoever
// changes one of the two has to change the other from the same sources. It must not know the
// renderer.
#pragma once

#include <array>
#include <string_view>

namespace vethgate {

// `private`: addresses of networks that are somebody's own, in IANA's special-purpose registries
// (RFC 6890) and address-space registries.
inline constexpr std::array<std::string_view, 11> kMeaningOfPrivate = {
    "10.0.0.0/8",      // RFC 1918 §3, private use
    "172.16.0.0/12",   // RFC 1918 §3
    "192.168.0.0/16",  // RFC 1918 §3
    "100.64.0.0/10",   // RFC 6598, shared with a provider's address translation
    "169.254.0.0/16",  // RFC 3927, link local
    "198.18.0.0/15",   // RFC 2544 C.2.2, benchmarks
    "224.0.0.0/4",     // RFC 1112 §4, multicast
    "240.0.0.0/4",     // RFC 1112 §4, reserved; with 255.255.255.255 of RFC 919 §7
    "fc00::/7",        // RFC 4193 §3.1, unique local
    "fe80::/10",       // RFC 4291 §2.5.6, link local
    "ff00::/8",        // RFC 4291 §2.7, multicast
};

// `transition`: the IPv6 prefixes behind which an IPv4 address, denied or not, may be reached, and
// what became of site-local addresses.
inline constexpr std::array<std::string_view, 7> kMeaningOfTransition = {
    "::/96",           // RFC 4291 §2.5.5.1, IPv4-compatible
    "::ffff:0:0/96",   // RFC 4291 §2.5.5.2, IPv4-mapped
    "64:ff9b::/96",    // RFC 6052 §2.1, NAT64
    "64:ff9b:1::/48",  // RFC 8215, NAT64 of local use
    "2001::/32",       // RFC 4380 §2.6, Teredo
    "2002::/16",       // RFC 3056 §2, 6to4
    "fec0::/10",       // RFC 3879 §4, site local
};

// Denied whatever a policy says: where providers serve credentials, by their own documentation.
inline constexpr std::array<std::string_view, 5> kMetadataAddresses = {
    "169.254.169.254/32",  // AWS, Azure, Google and most others
    "fd00:ec2::254/128",   // AWS over IPv6
    "168.63.129.16/32",    // Azure's wireserver
    "100.100.100.200/32",  // Alibaba Cloud
    "192.0.0.192/32",      // Oracle Cloud
};

// Passes inside the namespace whatever a policy says, and never leaves it.
inline constexpr std::array<std::string_view, 2> kLoopbackAddresses = {
    "127.0.0.0/8",  // RFC 1122 §3.2.1.3
    "::1/128",      // RFC 4291 §2.5.3
};

}  // namespace vethgate
