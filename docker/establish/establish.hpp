// A contained namespace in a container engine, from nothing: holder, probe, apply, verify. Whatever
// fails, no namespace is left that a job could start in. It must not know netlink.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "docker/custody/release.hpp"
#include "docker/engine/engine.hpp"
#include "docker/establish/request.hpp"

namespace vethgate::docker {

// How long either may take.
struct TimeLimits {
  // From the first call to the answer, if the job's own deadline is not nearer.
  std::chrono::milliseconds attempt{120'000};
  // For removing what a failed attempt left, beyond the attempt's own time.
  std::chrono::milliseconds removal = kRemovalTime;
};

struct Established {
  std::string holder;  // its name
  std::string id;      // 64 digits: the job joins "container:" and this
  Json policy;         // the effective one, which was applied
  Json verdict;        // the verifier's document
  std::string plan;    // SHA-256 of the plan that was applied
  std::vector<Address> resolvers;
  std::uint64_t removeAfter = 0;
  std::vector<std::pair<std::string, std::int64_t>> timings;  // step, milliseconds
};

// Throws Failure with the contract's exit code: what a helper ended with, kEngine for the engine,
// kDeadline; everything of the attempt is then gone, or the message says what may still exist.
// `now`: unix seconds, for the request's deadline alone.
[[nodiscard]] Established establish(const Engine& engine, const EstablishRequest& request,
                                    std::uint64_t now, const TimeLimits& limits = {});

// The contract's answer on one line, with what a launch needs: network_mode and resolv_conf, the
// text of a file for /etc/resolv.conf, which gVisor jobs need on a network with an engine's own
// resolver.
[[nodiscard]] std::string answerText(const EstablishRequest& request, const Established& made);

}  // namespace vethgate::docker
