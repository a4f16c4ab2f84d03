// Programs that may act on packets ahead of, or in place of, the layers of a plan: tcx (Linux 6.6),
// whose verdict ends the evaluation before clsact is asked, and from which a frame can be sent on
// past an nf_tables egress chain. XDP shows in the dump of links, and a netkit device is not a
// veth: both are refused by link_selection.hpp. It must not know how the kernel is asked.
#pragma once

#include <string>
#include <vector>

#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate {

// The loopback has this index in every namespace (include/net/flow.h, LOOPBACK_IFINDEX). It is
// asked about too: a program there can hand a frame to the job's link.
inline constexpr std::uint32_t kLoopbackIndex = 1;

// Adds a reason for each hook of the loopback and of link `job` that holds a program or whose
// answer is missing; to `unchecked` what this process might not ask.
void checkPrograms(const Capture& capture, std::uint32_t job, std::vector<std::string>& unchecked,
                   Findings& findings);

}  // namespace vethgate
