// The times in an engine's answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace vethgate::docker {

// Unix seconds of an RFC 3339 time; nullopt when it is none, or before 1970: an engine writes the
// year 1 for what has not happened.
[[nodiscard]] std::optional<std::uint64_t> unixSecond(const std::string& rfc3339);

}  // namespace vethgate::docker
