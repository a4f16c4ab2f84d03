// Reading of a plan's nf_tables rules for the veth's egress hook.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "render/link.hpp"
#include "render/plan.hpp"

namespace vethgate {

// Failure(kBadInput): no such rules; kUntouchable: rules that the applier does not write. `link` is
// the plan's own: ARP may be sent by it alone.
[[nodiscard]] std::vector<NetdevRule> readNetdevRules(const Json& value, const Link& link,
                                                      const std::string& path);

}  // namespace vethgate
