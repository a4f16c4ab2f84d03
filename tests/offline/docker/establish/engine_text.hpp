// What the engines in memory have in common in what they read and say. Pure; it must not know what
// an engine does.
#pragma once

#include <cstddef>
#include <string>

#include "base/json.hpp"

namespace vethgate::docker::test {

inline const std::string kJob = "job-1";

inline constexpr std::size_t kIdDigits = 64;
// kIdDigits characters: `serial`, in decimal, behind as many of `filler` as it takes.
[[nodiscard]] std::string paddedId(unsigned serial, char filler);

// The body of an answer that is none.
[[nodiscard]] std::string message(const std::string& text);
// Containers of kJob, and of the jobs that `vethgate doctor` makes up ("doctor-" and digits), go by
// "holder" or their verb, "vethgate.apply-job-1" by "apply"; all others keep their names.
[[nodiscard]] std::string shortName(const std::string& name);
[[nodiscard]] std::string percentDecoded(const std::string& text);
// Of an attached container's streams: 1 is stdout, 2 stderr.
[[nodiscard]] std::string frame(char stream, const std::string& text);
// Whether `labels`, an object, has each of `wanted`, a list of "key=value".
[[nodiscard]] bool carries(const Json& labels, const Json& wanted);

}  // namespace vethgate::docker::test
