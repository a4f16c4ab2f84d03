// The link document: the job's own end of its veth pair, as measured by the probe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "render/address.hpp"

namespace vethgate {

// Far more than any runtime gives to a job; each IPv4 address is a rule.
inline constexpr std::size_t kMaxLinkAddresses = 64;

struct Link {
  std::uint32_t index = 0;  // ifindex in the job's namespace, 1..2^31-1
  std::string name;         // IFNAMSIZ: 1..15 characters, no '/', ':' or white space
  std::array<std::uint8_t, 6> mac{};
  std::uint32_t peer = 0;   // ifindex of the other end, in its own namespace
  std::uint64_t netns = 0;  // inode number of the namespace (nsfs)
  // The job's own addresses on the link, ascending. As measured before the job starts: gVisor takes
  // them off the link later, so that nobody compares them with the kernel again.
  std::vector<Address> addresses{};
  friend bool operator==(const Link&, const Link&) = default;
};

// {"index", "name", "mac", "peer", "netns", "addresses"}
[[nodiscard]] Json linkDocument(const Link& link);
// A document without `addresses` has none. Throws Failure(kBadInput); `path` names the place, e.g.
// "plan.link".
[[nodiscard]] Link readLink(const Json& value, const std::string& path);
[[nodiscard]] std::string macText(const std::array<std::uint8_t, 6>& mac);

}  // namespace vethgate
