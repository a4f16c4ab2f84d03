// A container engine in memory, behind the stand-in's socket, that follows a schedule of faults,
// and keeps account of what is done to whose containers. It must not know what is expected of its
// client.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "docker/engine/types.hpp"
#include "tests/offline/docker/faults/schedule.hpp"
#include "tests/offline/docker/stand_in/stand_in.hpp"

namespace vethgate::docker::test {

class FaultyEngine {
 public:
  FaultyEngine(std::uint64_t seed, std::function<void()> kill);

  // For the commands of a worker, and for the sweeps, which are told apart by it.
  [[nodiscard]] const std::string& socket() const noexcept { return worker_->socket(); }
  [[nodiscard]] const std::string& sweepSocket() const noexcept { return sweeper_->socket(); }

  // Somebody else's, running: whatever starts, joins the streams of, or removes it is noted.
  void addForeign(const std::string& name, const Labels& labels,
                  const std::string& network = "bridge");
  void dismiss(const std::string& name);  // a foreign one, which its owner removes
  // The container of the worker's job, running.
  void addJob(const std::string& name, const Labels& labels, const std::string& network);
  [[nodiscard]] std::string idOf(const std::string& name) const;  // empty without one

  // While the worker is dead nothing that it asks for arrives any more.
  [[nodiscard]] bool killed() const;
  void revive();
  // The worker asks for nothing any more; returns once everything that it had asked for is done or
  // never will be. What was to be done long after is not.
  void hangUp();
  void heal(bool healthy = true);  // no faults from here on; or again
  // Everything that was to be done long after is done.
  void settle();
  // A sweep's `call`-th call from here is its last one: `kill` is called, and the call may still be
  // done.
  void killSweepAt(unsigned call, std::function<void()> kill);
  // What the sweeps since the last time were shown, and did.
  struct Sight {
    std::set<std::string> first;  // ids, by the first list that was answered
    std::set<std::string> shown;  // by any
    unsigned removals = 0;        // asked for
    bool killed = false;
  };
  // The sweeps ask for nothing any more, and everything that they had asked for is done or never
  // will be. The next one has another socket.
  [[nodiscard]] Sight endSweep();
  // What a sweep must not ask to remove.
  enum class Forbidden { kNothing, kRunning, kAll };
  void forbidSweeping(Forbidden forbidden);

  [[nodiscard]] std::map<std::string, std::string> left()
      const;  // name by id of what is not foreign
  // What was done to foreign containers, or was forbidden; what a sweep asked to remove under one
  // that runs, and that it had been shown; foreign ones that are gone.
  [[nodiscard]] std::vector<std::string> violations() const;
  // A job that starts in this one's namespace is contained: its holder runs, and in its namespace
  // one helper has applied a plan, and then another has judged it.
  [[nodiscard]] bool contained(const std::string& holderId) const;

 private:
  struct Container {
    std::string id;
    std::string name;
    Json body;
    std::string state = "created";
    int status = 0;
    bool foreign = false;
  };
  struct Call {
    std::string name;    // "create apply"
    std::string verb;    // its first word
    std::string target;  // the container's name or id as asked for
    std::string query;
    std::string body;
    bool sweeping = false;
  };
  struct Answer {
    int status = 200;
    std::string body;
  };

  void handle(Connection& connection, bool sweeping);
  [[nodiscard]] Call callOf(const Request& request);
  void respond(Connection& connection, const Call& call, const Step& step);
  void attach(Connection& connection, const Call& call, const Step& step);
  void wait(Connection& connection, const Call& call);
  // All below with the lock held.
  [[nodiscard]] Answer perform(const Call& call);
  [[nodiscard]] Answer create(const Call& call);
  [[nodiscard]] Answer start(const Call& call);
  [[nodiscard]] Answer remove(const Call& call);
  [[nodiscard]] Answer list(const Call& call, bool lying);
  [[nodiscard]] Answer lie(const Call& call);
  void noteSweeping(const Call& call);
  void noteShown(const Answer& answer);
  [[nodiscard]] static bool joins(const Container& one, const Container& other);
  Container* find(const std::string& idOrName);
  [[nodiscard]] const Container* another(const std::string& idOrName) const;
  void touch(const Container& container, const std::string& how);
  bool awaitWith(std::unique_lock<std::mutex>& lock, const Connection& connection,
                 const std::function<bool()>& holds);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Schedule schedule_;
  std::function<void()> kill_;
  std::vector<Container> containers_;
  std::vector<std::function<void()>> later_;
  std::vector<std::string> violations_;
  std::set<std::string> applied_;  // ids of holders
  std::set<std::string> judged_;
  std::size_t foreigners_ = 0;
  unsigned nextId_ = 1;
  bool healthy_ = false;
  bool dead_ = false;
  bool wasKilled_ = false;
  Sight sight_;
  std::function<void()> killSweep_;
  unsigned callsToSweepsEnd_ = 0;  // 0: it lives
  bool sweepDead_ = false;
  Forbidden forbidden_ = Forbidden::kNothing;
  unsigned undecided_ = 0;         // calls of the worker's that may still do something
  std::optional<StandIn> worker_;  // last: their threads use all of the above
  std::optional<StandIn> sweeper_;
};

}  // namespace vethgate::docker::test
