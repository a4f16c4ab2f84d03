// The policy document: what the worker writes, read with every check of the contract.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/address.hpp"
#include "render/plan.hpp"

namespace vethgate {

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
};

struct DeniedPrefix {
  Prefix prefix;
  std::string why;  // "private", "transition" or the entry's own text
};

struct Policy {
  enum class Default : std::uint8_t { kPass, kDrop, kList };
  Default fallback = Default::kPass;
  std::vector<DefaultPass> defaultPasses;  // kList only, not empty then
  std::vector<DeniedPrefix> deny;          // named sets expanded, exact repeats removed
  std::vector<Exception> allow;
  std::vector<Address> resolvers;  // repeats removed
  std::optional<RateLimit> log;
  bool iptables = true;
  bool flower = true;
  std::string digest;  // SHA-256 of the canonical document, defaults filled in
};

// Throws Failure(kBadInput) with the path of the offending field.
[[nodiscard]] Policy readPolicy(std::string_view text);
[[nodiscard]] Policy readPolicy(const Json& document);

}  // namespace vethgate
