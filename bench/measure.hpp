// Running one program and measuring it from the outside: wall time from fork to exit, processor
// time and peak memory as the kernel accounts them.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/live/fixture/namespace.hpp"

namespace vethgate::bench {

// Milliseconds, but for the memory.
struct Measured {
  double wall = 0;
  double user = 0;
  double system = 0;  // what the kernel needs for the work itself, whoever asks for it
  long peakKiB = 0;   // ru_maxrss
};

// The longest that is measured takes seconds; what takes this long has hung.
inline constexpr std::chrono::seconds kMeasuredTime{120};

// Where a program is loaded. An emulated processor translates code anew for every address that it
// stands at, and a real one has nothing to translate: at random addresses that is four fifths of
// the processor time of the short programs, ours and theirs.
enum class Addresses { kFixed, kRandom };

// Standard input comes from the file `input` (empty: /dev/null), both outputs go nowhere. Throws
// std::runtime_error when the exit status is not 0 (a program that failed has no speed) and after
// kMeasuredTime.
Measured measure(const std::vector<std::string>& argv, const std::string& input,
                 const live::Namespace& in, Addresses addresses);

// `values` must not be empty.
[[nodiscard]] inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace vethgate::bench
