#include "tests/offline/docker/faults/faulty_engine.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/offline/docker/establish/scripted_engine.hpp"

namespace vethgate::docker::test {

FaultyEngine::FaultyEngine(std::uint64_t seed, std::function<void()> kill)
    : schedule_(seed), kill_(std::move(kill)) {
  worker_.emplace([this](Connection& connection) { handle(connection, false); });
  sweeper_.emplace([this](Connection& connection) { handle(connection, true); });
}

void FaultyEngine::addForeign(const std::string& name, const Labels& labels,
                              const std::string& network) {
  const std::lock_guard lock(mutex_);
  ++foreigners_;
  const Json body{{"Labels", labels}, {"HostConfig", {{"NetworkMode", network}}}};
  containers_.push_back({paddedId(nextId_++, 'f'), name, body, "running", 0, true});
}

void FaultyEngine::addJob(const std::string& name, const Labels& labels,
                          const std::string& network) {
  const std::lock_guard lock(mutex_);
  const Json body{{"Labels", labels}, {"HostConfig", {{"NetworkMode", network}}}};
  containers_.push_back({paddedId(nextId_++, 'c'), name, body, "running", 0, false});
}

void FaultyEngine::dismiss(const std::string& name) {
  const std::lock_guard lock(mutex_);
  foreigners_ -= std::erase_if(
      containers_, [&](const Container& one) { return one.foreign && one.name == name; });
}

std::string FaultyEngine::idOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(containers_.begin(), containers_.end(),
                                  [&](const Container& one) { return one.name == name; });
  return found == containers_.end() ? "" : found->id;
}

bool FaultyEngine::killed() const {
  const std::lock_guard lock(mutex_);
  return wasKilled_;
}

void FaultyEngine::revive() {
  const std::lock_guard lock(mutex_);
  dead_ = false;
}

void FaultyEngine::heal(bool healthy) {
  const std::lock_guard lock(mutex_);
  healthy_ = healthy;
}

void FaultyEngine::hangUp() {
  std::unique_lock lock(mutex_);
  dead_ = true;
  changed_.wait(lock, [this] { return undecided_ == 0; });
}

void FaultyEngine::killSweepAt(unsigned call, std::function<void()> kill) {
  const std::lock_guard lock(mutex_);
  callsToSweepsEnd_ = call;
  killSweep_ = std::move(kill);
}

FaultyEngine::Sight FaultyEngine::endSweep() {
  // Its end waits for every call that is under way.
  sweeper_.reset();
  Sight sight;
  {
    const std::lock_guard lock(mutex_);
    sight = std::exchange(sight_, {});
    callsToSweepsEnd_ = 0;
    sweepDead_ = false;
  }
  sweeper_.emplace([this](Connection& connection) { handle(connection, true); });
  return sight;
}

void FaultyEngine::settle() {
  const std::lock_guard lock(mutex_);
  for (const auto& deed : std::exchange(later_, {})) {
    deed();
  }
}

void FaultyEngine::forbidSweeping(Forbidden forbidden) {
  const std::lock_guard lock(mutex_);
  forbidden_ = forbidden;
}

std::map<std::string, std::string> FaultyEngine::left() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, std::string> names;
  for (const Container& one : containers_) {
    if (!one.foreign) {
      names.emplace(one.id, one.name);
    }
  }
  return names;
}

std::vector<std::string> FaultyEngine::violations() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all = violations_;
  const auto there = std::count_if(containers_.begin(), containers_.end(),
                                   [](const Container& one) { return one.foreign; });
  if (static_cast<std::size_t>(there) != foreigners_) {
    all.push_back("a foreign container is gone");
  }
  return all;
}

bool FaultyEngine::contained(const std::string& holderId) const {
  const std::lock_guard lock(mutex_);
  const bool runs = std::any_of(containers_.begin(), containers_.end(), [&](const Container& one) {
    return one.id == holderId && !one.foreign && one.state == "running" &&
           shortName(one.name) == "holder";
  });
  return runs && judged_.count(holderId) != 0;
}

FaultyEngine::Container* FaultyEngine::find(const std::string& idOrName) {
  const auto found = std::find_if(containers_.begin(), containers_.end(), [&](const auto& one) {
    return one.id == idOrName || one.name == idOrName;
  });
  return found == containers_.end() ? nullptr : &*found;
}

const FaultyEngine::Container* FaultyEngine::another(const std::string& idOrName) const {
  const auto found = std::find_if(containers_.begin(), containers_.end(), [&](const auto& one) {
    return one.id != idOrName && one.name != idOrName;
  });
  return found == containers_.end() ? nullptr : &*found;
}

bool FaultyEngine::joins(const Container& one, const Container& other) {
  return one.body.at("HostConfig").at("NetworkMode") == "container:" + other.id;
}

void FaultyEngine::touch(const Container& container, const std::string& how) {
  if (container.foreign) {
    violations_.push_back("foreign " + container.name + " was " + how);
  }
}

