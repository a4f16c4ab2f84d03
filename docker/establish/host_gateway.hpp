// The word that stands for the host in the policy of a request. It must not know how the host is
// measured.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"

namespace vethgate::docker {

// In the policy of a request, the `to` of an exception that leads to the host as the job sees it.
inline constexpr std::string_view kHostGateway = "host-gateway";

// Stands in for the host's address while nothing is measured: it is private, as every engine's
// bridge is.
inline constexpr const char* kUnmeasuredHost = "172.17.0.1";

// Puts `address` in place of every kHostGateway; returns for each entry of `allow` whether it was
// that. Empty, and the policy as it was, where `allow` is no list: the policy's own reader says
// what is wrong.
std::vector<bool> replaceHostGateway(Json& policy, const std::string& address);

}  // namespace vethgate::docker
