#include "docker/establish/custody.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace vethgate::docker {
namespace {

constexpr std::chrono::milliseconds kFirstPause{20};
constexpr std::chrono::milliseconds kLongestPause{500};

std::string freshAttempt() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Failure(ExitCode::kDefect, "the kernel gave no random bytes");
  }
  return toHex(bytes);
}

}  // namespace

std::string holderName(const std::string& job) { return "vethgate-" + job; }

std::string helperName(const std::string& job, const std::string& verb) {
  return holderName(job) + "-" + verb;
}

Custody::Custody(const Engine& engine, Labels base) : engine_(engine), labels_(std::move(base)) {
  labels_[kAttemptLabel] = freshAttempt();
}

std::string Custody::create(ContainerSpec spec, const char* role, const Deadline& deadline) {
  for (const auto& [key, value] : labels_) {
    spec.labels[key] = value;
  }
  spec.labels[kRoleLabel] = role;
  {
    const std::lock_guard lock(mutex_);
    names_.push_back(spec.name);
  }
  try {
    return engine_.createContainer(spec, deadline).id;
  } catch (const EngineFailure& failure) {
    constexpr int kConflict = 409;
    if (failure.status() == kConflict) {
      // The name is another attempt's, and so none of ours to remove.
      const std::lock_guard lock(mutex_);
      std::erase(names_, spec.name);
      throw Failure(ExitCode::kEngine,
                    std::string(failure.what()) +
                        "; another attempt for this job runs or left it: release the job first");
    }
    throw;
  }
}

void Custody::discard(const std::string& id, const Deadline& deadline) {
  try {
    static_cast<void>(engine_.removeContainer(id, deadline));
  } catch (const EngineFailure&) {
    // removeAll() meets it again.
  }
}

std::vector<std::string> Custody::present(const std::string& kept, const Deadline& deadline) const {
  std::vector<std::string> found;
  const Labels attempt{{kAttemptLabel, labels_.at(kAttemptLabel)}};
  for (const ContainerSummary& one : engine_.listContainers(attempt, deadline)) {
    if (one.id != kept) {
      const auto role = one.labels.find(kRoleLabel);
      const bool holder = role != one.labels.end() && role->second == kHolderRole;
      found.insert(holder ? found.end() : found.begin(), one.id);
    }
  }
  return found;
}

std::vector<std::string> Custody::removeAll(const std::string& kept, const Deadline& deadline) {
  // A list lags behind what was created, so that each name is asked for as well, until the engine
  // itself says that it has none.
  std::vector<std::string> owed;
  {
    const std::lock_guard lock(mutex_);
    owed = names_;
  }
  auto pause = kFirstPause;
  while (true) {
    try {
      for (const std::string& id : present(kept, deadline)) {
        discard(id, deadline);
      }
      std::erase_if(owed, [&](const std::string& name) {
        const std::optional<Container> one = engine_.findContainer(name, deadline);
        const bool ours = one && one->labels.count(kAttemptLabel) != 0 &&
                          one->labels.at(kAttemptLabel) == labels_.at(kAttemptLabel);
        return !ours || one->id == kept;
      });
      if (owed.empty() && present(kept, deadline).empty()) {
        return {};
      }
    } catch (const EngineFailure&) {
      // No answer is no absence: ask again while there is time.
    }
    if (deadline.passed()) {
      return owed.empty() ? std::vector<std::string>{"containers with the label " +
                                                     std::string(kAttemptLabel) + "=" +
                                                     labels_.at(kAttemptLabel)}
                          : owed;
    }
    std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(
        pause, std::chrono::milliseconds(deadline.remainingMs())));
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace vethgate::docker
