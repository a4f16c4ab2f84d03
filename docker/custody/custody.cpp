#include "docker/custody/custody.hpp"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <thread>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace vethgate::docker {
namespace {

constexpr std::chrono::milliseconds kLongestPause{500};
constexpr int kConflict = 409;
constexpr int kFirstServerError = 500;

std::string freshAttempt() {
  std::array<std::uint8_t, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Failure(ExitCode::kDefect, "the kernel gave no random bytes");
  }
  return toHex(bytes);
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    text += " " + name;
  }
  return text;
}

}  // namespace

std::string Remainder::text() const {
  std::string text;
  if (!left.empty()) {
    text += "; these may still exist, and a sweep removes them:" + joined(left);
  }
  if (!coming.empty()) {
    text +=
        "; these may still come, for the engine never answered for them, and a sweep removes "
        "them:" +
        joined(coming);
  }
  return text;
}

Custody::Custody(Engine creating, Engine removing, Labels base)
    : creating_(std::move(creating)), removing_(std::move(removing)), labels_(std::move(base)) {
  labels_[kAttemptLabel] = freshAttempt();
}

void Custody::own(const std::string& name, bool holder) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    throw EngineFailure(ExitCode::kEngine, Outcome::kNotSent, 0,
                        "container \"" + name + "\" is not created: the attempt is being removed");
  }
  owned_.insert(holder ? owned_.end() : owned_.begin(), {name, Create::kInFlight, {}, false});
}

void Custody::note(const std::string& name, Create create) {
  const std::lock_guard lock(mutex_);
  for (Owned& one : owned_) {
    if (one.name == name) {
      one.create = create;
    }
  }
  landed_.notify_all();
}

std::string Custody::create(ContainerSpec spec, const char* role, const Deadline& deadline) {
  for (const auto& [key, value] : labels_) {
    spec.labels[key] = value;
  }
  spec.labels[kRoleLabel] = role;
  own(spec.name, std::string_view(role) == kHolderRole);
  std::string id;
  try {
    id = creating_.createContainer(spec, deadline).id;
    note(spec.name, Create::kAnswered);
  } catch (const EngineFailure& failure) {
    const bool refused = failure.outcome() == Outcome::kRefused;
    // Not by the status: a name that is taken is 409 to docker, and to podman 500.
    const bool taken = refused && isAnothers(spec.name, deadline);
    const bool over = taken || (refused && failure.status() < kFirstServerError) ||
                      failure.outcome() == Outcome::kNotSent;
    note(spec.name, over ? Create::kAnswered : Create::kLost);
    if (taken || failure.status() == kConflict) {
      throw Failure(ExitCode::kEngine,
                    "container " + spec.name +
                        " is another attempt's: while a job runs in it leave it alone, else "
                        "release the job first (" +
                        failure.what() + ")");
    }
    throw;
  } catch (...) {
    note(spec.name, Create::kLost);
    throw;
  }
  verifyCreated(spec.name, id, deadline);
  return id;
}

// Everything from here on is done to the id: it must not be that of another container.
void Custody::verifyCreated(const std::string& name, const std::string& id,
                            const Deadline& deadline) {
  const std::optional<Container> made = creating_.findContainer(name, deadline);
  if (!made || made->id != id || !isOurs(made->labels)) {
    throw Failure(ExitCode::kEngine, "the container engine at " + creating_.socket() +
                                         " answers that it created \"" + name + "\" as " + id +
                                         ", and has " +
                                         (made ? made->id + " of that name" : "none of that name"));
  }
}

void Custody::discard(const std::string& id, const Deadline& deadline) {
  try {
    static_cast<void>(creating_.removeContainer(id, deadline));
  } catch (const EngineFailure&) {
    // removeAll() meets it again.
  }
}

bool Custody::isAnothers(const std::string& name, const Deadline& deadline) const {
  try {
    const std::optional<Container> one = creating_.findContainer(name, shareOf(deadline));
    return one && !isOurs(one->labels);
  } catch (const EngineFailure&) {
    return false;
  }
}

bool Custody::isOurs(const Labels& labels) const {
  const auto attempt = labels.find(kAttemptLabel);
  return attempt != labels.end() && attempt->second == labels_.at(kAttemptLabel);
}

