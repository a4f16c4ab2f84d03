// What a worker asks of `vethgate establish`, and the policy that it comes to once the host was
// measured. Pure; it must not know the engine's calls.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "render/address.hpp"

namespace vethgate::docker {

// How long establishing may take unless the request says otherwise, and at most. An engine works on
// all that it is asked for at once, so where many jobs begin together each of them is late.
inline constexpr std::chrono::seconds kAttemptTime{120};
inline constexpr std::chrono::seconds kLongestAttempt{900};

// NOLINTNEXTLINE(bugprone-exception-escape): of its move, and nlohmann's own is noexcept
struct EstablishRequest {
  std::string job;    // [a-zA-Z0-9][a-zA-Z0-9_.-]*, at most 64 characters, as is `owner`
  std::string owner;  // whose sweep may remove what is left
  std::string network;
  std::string holderImage;
  std::string helperImage;
  std::uint64_t deadline = 0;  // unix second by which the job has ended
  std::chrono::seconds within = kAttemptTime;
  Json policy;  // as it was written
  bool usesHostGateway = false;
};

// {"version": 1, "job", "owner", "network", "deadline", "within", "policy", "images": {"holder",
// "helper"}}; `within` in seconds, may be left out; without `images` both are `image`. Everything
// that can be refused without the engine is refused here (kBadInput), the policy included.
[[nodiscard]] EstablishRequest readRequest(std::string_view text, const std::string& image);
[[nodiscard]] const std::string& checkedId(const std::string& text, const std::string& path);

// The host as measured: where a job finds it, what it answers to, and what lies on its links.
struct HostFacts {
  std::vector<Address> gateway;
  std::vector<Address> own;
  std::vector<Prefix> onLink;
};

// The request's policy with the gateway's address in place of the word, and with the host's
// addresses and links denied besides, as far as they are not denied already; what `allow` names
// stays open, since exceptions come first. Failure(kUnsupported) when the word is used and no
// address was found; Failure(kBadInput) when the policy is not acceptable with what was measured.
[[nodiscard]] Json effectivePolicy(const EstablishRequest& request, const HostFacts& host);

}  // namespace vethgate::docker
