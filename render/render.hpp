// Policy to plan: the one ordered list of rules, and its translations.
#pragma once

#include <string>
#include <vector>

#include "render/plan.hpp"
#include "render/policy.hpp"

namespace vethgate {

// Throws Failure(kBadInput) for a policy that a layer cannot express (a shadowed exception, more
// exceptions than tc has prefs) and Failure(kEmptyPlan) when nothing would be written.
[[nodiscard]] Plan renderPlan(const Policy& policy, const Link& link);

// Text forms of one plan, for the tools people know and for people.
[[nodiscard]] std::string iptablesSaveText(const Plan& plan, Family family);
[[nodiscard]] std::string tcBatchText(const Plan& plan);
[[nodiscard]] std::string tableText(const Plan& plan);

}  // namespace vethgate
