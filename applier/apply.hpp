// The plan written, in the order that leaves the veth shut whenever it ends half-way.
// It must not know how anything is read back: the verifier judges what is there.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "applier/kernel.hpp"
#include "applier/steps.hpp"
#include "base/deadline.hpp"
#include "render/link.hpp"
#include "render/plan.hpp"

namespace vethgate {

// For everything that the applier asks of the kernel. 30,000 rules take a second on idle hardware;
// modules that have to be loaded and emulated machines take most of what is left.
inline constexpr std::chrono::seconds kApplyTime{60};

// Rules that the kernel acknowledged.
struct Applied {
  std::size_t v4 = 0;
  std::size_t v6 = 0;
  std::size_t flower = 0;
  std::size_t netdev = 0;
  friend bool operator==(const Applied&, const Applied&) = default;
};

// Checks (nothing is written), seal, tables, filters, unseal. `steps` is buildSteps(plan),
// `measured` the namespace's own link. Throws Failure: kWrongNamespace, kUntouchable, kUnsupported
// and kDeadline mean that nothing was touched or all of it was taken back; kPartialWrite that the
// namespace must be destroyed. From the seal to the last byte the latter leaves the guard where it
// is.
[[nodiscard]] Applied applyPlan(Kernel& kernel, const Plan& plan, const Link& measured,
                                std::vector<Step> steps, const Deadline& deadline);

}  // namespace vethgate
