// The policies that are measured, as documents.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace vethgate::bench {

// `count` denied prefixes over eight lengths, /17 to /24, none of which holds an address that the
// fixture sends to; empty for 0.
[[nodiscard]] std::vector<std::string> spreadPrefixes(std::size_t count);

// As in the policy document. The reference's own tools write the first two; three are a policy's
// default.
inline constexpr const char* kTwoLayers = R"(["iptables","flower"])";
inline constexpr const char* kThreeLayers = R"(["iptables","flower","netdev"])";

// The reference policy: logging, a proxy pinhole, two resolvers. With `denied` > 0 those prefixes
// stand in the place of the named sets.
[[nodiscard]] std::string policyText(std::size_t denied, const std::string& layers);

}  // namespace vethgate::bench
