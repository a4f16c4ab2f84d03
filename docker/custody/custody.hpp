// The containers of one attempt: named and labelled before they are asked for, removed together,
// and given up only on the engine's own word that each is gone.
//
// A name is owned before its create is sent. When the create was answered, the engine's word that
// it has no such container (404) ends that. When it was not (a deadline, a reset, an engine that
// died or fell over, status 5xx), the container may come later: an absence must then hold for
// kSettleTime, and even after that the name is only given up as one that "may still come", to the
// sweep, which takes what carries the label vethgate.remove-after.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "docker/custody/labels.hpp"
#include "docker/engine/engine.hpp"

namespace vethgate::docker {

// For how long an engine must have had no container whose create it left unanswered. Docker
// finishes a create whose client went away, within half a second on a host that is not overloaded.
inline constexpr std::chrono::milliseconds kSettleTime{10'000};

// Between two questions to an engine that has not done yet what was asked: each wait is twice as
// long as the one before, to a bound.
class Pause {
 public:
  // Not beyond the deadline.
  void wait(const Deadline& deadline);

 private:
  std::chrono::milliseconds next_{20};
};

// For one of several calls that must all be made by `deadline`: a quarter of what is left, so that
// one which the engine never answers leaves time for the others, and for asking again.
[[nodiscard]] Deadline shareOf(const Deadline& deadline);

// What a removal could not bring to an end, by name, helpers first.
struct Remainder {
  std::vector<std::string> left;    // may exist
  std::vector<std::string> coming;  // never came, and may still

  [[nodiscard]] bool empty() const { return left.empty() && coming.empty(); }
  // "; these may still exist, and a sweep removes them: …"; empty when nothing is left.
  [[nodiscard]] std::string text() const;
};

// create() and discard() may be called from several threads at once, removeAll() from one.
class Custody {
 public:
  // `base`: owner, job and stamp; role and attempt are added here. `creating` is asked until
  // removal starts, and `removing` from then on: the two are one engine, which may have different
  // interrupts.
  Custody(Engine creating, Engine removing, Labels base);
  Custody(const Custody&) = delete;
  Custody& operator=(const Custody&) = delete;

  // Creates the container that `spec` describes, under the attempt's labels, and returns its id
  // once the engine has said that the container of that name is this one. Once removal has started
  // nothing is sent any more: EngineFailure(kNotSent).
  [[nodiscard]] std::string create(ContainerSpec spec, const char* role, const Deadline& deadline);
  // Removes it; whatever the engine says of that, it stays in custody until it is confirmed gone.
  void discard(const std::string& id, const Deadline& deadline);
  // Ends creating, waits for the creates that are in flight, and removes everything of the attempt
  // but `kept`, helpers first, until each is confirmed gone, or the deadline passes, or `removing`
  // is interrupted.
  [[nodiscard]] Remainder removeAll(const std::string& kept, const Deadline& deadline,
                                    std::chrono::milliseconds settle = kSettleTime);

  // Of every container of the attempt, without a role.
  [[nodiscard]] const Labels& labels() const noexcept { return labels_; }

 private:
  using Clock = std::chrono::steady_clock;

  enum class Create {
    kInFlight,
    kLost,      // unanswered: the container may come, once
    kAnswered,  // it came, or never will
  };
  struct Owned {
    std::string name;
    Create create = Create::kInFlight;
    std::optional<Clock::time_point> absentSince;  // without another word in between
    bool over = false;                             // nothing more is asked
  };
  // The engine's word on one name or id.
  enum class Word { kPresent, kAbsent, kNone };

  void own(const std::string& name, bool holder);
  void note(const std::string& name, Create create);
  void awaitCreates(const Deadline& deadline);
  void verifyCreated(const std::string& name, const std::string& id, const Deadline& deadline);
  [[nodiscard]] bool isOurs(const Labels& labels) const;
  // Whether the engine says that there is one of this name, and that it is not ours.
  [[nodiscard]] bool isAnothers(const std::string& name, const Deadline& deadline) const;
  // Has it removed if it is there and of this attempt; somebody else's, and `kept`, count as
  // absent.
  [[nodiscard]] Word askToRemove(const std::string& nameOrId, const std::string& kept,
                                 const Deadline& deadline);
  // The same for everything that the engine lists; true when it lists nothing.
  [[nodiscard]] bool removeListed(const std::string& kept, const Deadline& deadline);
  void removeNamed(const std::string& kept, const Deadline& deadline,
                   std::chrono::milliseconds settle);
  [[nodiscard]] bool allOver();
  [[nodiscard]] Remainder remainder(bool noneListed);

  Engine creating_;
  Engine removing_;
  Labels labels_;
  std::mutex mutex_;
  std::condition_variable landed_;
  bool closed_ = false;
  std::vector<Owned> owned_;  // every create that was ever sent, the holder's last
};

}  // namespace vethgate::docker
