// What must hold before the first byte is written: the right link, nothing of anybody else's in the
// way, and a kernel that has every mechanism the plan needs. Nothing here changes the namespace.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "applier/kernel.hpp"
#include "base/deadline.hpp"
#include "render/link.hpp"
#include "render/plan.hpp"

namespace vethgate {

// What a sentence about a missing mechanism of that layer says besides.
inline constexpr const char* kWithoutFlower = "; the policy's \"layers\" can leave flower out";

// Failure(kWrongNamespace) that names the first field in which they differ.
void checkLink(const Link& planned, const Link& measured);

// Failure(kUntouchable) when there is one: whatever a plan says, they decide as well.
void refuseLegacyTables(const std::vector<std::string>& names);

// Failure(kUntouchable) for a qdisc other than the kernel's own on any link, or a table of
// nf_tables of any family, but for nat of ip and ip6; Failure(kUnsupported) for a kernel without
// nf_tables, without which no verdict on any plan could be had, and for a process without
// CAP_NET_ADMIN.
void checkNamespace(Kernel& kernel, const Deadline& deadline);

// Failure(kUnsupported) that names the mechanism. cls_flower alone cannot be asked for without a
// qdisc: the seal finds out.
void checkMechanisms(Kernel& kernel, const Plan& plan, const Deadline& deadline);

// A qdisc other than the kernel's own noqueue and noop, on any link, in words; nothing when there
// is none.
[[nodiscard]] std::optional<std::string> foreignQdisc(Kernel& kernel, const Deadline& deadline);

}  // namespace vethgate
