#include "docker/sweep/pass.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "docker/custody/labels.hpp"
#include "docker/engine/moment.hpp"
#include "docker/sweep/clock.hpp"
#include "docker/sweep/inventory.hpp"

namespace vethgate::docker {
namespace {

constexpr std::size_t kShortId = 12;

enum class Kind { kDue, kUnattached };

std::string shown(const Container& container) {
  return quoted(container.name) + " (" + container.id.substr(0, kShortId) + ")";
}

bool runs(const Container& container) {
  return container.running || container.status == "restarting";
}

class Pass {
 public:
  Pass(const Engine& engine, Kind kind, const std::string& owner, std::uint64_t now, Cursor& cursor,
       const SweepOptions& options)
      : engine_(engine),
        kind_(kind),
        owner_(owner),
        now_(now),
        cursor_(cursor),
        options_(options),
        budget_(Deadline::after(options.limits.pass)),
        inventory_(engine, options.limits.call,
                   [this] { return !stopping() && !budget_.passed(); }) {}

  SweepReport run() {
    inventory_.list();
    if (kind_ == Kind::kDue) {
      refuseFuture();
    }
    inventory_.inspect([this](const ContainerSummary& one) { return concerns(one); });
    for (const auto& [id, unknown] : inventory_.unknown()) {
      report_.failed.push_back({id, unknown.name, unknown.reason});
    }
    for (const auto& [id, one] : inventory_.pending()) {
      if (concerns(one)) {  // nobody knows whether it is due: there was no time to ask
        report_.deferred.push_back({id, one.names.empty() ? "" : one.names.front(),
                                    stopping() ? Bound::kStopped : Bound::kBudget});
      }
    }
    Selection selection = kind_ == Kind::kDue ? selectDue(inventory_.containers(), owner_, now_)
                                              : selectHolders(inventory_.containers(), owner_);
    report_.skipped = std::move(selection.skipped);
    if (kind_ == Kind::kDue) {
      skipDoubtful(selection.due);
    }
    for (const Owned& one : cursor_.from(std::move(selection.due))) {
      if (take(one) != Fate::kDeferred) {
        cursor_.advance(one);
      }
    }
    return std::move(report_);
  }

 private:
  enum class Fate { kGone, kThere, kDeferred };

  [[nodiscard]] bool stopping() const { return options_.stopping && options_.stopping(); }

  [[nodiscard]] bool concerns(const ContainerSummary& one) const {
    Container labelled;
    labelled.labels = one.labels;
    return !std::holds_alternative<std::monostate>(identify(labelled, owner_));
  }

  void refuseFuture() const {
    const ContainerSummary& newest = inventory_.newest();
    const auto tolerated = static_cast<std::uint64_t>(
        std::chrono::ceil<std::chrono::seconds>(options_.limits.call + kClockTolerance).count());
    if (newest.created > now_ && newest.created - now_ > tolerated) {
      throw ClockFailure("the engine made container " + newest.id.substr(0, kShortId) + " " +
                         std::to_string(newest.created - now_) +
                         " s after now: the clock went back; set it right, nothing was removed");
    }
  }

  // What the clock would show if it had kept to the time since this one's start.
  [[nodiscard]] std::optional<std::uint64_t> undisturbed(const Container& container) const {
    if (!options_.age || !runs(container)) {
      return std::nullopt;
    }
    const std::optional<std::uint64_t> started = unixSecond(container.started);
    const auto age = options_.age(container.pid, container.id);
    return started && age ? std::optional(*started + static_cast<std::uint64_t>(age->count()))
                          : std::nullopt;
  }

