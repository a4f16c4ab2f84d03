// A policy: what is read can be rendered or is refused, and what is rendered is a plan that reads
// back as itself and holds what the policy means.
#include "render/policy.hpp"

#include "render/plan.hpp"
#include "render/render.hpp"
#include "target.hpp"
#include "verifier/proof.hpp"

namespace {

const vethgate::Link& link() {
  static const vethgate::Link kLink{
      3, "eth0",     {2, 0, 0, 0, 0, 1},
      4, 4026532290, {vethgate::Address::parse("172.17.0.2").value()}};
  return kLink;
}

}  // namespace

VETHGATE_FUZZ_JSON()

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vethgate;
  fuzz::refusing([&] {
    const Policy policy = readPolicy(fuzz::textOf(data, size));
    const Plan plan = renderPlan(policy, link());
    fuzz::require(readPlan(planText(plan)) == plan);
    const PolicyMeaning meaning(policy);
    const Deadline deadline = Deadline::after(std::chrono::milliseconds(500));
    if (plan.iptables) {
      fuzz::require(!disagreement(meaning, iptablesReach(*plan.iptables), deadline));
    }
    if (plan.flower) {
      fuzz::require(!disagreement(meaning, flowerReach(*plan.flower), deadline));
    }
    if (plan.netdev) {
      fuzz::require(!disagreement(meaning, netdevReach(*plan.netdev, link()), deadline));
    }
  });
  return 0;
}
