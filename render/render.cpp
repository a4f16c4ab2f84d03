// The way from policy to plan. It decides nothing that rules or translation decide.
#include "render/render.hpp"

#include "base/error.hpp"
#include "render/rules.hpp"
#include "render/translate.hpp"

namespace vethgate {

Plan renderPlan(const Policy& policy, const Link& link) {
  const std::vector<Rule> rules = orderedRules(policy);
  refuseShadowedExceptions(rules);
  Plan plan;
  plan.policyDigest = policy.digest;
  plan.link = link;
  if (policy.iptables) {
    plan.iptables = iptablesRules(rules, policy.log);
  }
  if (policy.flower) {
    plan.flower = flowerFilters(rules);
  }
  if (policy.netdev) {
    plan.netdev = netdevRules(rules, link);
  }
  if (plan.ruleCount() == 0) {
    throw Failure(ExitCode::kEmptyPlan, "the policy leads to a plan without a rule");
  }
  return plan;
}

}  // namespace vethgate
