// The link document: the job's own end of its veth pair, as measured by the probe.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/json_fwd.hpp"

namespace vethgate {

struct Link {
  std::uint32_t index = 0;  // ifindex in the job's namespace, 1..2^31-1
  std::string name;         // IFNAMSIZ: 1..15 characters, no '/', ':' or white space
  std::array<std::uint8_t, 6> mac{};
  std::uint32_t peer = 0;   // ifindex of the other end, in its own namespace
  std::uint64_t netns = 0;  // inode number of the namespace (nsfs)
  friend bool operator==(const Link&, const Link&) = default;
};

[[nodiscard]] Json linkDocument(const Link& link);
// Throws Failure(kBadInput); `path` names the place, e.g. "plan.link".
[[nodiscard]] Link readLink(const Json& value, const std::string& path);
[[nodiscard]] std::string macText(const std::array<std::uint8_t, 6>& mac);

}  // namespace vethgate
