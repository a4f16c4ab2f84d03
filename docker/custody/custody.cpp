#include "docker/custody/custody.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace vethgate::docker {
namespace {

constexpr std::chrono::milliseconds kLongestPause{500};

std::string freshAttempt() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Failure(ExitCode::kDefect, "the kernel gave no random bytes");
  }
  return toHex(bytes);
}

}  // namespace

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
    const bool holder = std::string_view(role) == kHolderRole;
    names_.insert(holder ? names_.end() : names_.begin(), spec.name);
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

bool Custody::isOurs(const Labels& labels) const {
  const auto attempt = labels.find(kAttemptLabel);
  return attempt != labels.end() && attempt->second == labels_.at(kAttemptLabel);
}

bool Custody::discardListed(const std::string& kept, const Deadline& deadline) {
  const Labels attempt{{kAttemptLabel, labels_.at(kAttemptLabel)}};
  std::vector<ContainerSummary> found;
  try {
    found = engine_.listContainers(attempt, shareOf(deadline));
  } catch (const EngineFailure&) {
    return false;  // no answer is no absence
  }
  std::erase_if(found, [&](const ContainerSummary& one) { return one.id == kept; });
  std::stable_partition(found.begin(), found.end(), [](const ContainerSummary& one) {
    const auto role = one.labels.find(kRoleLabel);
    return role == one.labels.end() || role->second != kHolderRole;
  });
  for (const ContainerSummary& one : found) {
    discard(one.id, shareOf(deadline));
  }
  return found.empty();
}

bool Custody::discardNamed(const std::string& name, const std::string& kept,
                           const Deadline& deadline) {
  try {
    const std::optional<Container> one = engine_.findContainer(name, shareOf(deadline));
    if (!one || !isOurs(one->labels) || one->id == kept) {
      return true;
    }
    discard(one->id, shareOf(deadline));
  } catch (const EngineFailure&) {
    // Asked again while there is time.
  }
  return false;
}

std::vector<std::string> Custody::removeAll(const std::string& kept, const Deadline& deadline) {
  std::vector<std::string> owed;
  {
    const std::lock_guard lock(mutex_);
    owed = names_;
  }
  Pause pause;
  while (true) {
    // A list lags behind what was created, and an engine that cannot list may still remove: each
    // name is asked for as well, until the engine itself says that it has none.
    const bool noneListed = discardListed(kept, deadline);
    std::erase_if(owed,
                  [&](const std::string& name) { return discardNamed(name, kept, deadline); });
    if (owed.empty() && noneListed) {
      return {};
    }
    if (deadline.passed()) {
      return owed.empty() ? std::vector<std::string>{"containers with the label " +
                                                     std::string(kAttemptLabel) + "=" +
                                                     labels_.at(kAttemptLabel)}
                          : owed;
    }
    pause.wait(deadline);
  }
}

Deadline shareOf(const Deadline& deadline) {
  constexpr int kShares = 4;
  return Deadline::after(std::chrono::milliseconds(deadline.remainingMs() / kShares));
}

void Pause::wait(const Deadline& deadline) {
  std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(
      next_, std::chrono::milliseconds(deadline.remainingMs())));
  next_ = std::min(2 * next_, kLongestPause);
}

}  // namespace vethgate::docker
