#include "docker/custody/release.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "docker/custody/custody.hpp"

namespace vethgate::docker {
namespace {

// The order of removal: nothing may run in a namespace that its holder has left.
int rankOf(const Labels& labels) {
  const auto role = labels.find(kRoleLabel);
  if (role == labels.end()) {
    return 1;
  }
  return role->second == kJobRole ? 0 : role->second == kHolderRole ? 2 : 1;
}

class Release {
 public:
  Release(const Engine& engine, const std::string& owner, const std::string& job,
          const Deadline& deadline)
      : engine_(engine), wanted_{{kOwnerLabel, owner}, {kJobLabel, job}}, deadline_(deadline) {
    for (const char* verb : kVerbs) {
      names_.push_back(helperName(job, verb));
    }
    names_.push_back(holderName(job));
  }

  std::size_t run() {
    Pause pause;
    while (true) {
      const bool known = look();
      std::stable_sort(found_.begin(), found_.end(),
                       [](const Found& a, const Found& b) { return a.rank < b.rank; });
      for (Found& one : found_) {
        one.gone = one.gone || isGone(one);
      }
      if (known &&
          std::all_of(found_.begin(), found_.end(), [](const Found& one) { return one.gone; })) {
        return found_.size();
      }
      if (deadline_.passed() || engine_.interrupted()) {
        refuse();
      }
      pause.wait(deadline_);
    }
  }

 private:
  struct Found {
    std::string id;
    std::string name;
    int rank = 1;
    bool gone = false;  // by the engine's own word
  };

  // Notes what there is; false when the engine did not answer for all of it.
  bool look() {
    bool answered = true;
    try {
      for (const ContainerSummary& one : engine_.listContainers(wanted_, shareOf(deadline_))) {
        add({one.id, one.names.empty() ? one.id : one.names.front(), rankOf(one.labels), false});
      }
    } catch (const EngineFailure& failure) {
      answered = false;
      note(failure);
    }
    // The list lags behind what was created.
    for (const std::string& name : names_) {
      try {
        const std::optional<Container> one = engine_.findContainer(name, shareOf(deadline_));
        if (one && isOurs(*one)) {
          add({one->id, one->name, rankOf(one->labels), false});
        }
      } catch (const EngineFailure& failure) {
        answered = false;
        note(failure);
      }
    }
    return answered;
  }

  void add(Found found) {
    const auto known = std::find_if(found_.begin(), found_.end(),
                                    [&](const Found& one) { return one.id == found.id; });
    if (known == found_.end()) {
      found_.push_back(std::move(found));
    } else {
      known->gone = false;
    }
  }

  // Has it removed if the engine still has it, and if it is what the list says that it is.
  bool isGone(const Found& found) {
    try {
      const std::optional<Container> one = engine_.findContainer(found.id, shareOf(deadline_));
      if (!one || !isOurs(*one)) {
        return true;
      }
      static_cast<void>(engine_.removeContainer(found.id, shareOf(deadline_)));
    } catch (const EngineFailure& failure) {
      note(failure);
    }
    return false;
  }

  [[nodiscard]] bool isOurs(const Container& container) const {
    return std::all_of(wanted_.begin(), wanted_.end(), [&](const auto& label) {
      const auto carried = container.labels.find(label.first);
      return carried != container.labels.end() && carried->second == label.second;
    });
  }

  void note(const EngineFailure& failure) {
    // A question that there was no time left for is not what went wrong.
    if (!problem_ || failure.code() != ExitCode::kDeadline) {
      problem_ = failure;
    }
  }

  [[noreturn]] void refuse() const {
    std::string left;
    for (const Found& one : found_) {
      left += one.gone ? "" : " " + quoted(one.name);
    }
    const std::string reason = problem_ ? problem_->what()
                                        : "the container engine at " + engine_.socket() +
                                              " still has what it was asked to remove";
    throw Failure(problem_ && left.empty() ? problem_->code() : ExitCode::kEngine,
                  left.empty()
                      ? reason
                      : reason + "; these may still exist, and a sweep removes them:" + left);
  }

  const Engine& engine_;
  Labels wanted_;
  const Deadline& deadline_;
  std::vector<std::string> names_;  // that an attempt uses
  std::vector<Found> found_;
  std::optional<EngineFailure> problem_;
};

}  // namespace

std::size_t release(const Engine& engine, const std::string& owner, const std::string& job,
                    std::chrono::milliseconds time) {
  const Deadline deadline = Deadline::after(time);
  return Release(engine, owner, job, deadline).run();
}

}  // namespace vethgate::docker
