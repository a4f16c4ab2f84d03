// `vethgate explain`: what a policy means, rule by rule, before there is any namespace. Pure; it
// must not know how a layer writes a rule.
#pragma once

#include <string>

#include "render/policy.hpp"

namespace vethgate::docker {

// For people: the ordered rules with their reasons, first match wins within each family. Both throw
// Failure(kBadInput) for an exception that an earlier drop makes inert.
[[nodiscard]] std::string explainText(const Policy& policy);
// {"policy": sha, "layers": […], "rules": [{"family", "action", "to", "protocol", "ports", "match",
// "why"}]} on one line; what a rule does not match on is null, `match` holds what has no field.
[[nodiscard]] std::string explainJson(const Policy& policy);

}  // namespace vethgate::docker