FaultyEngine::Call FaultyEngine::callOf(const Request& request) {
  const std::string path = request.target.substr(std::string("/v1.41").size());
  const std::size_t question = std::min(path.find('?'), path.size());
  Call call;
  call.body = request.body;
  call.query = path.substr(std::min(question + 1, path.size()));
  const auto under = [&](const std::string& prefix) { return path.rfind(prefix, 0) == 0; };
  for (const char* plain : {"version", "info"}) {
    if (under("/" + std::string(plain))) {
      call.name = call.verb = plain;
    }
  }
  if (under("/images/")) {
    call.name = call.verb = "image";
  } else if (under("/networks/")) {
    call.name = call.verb = "network";
  } else if (under("/containers/create?")) {
    call.verb = "create";
    call.target = call.query.substr(call.query.find('=') + 1);
  } else if (under("/containers/json?")) {
    call.name = call.verb = "list";
  } else if (under("/containers/")) {
    const std::size_t end = std::min(path.find_first_of("/?", 12), path.size());
    call.target = path.substr(12, end - 12);
    call.verb = request.method == "DELETE" ? "remove" : path.substr(end + 1, question - end - 1);
    call.verb = call.verb == "json" ? "inspect" : call.verb;
  }
  if (!call.target.empty()) {
    const Container* const one = find(call.target);
    call.name = call.verb + " " + shortName(one == nullptr ? call.target : one->name);
  }
  return call;
}

void FaultyEngine::handle(Connection& connection, bool sweeping) {
  Call call;
  Step step;
  std::function<void()> kill;
  {
    const std::lock_guard lock(mutex_);
    if (sweeping ? sweepDead_ : dead_) {
      connection.drop();
      return;
    }
    call = callOf(connection.request());
    call.sweeping = sweeping;
    step = healthy_ ? Step{} : schedule_.next(call.name);
    step.kill = step.kill && !sweeping;
    if (step.kill) {
      dead_ = wasKilled_ = true;
      kill = kill_;
    }
    if (sweeping && callsToSweepsEnd_ != 0 && --callsToSweepsEnd_ == 0) {
      schedule_.end(step, call.name);
      sweepDead_ = sight_.killed = true;
      kill = killSweep_;
    }
    undecided_ += sweeping || call.verb == "attach" ? 0 : 1;
  }
  if (kill) {
    kill();
  }
  if (step.delay.count() > 0) {
    std::this_thread::sleep_for(step.delay);
  }
  if (call.verb == "attach") {
    attach(connection, call, step);
  } else {
    respond(connection, call, step);
  }
}

void FaultyEngine::respond(Connection& connection, const Call& call, const Step& step) {
  Answer answer;
  {
    const std::lock_guard lock(mutex_);
    if (call.verb == "remove" && call.sweeping) {
      noteSweeping(call);
    }
    switch (step.misdeed) {
      case Misdeed::kReset:
      case Misdeed::kSilence:
        break;
      case Misdeed::kResetLater:
      case Misdeed::kRefuseLater:
        later_.emplace_back([this, call] { static_cast<void>(perform(call)); });
        answer = {500, message("the engine is unwell")};
        break;
      case Misdeed::kRefuse:
        // Of whatever it is, but not of what was asked for.
        answer = {step.status, message("the engine is unwell")};
        break;
      case Misdeed::kPretend:
        answer =
            call.verb == "create"
                ? Answer{201,
                         Json{{"Id", paddedId(nextId_++, 'd')}, {"Warnings", Json::array()}}.dump()}
                : Answer{204, ""};
        break;
      case Misdeed::kLie:
        answer = lie(call);
        break;
      default:
        answer = perform(call);
    }
    if (call.verb == "list" && call.sweeping &&
        (step.misdeed == Misdeed::kNone || step.misdeed == Misdeed::kLie)) {
      noteShown(answer);
    }
    undecided_ -= call.sweeping ? 0 : 1;
    changed_.notify_all();
  }
  switch (step.misdeed) {
    case Misdeed::kReset:
    case Misdeed::kResetAfter:
    case Misdeed::kResetLater:
      connection.drop();
      return;
    case Misdeed::kSilence:
    case Misdeed::kSilenceAfter:
      connection.holdUntilClientLeaves();
      return;
    case Misdeed::kHalf:
      connection.head(answer.status, answer.body.size() + 1);
      connection.send(answer.body.substr(0, answer.body.size() / 2));
      connection.drop();
      return;
    default:
      break;
  }
  if (call.verb == "wait" && answer.status == 200) {
    wait(connection, call);
  } else {
    connection.answer(answer.status, answer.body);
  }
}

// What a sweep asks for counts, whether or not it is done.
void FaultyEngine::noteSweeping(const Call& call) {
  ++sight_.removals;
  const Container* const one = find(call.target);
  if (one == nullptr) {
    return;
  }
  if (forbidden_ == Forbidden::kAll ||
      (forbidden_ == Forbidden::kRunning && one->state == "running")) {
    violations_.push_back("a sweep asked to remove " + one->name + " before its time");
  }
  for (const Container& other : containers_) {
    if (other.state == "running" && joins(other, *one) && sight_.shown.count(other.id) != 0) {
      violations_.push_back("a sweep asked to remove " + one->name + " under " + other.name);
    }
  }
}

void FaultyEngine::noteShown(const Answer& answer) {
  const bool first = sight_.shown.empty();
  for (const Json& entry : Json::parse(answer.body)) {
    const std::string id = entry.at("Id");
    sight_.shown.insert(id);
    if (first) {
      sight_.first.insert(id);
    }
  }
}

}  // namespace vethgate::docker::test
