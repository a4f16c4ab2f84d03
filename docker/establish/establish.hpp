// A contained namespace in a container engine, from nothing: holder, probe, apply, verify. Whatever
// fails, no namespace is left that a job could start in. It must not know netlink.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "docker/custody/custody.hpp"
#include "docker/custody/release.hpp"
#include "docker/engine/engine.hpp"
#include "docker/establish/request.hpp"

namespace vethgate::docker {

// How long either may take.
struct TimeLimits {
  // From the first call to the answer, if the job's own deadline is not nearer.
  std::chrono::milliseconds attempt = kAttemptTime;
  // For removing what a failed attempt left, beyond the attempt's own time.
  std::chrono::milliseconds removal = kRemovalTime;
  // Within that, for a container whose create was never answered: how long it must stay away.
  std::chrono::milliseconds settle = kSettleTime;
};

struct Established {
  std::string holder;  // its name
  std::string id;      // 64 digits: the job joins "container:" and this
  Json policy;         // the effective one, which was applied
  Json verdict;        // the verifier's document
  std::string plan;    // SHA-256 of the plan that was applied
  std::vector<Address> resolvers;
  std::uint64_t removeAfter = 0;
  Labels labels;  // for the job's own container, so that release and sweep know it
  std::vector<std::pair<std::string, std::int64_t>> timings;  // step, milliseconds
};

// Throws Failure with the exit code of docs/refusals.md: what a helper ended with, kEngine for the
// engine, kDeadline, also when the engine's interrupt was raised. Everything of the attempt is then
// gone, or the message says what may still exist or come, and the code is kEngine or kDeadline,
// with which a caller lets the sweep follow. `now`: unix seconds, for the request's deadline alone.
// `removing` is the same engine, asked while the attempt is removed; its interrupt gives that up.
[[nodiscard]] Established establish(const Engine& engine, const Engine& removing,
                                    const EstablishRequest& request, std::uint64_t now,
                                    const TimeLimits& limits = {});
// The same where nothing gives up a removal but its time.
[[nodiscard]] Established establish(const Engine& engine, const EstablishRequest& request,
                                    std::uint64_t now, const TimeLimits& limits = {});

// The answer of docs/documents.md, on one line, with what a launch needs: network_mode, the labels
// of the job's container, and resolv_conf, the text of a file for /etc/resolv.conf, which gVisor
// jobs need on a network with an engine's own resolver.
[[nodiscard]] std::string answerText(const EstablishRequest& request, const Established& made);

}  // namespace vethgate::docker