  // Why its stamp has not passed although the clock shows a later time. The one whose network it
  // uses bears witness as well: a sandbox's own process may not be where the engine put it.
  [[nodiscard]] std::optional<std::string> doubt(const Owned& one) const {
    constexpr std::string_view kJoins = "container:";
    const Container* const container = inventory_.find(one.id);
    if (container == nullptr) {
      return std::nullopt;
    }
    const bool joins = container->networkMode.starts_with(kJoins);
    const Container* const joined =
        joins ? inventory_.find(container->networkMode.substr(kJoins.size())) : nullptr;
    for (const Container* witness : {container, joined}) {
      const std::optional<std::uint64_t> time =
          witness == nullptr ? std::nullopt : undisturbed(*witness);
      if (time && *time + static_cast<std::uint64_t>(kClockGrace.count()) < now_ &&
          !one.due(*time)) {
        return "the clock went forward by " + std::to_string(now_ - *time) + " s since container " +
               shown(*witness) + " was started: it is due only by that";
      }
    }
    return std::nullopt;
  }

  void skipDoubtful(std::vector<Owned>& due) {
    std::erase_if(due, [this](const Owned& one) {
      const std::optional<std::string> reason = doubt(one);
      if (reason) {
        report_.skipped.push_back({one.id, one.name, Unfit::kClock, *reason, one.removeAfter});
      }
      return reason.has_value();
    });
    std::sort(report_.skipped.begin(), report_.skipped.end(),
              [](const Skipped& a, const Skipped& b) { return a.id < b.id; });
  }

  [[nodiscard]] std::optional<Bound> bound() const {
    if (attempts_ + late_ >= options_.limits.removals) {
      return Bound::kCount;
    }
    if (stopping()) {
      return Bound::kStopped;
    }
    return budget_.passed() ? std::optional(Bound::kBudget) : std::nullopt;
  }

  Fate defer(const Owned& one, Bound bound) {
    report_.deferred.push_back({one.id, one.name, bound});
    late_ += bound == Bound::kCount ? 0 : 1;
    return Fate::kDeferred;
  }

  Fate fail(const Owned& one, std::string text) {
    report_.failed.push_back({one.id, one.name, std::move(text)});
    return Fate::kThere;
  }

  // Once in a pass; a ring of containers, each in the network of the next, ends here too.
  Fate take(const Owned& one) {
    const auto [entry, first] = fates_.emplace(one.id, Fate::kThere);
    if (first) {
      entry->second = settle(one);
    }
    return entry->second;
  }

  Fate settle(const Owned& one) {
    if (const std::optional<Bound> reached = bound()) {
      return defer(one, *reached);
    }
    std::vector<Container> attached;
    try {
      attached = inventory_.attachedTo(one.id, one.name);
    } catch (const EngineFailure& failure) {
      if (const std::optional<Bound> reached = bound()) {
        return defer(one, *reached);
      }
      return fail(one, "it is not known what is attached to it: " + std::string(failure.what()));
    }
    std::vector<const Container*> ended;
    for (const Container& other : attached) {
      // It loses nothing that it has, and the engine may remove what it stands on, or refuse that.
      const bool losesNothing = kind_ == Kind::kDue && !runs(other);
      const std::optional<Owned> ours = goesFirst(one, other);
      const Fate fate = ours ? take(*ours) : Fate::kThere;
      if (fate == Fate::kDeferred) {
        return defer(one, bound().value_or(Bound::kBudget));
      }
      if (fate == Fate::kThere && losesNothing) {
        ended.push_back(&other);
      } else if (fate == Fate::kThere) {
        return keep(one, other, ours ? "could not be removed" : reasonOf(other));
      }
    }
    if (const std::optional<Bound> reached = bound()) {
      return defer(one, *reached);
    }
    return remove(one, ended);
  }

  Fate keep(const Owned& one, const Container& other, const std::string& reason) {
    report_.kept.push_back({one.id, one.name, other.id, other.name,
                            "container " + shown(other) + " uses its network and " + reason +
                                "; stop and remove that one, and a later pass removes this"});
    return Fate::kThere;
  }

