// Passes as a command runs them: each logged, one at a time, once or every so often. It must not
// know signals: when to end is asked of the caller.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "docker/sweep/clock.hpp"
#include "docker/sweep/pass.hpp"

namespace vethgate::docker {

inline constexpr std::chrono::seconds kSweepInterval{300};

// The pass with its events in the log: sweep.clock or sweep.error when it throws, which it then
// does.
[[nodiscard]] SweepReport loggedSweep(const Engine& engine, const std::string& owner,
                                      std::uint64_t now, Cursor& cursor,
                                      const SweepOptions& options);
[[nodiscard]] SweepReport loggedReap(const Engine& engine, const std::string& owner,
                                     const SweepOptions& options);

struct WatchHooks {
  std::function<Clocks()> clocks = readClocks;
  // Waits so long, and returns whether the watch is to end.
  std::function<bool(std::chrono::milliseconds)> wait;
};

// A pass at once, and another every `interval` from start to start, until it is asked to end. One
// that fails is logged, and the next follows all the same; a pass that finds that the clock jumped
// since the one before is left out.
void watch(const Engine& engine, const std::string& owner, std::chrono::seconds interval,
           const SweepOptions& options, const WatchHooks& hooks);

}  // namespace vethgate::docker
