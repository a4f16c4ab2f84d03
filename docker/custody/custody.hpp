// The containers of one attempt: named and labelled before they are asked for, removed together,
// and given up only on the engine's own word that each is gone.
#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "docker/custody/labels.hpp"
#include "docker/engine/engine.hpp"

namespace vethgate::docker {

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

// From several threads at once.
class Custody {
 public:
  // `base`: owner, job and stamp; role and attempt are added here.
  Custody(const Engine& engine, Labels base);
  Custody(const Custody&) = delete;
  Custody& operator=(const Custody&) = delete;

  // Creates the container that `spec` describes, under the attempt's labels, and returns its id.
  [[nodiscard]] std::string create(ContainerSpec spec, const char* role, const Deadline& deadline);
  // Removes it; whatever the engine says of that, it stays in custody until it is confirmed gone.
  void discard(const std::string& id, const Deadline& deadline);
  // Removes everything of the attempt but `kept`, helpers first, until the engine lists none and
  // knows none of the names, or the deadline passes. Returns what may still exist.
  [[nodiscard]] std::vector<std::string> removeAll(const std::string& kept,
                                                   const Deadline& deadline);

 private:
  [[nodiscard]] bool isOurs(const Labels& labels) const;
  // Asks for everything of the attempt but `kept` to be removed, helpers first; true when the
  // engine lists none.
  bool discardListed(const std::string& kept, const Deadline& deadline);
  // The same for one name; true when the engine says that it has none, or that it is not ours.
  bool discardNamed(const std::string& name, const std::string& kept, const Deadline& deadline);

  const Engine& engine_;
  Labels labels_;
  std::mutex mutex_;
  std::vector<std::string> names_;  // of every create that was ever sent, the holder's last
};

}  // namespace vethgate::docker
