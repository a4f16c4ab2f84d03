// One pass over an owner's containers: those whose time has come are removed, a bounded number in a
// bounded time, and everything that is not removed is reported with its reason. It must not know
// how time is told, nor how the report is shown.
//
// Nothing is tried twice in a pass, and nothing counts as removed but on the engine's own word that
// it has no such container. A list that fails is a failure, never an empty pass.
//
// A container that others share the network of is not pulled away under them: those of the owner's
// that are due go first; any other keeps it where it is, and is reported by name.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "docker/engine/engine.hpp"
#include "docker/sweep/selection.hpp"

namespace vethgate::docker {

struct SweepLimits {
  // From before the first call; looked at before each removal, which is never cut short.
  std::chrono::milliseconds pass{240'000};
  std::chrono::milliseconds call{20'000};
  std::size_t removals = 32;
};

struct SweepOptions {
  SweepLimits limits = {};
  bool dryRun = false;  // `removed` is then what would be tried
  // True once the pass is to end; asked before each call but those that complete a removal.
  std::function<bool()> stopping = {};
  // How long the process of a container has run by a clock that nobody sets, when that is known:
  // processAge(). Without it a stamp is compared with `now` alone.
  std::function<std::optional<std::chrono::seconds>(std::uint64_t pid, const std::string& id)> age =
      {};
};

// The clock cannot be believed, and nothing was removed: ExitCode::kUnsupported.
class ClockFailure : public Failure {
 public:
  explicit ClockFailure(const std::string& message) : Failure(ExitCode::kUnsupported, message) {}
};

struct Finding {
  std::string id;
  std::string name;
  std::string text;  // why, as one clause; empty where that is plain
};

// Why a container that is due was not tried.
enum class Bound { kBudget, kStopped, kCount };
[[nodiscard]] const char* word(Bound bound);

struct Deferred {
  std::string id;
  std::string name;
  Bound bound = Bound::kCount;
};

struct Kept {
  std::string id;
  std::string name;
  std::string attachedId;
  std::string attachedName;
  std::string text;  // why that one stays, and what to do
};

struct SweepReport {
  std::vector<Finding> removed;    // in order
  std::vector<Finding> failed;     // each may still exist
  std::vector<Deferred> deferred;  // in the order in which they would have been tried
  std::vector<Kept> kept;
  std::vector<Skipped> skipped;  // by id
};

// Removes what is due at `now`, a unix second. Throws EngineFailure when the engine does not list,
// and ClockFailure when it knows of a container that was made later than `now`: the clock went
// back. What runs is due by the time that has passed since its start: a clock that went forward
// meanwhile makes nothing due (Unfit::kClock).
[[nodiscard]] SweepReport sweep(const Engine& engine, const std::string& owner, std::uint64_t now,
                                Cursor& cursor, const SweepOptions& options = {});

// Before an owner's first job: removes its holders that no container is attached to, running or
// not, whatever their stamps; of the owner's own helpers only one that runs counts as attached.
// Everything of the owner's that is just being made looks like that too: call it before, not while.
[[nodiscard]] SweepReport reap(const Engine& engine, const std::string& owner,
                               const SweepOptions& options = {});

}  // namespace vethgate::docker
