// `vethgate explain`: what a policy means, rule by rule, before there is any namespace. Pure; it
// must not know how a layer writes a rule.
#pragma once

#include <string>
#include <string_view>

namespace vethgate::docker {

// `policy`: the document as a worker writes it, where "host-gateway" may stand for the `to` of an
// exception; such a rule is shown with the word, since the address is known to establish alone.
// Both throw Failure(kBadInput), as reading the policy does, and for an exception that an earlier
// drop makes inert.

// For people: the ordered rules with their reasons, first match wins within each family.
[[nodiscard]] std::string explainText(std::string_view policy);
// {"policy": sha, "layers": […], "rules": [{"family", "action", "to", "protocol", "ports", "match",
// "why"}]} on one line; what a rule does not match on is null, `match` holds what has no field. The
// digest is null where the word stands: that of what is applied has the address in its place. Of
// neither is it what establish applies, which denies the host's own addresses besides.
[[nodiscard]] std::string explainJson(std::string_view policy);

}  // namespace vethgate::docker
