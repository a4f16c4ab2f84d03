// The flower half of a readback: the filters of one clsact hook, decoded to the plan's own terms.
// It must not know the plan.
#pragma once

#include <cstdint>
#include <vector>

#include "render/plan.hpp"
#include "verifier/capture.hpp"
#include "verifier/findings.hpp"

namespace vethgate {

struct ReadFilter {
  FlowerFilter filter;  // `why` is empty: the kernel does not know it
  std::uint64_t packets = 0;
};

struct TcReadback {
  std::vector<ReadFilter> filters;  // by pref, then by handle
  bool complete = true;             // false when decoding stopped before the end
};

// "flower pref 104 handle 0x1"
[[nodiscard]] std::string filterPlace(std::uint32_t pref, std::uint32_t handle);

// The envelopes have been checked. `job` is the index of the link that is filtered.
[[nodiscard]] TcReadback readFilters(const Capture& capture, std::uint32_t job, Findings& findings);

}  // namespace vethgate