Custody::Word Custody::askToRemove(const std::string& nameOrId, const std::string& kept,
                                   const Deadline& deadline) {
  try {
    const std::optional<Container> one = removing_.findContainer(nameOrId, shareOf(deadline));
    if (!one || !isOurs(one->labels) || one->id == kept) {
      return Word::kAbsent;
    }
    // Its lost create has come about, and will not a second time.
    note(one->name, Create::kAnswered);
    static_cast<void>(removing_.removeContainer(one->id, shareOf(deadline)));
    return Word::kPresent;
  } catch (const EngineFailure&) {
    return Word::kNone;  // no answer is no absence
  }
}

bool Custody::removeListed(const std::string& kept, const Deadline& deadline) {
  const Labels attempt{{kAttemptLabel, labels_.at(kAttemptLabel)}};
  std::vector<ContainerSummary> found;
  try {
    found = removing_.listContainers(attempt, shareOf(deadline));
  } catch (const EngineFailure&) {
    return false;
  }
  std::erase_if(found, [&](const ContainerSummary& one) { return one.id == kept; });
  std::stable_partition(found.begin(), found.end(), [](const ContainerSummary& one) {
    const auto role = one.labels.find(kRoleLabel);
    return role == one.labels.end() || role->second != kHolderRole;
  });
  for (const ContainerSummary& one : found) {
    static_cast<void>(askToRemove(one.id, kept, deadline));
  }
  return found.empty();
}

void Custody::removeNamed(const std::string& kept, const Deadline& deadline,
                          std::chrono::milliseconds settle) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    for (const Owned& one : owned_) {
      if (!one.over) {
        names.push_back(one.name);
      }
    }
  }
  for (const std::string& name : names) {
    const Word word = askToRemove(name, kept, deadline);
    const auto now = Clock::now();
    const std::lock_guard lock(mutex_);
    const auto one = std::find_if(owned_.begin(), owned_.end(),
                                  [&](const Owned& owned) { return owned.name == name; });
    if (word != Word::kAbsent) {
      one->absentSince.reset();
      continue;
    }
    one->absentSince = one->absentSince.value_or(now);
    one->over = one->create == Create::kAnswered || now - *one->absentSince >= settle;
  }
}

void Custody::awaitCreates(const Deadline& deadline) {
  const Deadline share = shareOf(deadline);
  std::unique_lock lock(mutex_);
  closed_ = true;
  landed_.wait_for(lock, std::chrono::milliseconds(share.remainingMs()), [&] {
    return std::none_of(owned_.begin(), owned_.end(),
                        [](const Owned& one) { return one.create == Create::kInFlight; });
  });
  for (Owned& one : owned_) {
    // What an earlier removal was told is of its own time.
    one.over = false;
    one.absentSince.reset();
  }
}

bool Custody::allOver() {
  const std::lock_guard lock(mutex_);
  return std::all_of(owned_.begin(), owned_.end(), [](const Owned& one) { return one.over; });
}

Remainder Custody::remainder(bool noneListed) {
  Remainder remainder;
  const std::lock_guard lock(mutex_);
  for (const Owned& one : owned_) {
    if (one.absentSince && one.create != Create::kAnswered) {
      remainder.coming.push_back(one.name);
    } else if (!one.over) {
      remainder.left.push_back(one.name);
    }
  }
  if (!noneListed && remainder.left.empty()) {
    remainder.left.push_back("containers with the label " + std::string(kAttemptLabel) + "=" +
                             labels_.at(kAttemptLabel));
  }
  return remainder;
}

Remainder Custody::removeAll(const std::string& kept, const Deadline& deadline,
                             std::chrono::milliseconds settle) {
  awaitCreates(deadline);
  Pause pause;
  while (true) {
    // A list lags behind what was created, and an engine that cannot list may still remove: each
    // name is asked for as well.
    const bool noneListed = removeListed(kept, deadline);
    removeNamed(kept, deadline, settle);
    if ((allOver() && noneListed) || deadline.passed() || removing_.interrupted()) {
      return remainder(noneListed);
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
