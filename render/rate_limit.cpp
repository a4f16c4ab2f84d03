// Arithmetic of iptables' rates. It must not know what is limited.
#include "render/rate_limit.hpp"

#include <algorithm>
#include <array>

namespace vethgate {
namespace {

constexpr std::uint64_t kScale = 10'000;                              // XT_LIMIT_SCALE
constexpr std::array<std::uint64_t, 4> kUnits{86'400, 3'600, 60, 1};  // in iptables' order

}  // namespace

std::optional<RateLimit> carriedLimit(std::uint64_t count, std::uint64_t unit,
                                      std::uint32_t burst) {
  if (count == 0 || count > kScale * unit || burst == 0 || burst > kMaxBurst ||
      std::find(kUnits.begin(), kUnits.end(), unit) == kUnits.end()) {
    return std::nullopt;
  }
  const std::uint64_t cost = kScale * unit / count;  // per packet
  // A smaller unit is taken while it holds at least one packet and loses no more by rounding.
  std::uint64_t carried = kUnits.front();
  for (const std::uint64_t candidate : kUnits) {
    const std::uint64_t span = candidate * kScale;
    if (candidate != kUnits.front() && (cost > span || span / cost < span % cost)) {
      break;
    }
    carried = candidate;
  }
  const std::uint64_t rate = carried * kScale / cost;
  if (rate * unit != count * carried) {
    return std::nullopt;
  }
  return RateLimit{rate, carried, burst};
}

bool isCarriedExactly(const RateLimit& limit) {
  return carriedLimit(limit.rate, limit.unit, limit.burst) == limit;
}

}  // namespace vethgate
