// What holds the filters: queueing disciplines of every link, and the chains of the job's link.
// A plan's layout is noqueue everywhere, one clsact with private blocks on the job's link, and one
// chain, number 0, on its egress.
#pragma once

#include <span>

#include "probe/link_selection.hpp"
#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate::tc {

// `expected`: the policy asks for the flower layer. `links` is everything the namespace holds,
// `job` the index of the link that is filtered.
void checkQdiscs(const Capture& capture, std::span<const LinkState> links, std::uint32_t job,
                 bool expected, Findings& findings);
void checkChains(const Capture& capture, std::uint32_t job, bool expected, Findings& findings);

}  // namespace vethgate::tc
