// The policy document: what the worker writes, its fields as README.md describes them, read with
// every check that can be made without a link. It must not know how rules are ordered or written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "render/address.hpp"
#include "render/plan.hpp"

namespace vethgate {

// deny, allow, resolvers, protocols and the list of `default` together, as the document writes
// them.
inline constexpr std::size_t kMaxPolicyEntries = 65'536;
inline constexpr std::uint64_t kPolicyVersion = 1;

enum class Transport : std::uint8_t { kTcp = kProtocolTcp, kUdp = kProtocolUdp };

struct Exception {  // one entry of `allow`
  Prefix to;
  Transport protocol;
  PortRange ports;
  std::string why;
};

struct DefaultPass {  // one entry of a `default` list: may leave to any address not named above
  Transport protocol;
  PortRange ports;
  std::string why;
};

struct DeniedPrefix {
  Prefix prefix;
  std::string why;  // "private", "transition" or "denied"
};

// What the document says in `deny`, before anything is made of it.
struct DenyWords {
  bool given = false;  // false: there is no `deny`, and none of the others is set
  bool privateSet = false;
  bool transitionSet = false;
  std::vector<Prefix> prefixes;  // those written out, repeats included
};

struct Policy {
  enum class Default : std::uint8_t { kPass, kDrop, kList };
  Default fallback = Default::kPass;
  std::vector<DefaultPass> defaultPasses;  // kList only, not empty then
  // IP protocols that may leave beside tcp, udp and the family's icmp; kPass only.
  std::vector<std::uint8_t> protocols;
  // Named sets expanded, exact repeats removed, and so are metadata hosts, which are denied
  // already.
  std::vector<DeniedPrefix> deny;
  DenyWords denyWords;  // for whoever must not rely on the expansion
  std::vector<Exception> allow;
  std::vector<Address> resolvers;  // repeats removed
  std::optional<RateLimit> log;    // as iptables carries it, see rate_limit.hpp
  bool iptables = true;
  bool flower = true;
  bool netdev = true;
  // SHA-256 of canonicalText() of the document with its defaults filled in: addresses, ports and
  // the rate in canonical text, `why` "" where absent, layers in the order iptables, flower,
  // netdev, and named sets by their names. Two documents that say the same in another spelling have
  // one digest.
  std::string digest;
};

// Throws Failure(kBadInput) with the path of the offending field. Refused, besides wrong
// types and ranges:
// - `deny` inside loopback;
// - `allow` that touches metadata or loopback, in any spelling that carries an IPv4 address
//   (known_prefixes.hpp), or that is strictly wider than a denied prefix;
// - a resolver that touches the same, is unspecified, in 0.0.0.0/8, multicast, in 240.0.0.0/4, or
//   an IPv4-mapped address, which no resolver is reached by;
// - in `protocols` a repeat, a number that passes anyway or that is an IPv6 extension header's, and
//   any at all beside a `default` that lets nothing but what it names leave;
// - a rate that iptables would round.
[[nodiscard]] Policy readPolicy(std::string_view text);
[[nodiscard]] Policy readPolicy(const Json& document);

}  // namespace vethgate
