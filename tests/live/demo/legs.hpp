// What is expected of a job and what it met, as a table. It must not know how the job is run.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/live/fixture/report.hpp"

namespace vethgate::live {

struct Leg {
  std::string_view what;
  std::string_view target;
  Outcome expected;
  std::string_view note = {};  // what it means that this is what was measured
};

// Their targets, as the payload takes them.
[[nodiscard]] std::vector<std::string> targetsOf(const std::vector<Leg>& legs);

// Prints a line for each leg. True when each came out as expected, and the payload ran on the
// kernel that was meant: gVisor's, or this machine's.
[[nodiscard]] bool judge(const std::vector<Leg>& legs, const PayloadReport& report, bool gvisor);

}  // namespace vethgate::live
