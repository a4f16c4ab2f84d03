// A container engine in memory, behind the stand-in's socket: it keeps containers, runs programs
// that are functions of the test, and fails where the test says. It knows the part of the API that
// establishing uses; it must not know what is expected of its client.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "docker/engine/types.hpp"
#include "tests/offline/docker/establish/engine_text.hpp"
#include "tests/offline/docker/stand_in/stand_in.hpp"

namespace vethgate::docker::test {

inline const std::string kImageName = "vethgate:test";

enum class Fault {
  kRefuse,     // status 500, and nothing done
  kDrop,       // the connection ends, and nothing done
  kDropAfter,  // done, and the connection ends before the answer
  kDropLater,  // the connection ends, and the deed follows when land() says so
  kSilence,    // neither done nor answered
  kPretend,    // answered as done, and nothing done
};

// What a program makes of its input.
struct Said {
  int status = 0;
  std::string out;
  std::string err;
};
using Program = std::function<Said(const std::string& input)>;

// Calls are named for faults, and noted, as "version", "info", "image", "network", "list", and with
// the container they are for: "create apply", "start holder", "attach probe", "run verify" (the
// streams after an attach), "wait host", "inspect holder", "remove probe". Containers go by
// their shortName().
class ScriptedEngine {
 public:
  ScriptedEngine();

  [[nodiscard]] const std::string& socket() const noexcept { return server_->socket(); }

  // The next `times` such calls; "remove *" stands for any container.
  void fail(const std::string& call, Fault fault, int times = 1);
  static constexpr int kAlways = 1'000'000;
  // Of the helper `verb`, or, as "probe", of the holder, which goes on when that says a line; those
  // of the start answer as vethgate's own programs would.
  void program(const std::string& verb, Program program);
  [[nodiscard]] Program program(const std::string& verb);
  // Called when such a call has been done, before it is answered; the engine's lock is held.
  void after(const std::string& call, std::function<void()> event);
  void dieAtOnce(const std::string& container);  // it does not run any more; with the lock held
  // Its record says `change` besides or instead (RFC 7396); with the lock held.
  void record(const std::string& container, const Json& change) { records_[container] = change; }
  void bePodman() { podman_ = true; }
  // Somebody's container, running.
  void add(const std::string& name, const Labels& labels);
  // The next such call is done and answered so much later than it came, which `came` says.
  void delay(const std::string& call, std::chrono::milliseconds time, std::atomic<bool>& came);
  // The next create is answered with the id of that container.
  void answerWithIdOf(const std::string& name) { wrongId_ = idOf(name); }
  // What was dropped to be done later is done now.
  void land();
  // The next `times` lists do not show what was created here; or show everything there is.
  void lag(int times) { lag_ = times; }
  void ignoreFilters() { filters_ = false; }

  [[nodiscard]] std::vector<std::string> names() const;  // of the containers that exist
  [[nodiscard]] std::vector<std::string> calls() const;
  [[nodiscard]] std::vector<std::string> removed() const;  // "holder", "probe", …, in order
  // The body of the create of that container.
  [[nodiscard]] Json created(const std::string& container) const;
  [[nodiscard]] std::string idOf(const std::string& name) const;

 private:
  struct Container {
    std::string id;
    std::string name;
    Json body;
    std::string state = "created";
    int status = 0;
    bool foreign = false;
  };
  struct Planned {
    std::string call;
    Fault fault;
    int times;
  };

  void handle(Connection& connection);
  void handleContainer(Connection& connection, const std::string& name, const std::string& rest);
  // Treats the call as planned; true when that was all. `act` is the deed, under the lock.
  bool faulted(Connection& connection, const std::string& call, const std::function<void()>& act,
               int doneStatus);
  void create(Connection& connection, const std::string& name);
  void list(Connection& connection);
  void start(Container& container);
  void attach(Connection& connection, const std::string& id);
  void wait(Connection& connection, const std::string& id);
  void note(const std::string& call);
  [[nodiscard]] std::string containerText(const Container& container) const;
  Container* find(const std::string& idOrName);
  // Waits until `holds` or the end of the stand-in; returns with the lock held.
  bool awaitWith(std::unique_lock<std::mutex>& lock, const Connection& connection,
                 const std::function<bool()>& holds);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Container> containers_;
  std::vector<Planned> planned_;
  std::map<std::string, Program> programs_;
  std::map<std::string, std::function<void()>> events_;
  std::map<std::string, Json> records_;
  std::map<std::string, Json> bodies_;
  std::vector<std::string> calls_;
  std::vector<std::string> removed_;
  std::vector<std::function<void()>> later_;
  std::map<std::string, std::function<void()>> delays_;
  std::string wrongId_;
  unsigned nextId_ = 1;
  int lag_ = 0;
  bool filters_ = true;
  bool podman_ = false;
  std::optional<StandIn> server_;  // last: its threads use all of the above
};

// What vethgate's programs print when all is well.
[[nodiscard]] Json jobLink();
[[nodiscard]] Json applyAnswer(const std::string& plan);
[[nodiscard]] Json contained(const std::string& question);

}  // namespace vethgate::docker::test
