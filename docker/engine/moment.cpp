#include "docker/engine/moment.hpp"

#include <ctime>

namespace vethgate::docker {

std::optional<std::uint64_t> unixSecond(const std::string& rfc3339) {
  std::tm parts{};
  const char* rest = strptime(rfc3339.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr) {
    return std::nullopt;
  }
  if (*rest == '.') {
    ++rest;
    while (*rest >= '0' && *rest <= '9') {
      ++rest;
    }
  }
  const std::time_t local = timegm(&parts);
  // "%z" takes "Z" and "+hh:mm", and leaves the offset in seconds behind.
  const char* const end = strptime(rest, "%z", &parts);
  if (end == nullptr || *end != '\0') {
    return std::nullopt;
  }
  const std::time_t second = local - parts.tm_gmtoff;
  return second < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(second));
}

}  // namespace vethgate::docker
