// Two readings of what has no generation: links, qdiscs, filters and chains say by themselves
// neither that they changed while they were read nor that an answer mixes two states. Read twice,
// they must say the same twice, but for counters and times. It must not know what the rest means.
#pragma once

#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate {

// Adds a reason for the first message of each dump that its second reading does not repeat. The
// envelopes have been checked, and the second reading is there.
void compareReadings(const Capture& capture, Findings& findings);

}  // namespace vethgate
