// The cases that a record must hold, each in its direction: tests/live/cases.txt, compiled in. It
// must not know any record.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vethgate::evidence {

struct RequiredCase {
  std::string id;
  std::string outcome;
  std::string kernel;  // "6.1": the first two numbers of a release
  std::string test;    // of one instance, or the row of all
};

inline constexpr std::string_view kHeld = "held";
// "held": every instance of a row passed. The others are what one attempt met.
[[nodiscard]] bool isOutcome(std::string_view word);

// "6.1" of "6.1.0-50-amd64".
[[nodiscard]] std::string seriesOf(std::string_view release);

// A test's name without its parameters: all up to the '/' that follows the suite's '.'.
[[nodiscard]] std::string rowOf(std::string_view test);

// Lines `OUTCOME KERNELS ID [TEST]`, KERNELS with commas between; TEST is ID where it is left out;
// '#' begins a comment. One case for each kernel. Throws kDefect, naming the line, for whatever is
// not of this form or stands twice, and for a list without a case.
[[nodiscard]] std::vector<RequiredCase> readRequired(std::string_view text);

// Those of this build.
[[nodiscard]] std::vector<RequiredCase> requiredCases();

}  // namespace vethgate::evidence