  // As the one to remove before `one`, whose network it uses; nullopt when it is not ours to touch.
  [[nodiscard]] std::optional<Owned> goesFirst(const Owned& one, const Container& other) const {
    const Identity identity = identify(other, owner_);
    const Owned* const owned = std::get_if<Owned>(&identity);
    if (owned == nullptr) {
      return std::nullopt;
    }
    const bool goes = kind_ == Kind::kDue
                          ? owned->due(now_) && !doubt(*owned)
                          : owned->role == Role::kHelper && owned->job == one.job && !runs(other);
    return goes ? std::optional(*owned) : std::nullopt;
  }

  [[nodiscard]] std::string reasonOf(const Container& other) const {
    const Identity identity = identify(other, owner_);
    if (const Skipped* const skipped = std::get_if<Skipped>(&identity)) {
      return "cannot be judged: " + skipped->text;
    }
    if (const Owned* const owned = std::get_if<Owned>(&identity)) {
      if (kind_ == Kind::kUnattached) {
        return "is this owner's";
      }
      if (owned->due(now_)) {
        return "cannot be judged: " + doubt(*owned).value_or("it was not due a moment ago");
      }
      return owned->removeAfter
                 ? "is due in " + std::to_string(*owned->removeAfter - now_) + " s only"
                 : "has no readable stamp";
    }
    const auto owner = other.labels.find(kOwnerLabel);
    return owner == other.labels.end() ? "carries no label of vethgate's"
                                       : "belongs to owner " + quoted(owner->second);
  }

  // `ended`: what stands on its network without running. Docker removes it all the same; podman
  // refuses, and names by its id what is to go first.
  Fate remove(const Owned& one, const std::vector<const Container*>& ended) {
    ++attempts_;
    const Finding finding{one.id, one.name, ""};
    if (options_.dryRun) {
      report_.removed.push_back(finding);
      return Fate::kGone;
    }
    std::string problem;
    try {
      static_cast<void>(engine_.removeContainer(one.id, Deadline::after(options_.limits.call)));
    } catch (const EngineFailure& failure) {
      problem = failure.what();
    }
    try {
      if (!engine_.findContainer(one.id, Deadline::after(options_.limits.call))) {
        inventory_.forget(one.id);
        report_.removed.push_back(finding);
        return Fate::kGone;
      }
      if (problem.empty()) {
        problem = "the engine says that it removed it, and that it has it still";
      }
    } catch (const EngineFailure& failure) {
      problem += problem.empty() ? "" : "; ";
      problem += failure.what();
    }
    for (const Container* const other : ended) {
      if (problem.find(other->id) != std::string::npos) {
        return keep(one, *other,
                    "has ended, and the engine removes none under another: " + problem);
      }
    }
    return fail(one, problem + "; it may still exist");
  }

  const Engine& engine_;
  Kind kind_;
  const std::string& owner_;
  std::uint64_t now_;
  Cursor& cursor_;
  const SweepOptions& options_;
  Deadline budget_;
  Inventory inventory_;
  std::map<std::string, Fate> fates_;  // by id, of this pass
  std::size_t attempts_ = 0;
  std::size_t late_ = 0;  // deferred for want of time, within the number that a pass may remove
  SweepReport report_;
};

}  // namespace

const char* word(Bound bound) {
  switch (bound) {
    case Bound::kBudget:
      return "budget";
    case Bound::kStopped:
      return "stopped";
    case Bound::kCount:
      return "count";
  }
  return "?";
}

SweepReport sweep(const Engine& engine, const std::string& owner, std::uint64_t now, Cursor& cursor,
                  const SweepOptions& options) {
  return Pass(engine, Kind::kDue, owner, now, cursor, options).run();
}

SweepReport reap(const Engine& engine, const std::string& owner, const SweepOptions& options) {
  Cursor cursor;
  return Pass(engine, Kind::kUnattached, owner, 0, cursor, options).run();
}

}  // namespace vethgate::docker
