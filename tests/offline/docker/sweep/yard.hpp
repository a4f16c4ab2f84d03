// The containers of an engine in memory, behind a real socket, for tests of what is removed: it
// answers lists, inspections and removals, and fails where the test says. It must not know what is
// expected of its client.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "docker/custody/labels.hpp"
#include "docker/engine/types.hpp"
#include "tests/offline/docker/stand_in/stand_in.hpp"

namespace vethgate::docker::test {

inline const std::string kOwner = "worker-1";
inline constexpr std::uint64_t kNow = 1'700'000'000;

enum class Fault {
  kRefuse,     // status 500, and nothing done
  kDrop,       // the connection ends, and nothing done
  kDropAfter,  // done, and the connection ends before the answer
  kSilence,    // neither done nor answered
  kPretend,    // answered as done, and nothing done; a list is then empty
};

struct Standing {
  std::string id = {};
  std::string name = {};
  Labels labels = {};
  std::string mode = "bridge";
  std::string status = "running";
  std::uint64_t created = 0;  // unix second
  std::string started = {};   // RFC 3339
  unsigned pid = 0;
};

[[nodiscard]] Labels labelsOf(const std::string& job, const char* role, std::uint64_t stamp,
                              const std::string& owner = kOwner);

// Calls are named for faults, and noted, as "list", "inspect NAME", "remove NAME".
class Yard {
 public:
  Yard();

  [[nodiscard]] const std::string& socket() const { return server_->socket(); }
  // Returns the id, which grows from one to the next.
  std::string add(Standing one);
  std::string addHolder(const std::string& job, std::uint64_t stamp);
  // In the network of `joined`, an id.
  std::string addJob(const std::string& job, std::uint64_t stamp, const std::string& joined);
  std::string addHelper(const std::string& job, std::uint64_t stamp, const std::string& joined);

  static constexpr int kAlways = 1'000'000;
  void fail(const std::string& call, Fault fault, int times = 1);
  void before(const std::string& call, std::function<void()> event);  // without the lock
  void hideFromNextList(const std::string& name) { hidden_ = name; }
  void vanish(const std::string& name);
  // As podman: nothing is removed on whose network another stands, running or not.
  void refuseUnderOthers() { refusesUnderOthers_ = true; }

  [[nodiscard]] std::vector<std::string> names() const;  // of those that exist
  [[nodiscard]] std::vector<std::string> calls() const;
  [[nodiscard]] std::vector<std::string> removals() const;  // names, in the order of the calls

 private:
  struct Planned {
    std::string call;
    Fault fault;
    int times;
  };
  void handle(Connection& connection);
  [[nodiscard]] std::optional<Fault> note(const std::string& call);
  [[nodiscard]] std::string listText();
  const Standing* find(const std::string& idOrName) const;
  [[nodiscard]] std::string dependentsOf(const Standing& one) const;

  mutable std::mutex mutex_;
  std::vector<Standing> all_;
  std::map<std::string, std::string> known_;  // the name of every id that there ever was
  std::vector<Planned> planned_;
  std::map<std::string, std::function<void()>> events_;
  std::vector<std::string> calls_;
  std::string hidden_;
  std::atomic<bool> refusesUnderOthers_ = false;
  unsigned nextId_ = 1;
  std::optional<StandIn> server_;  // last: its threads use all of the above
};

}  // namespace vethgate::docker::test
