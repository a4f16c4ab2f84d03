#include "tests/offline/docker/sweep/yard.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace vethgate::docker::test {
namespace {

constexpr std::size_t kIdDigits = 64;

std::string message(const std::string& text) { return Json{{"message", text}}.dump(); }

std::string inspection(const Standing& one) {
  const bool running = one.status == "running";
  return Json{
      {"Id", one.id},
      {"Name", "/" + one.name},
      {"Image", "sha256:0"},
      {"State",
       {{"Status", one.status},
        {"Running", running},
        {"StartedAt", one.started},
        {"Pid", one.pid},
        {"ExitCode", 0},
        {"OOMKilled", false}}},
      {"HostConfig", {{"NetworkMode", one.mode}, {"ReadonlyRootfs", true}, {"Privileged", false}}},
      {"Config", {{"Labels", one.labels}}},
      {"NetworkSettings", {{"Networks", Json::object()}}}}
      .dump();
}

}  // namespace

Labels labelsOf(const std::string& job, const char* role, std::uint64_t stamp,
                const std::string& owner) {
  return {{kOwnerLabel, owner},
          {kJobLabel, job},
          {kRoleLabel, role},
          {kRemoveAfterLabel, std::to_string(stamp)}};
}

Yard::Yard() {
  server_.emplace([this](Connection& connection) { handle(connection); });
}

std::string Yard::add(Standing one) {
  const std::lock_guard lock(mutex_);
  one.id = std::to_string(nextId_++);
  one.id.insert(0, kIdDigits - one.id.size(), '0');
  known_[one.id] = one.name;
  all_.push_back(one);
  return one.id;
}

std::string Yard::addHolder(const std::string& job, std::uint64_t stamp) {
  return add({.name = holderName(job), .labels = labelsOf(job, kHolderRole, stamp)});
}

std::string Yard::addJob(const std::string& job, std::uint64_t stamp, const std::string& joined) {
  return add({.name = "run-of-" + job,
              .labels = labelsOf(job, kJobRole, stamp),
              .mode = "container:" + joined});
}

std::string Yard::addHelper(const std::string& job, std::uint64_t stamp,
                            const std::string& joined) {
  return add({.name = helperName(job, "apply"),
              .labels = labelsOf(job, kHelperRole, stamp),
              .mode = "container:" + joined});
}

void Yard::fail(const std::string& call, Fault fault, int times) {
  const std::lock_guard lock(mutex_);
  planned_.push_back({call, fault, times});
}

void Yard::before(const std::string& call, std::function<void()> event) {
  const std::lock_guard lock(mutex_);
  events_[call] = std::move(event);
}

void Yard::vanish(const std::string& name) {
  const std::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const Standing& one) { return one.name == name; });
}

std::vector<std::string> Yard::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Standing& one : all_) {
    names.push_back(one.name);
  }
  return names;
}

std::vector<std::string> Yard::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<std::string> Yard::removals() const {
  constexpr std::string_view kRemove = "remove ";
  std::vector<std::string> names;
  for (const std::string& call : calls()) {
    if (call.starts_with(kRemove)) {
      names.push_back(call.substr(kRemove.size()));
    }
  }
  return names;
}

const Standing* Yard::find(const std::string& idOrName) const {
  const auto found = std::find_if(all_.begin(), all_.end(), [&](const Standing& one) {
    return one.id == idOrName || one.name == idOrName;
  });
  return found == all_.end() ? nullptr : &*found;
}

std::optional<Fault> Yard::note(const std::string& call) {
  std::function<void()> event;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    if (const auto found = events_.find(call); found != events_.end()) {
      event = std::move(found->second);
      events_.erase(found);
    }
  }
  if (event) {
    event();
  }
  const std::lock_guard lock(mutex_);
  for (Planned& one : planned_) {
    if (one.call == call && one.times > 0) {
      --one.times;
      return one.fault;
    }
  }
  return std::nullopt;
}

std::string Yard::listText() {
  Json list = Json::array();
  for (const Standing& one : all_) {
    if (one.name != hidden_) {
      list.push_back({{"Id", one.id},
                      {"Names", {"/" + one.name}},
                      {"State", one.status},
                      {"Created", one.created},
                      {"Labels", one.labels}});
    }
  }
  hidden_.clear();
  return list.dump();
}

std::string Yard::dependentsOf(const Standing& one) const {
  std::string ids;
  for (const Standing& other : all_) {
    if (refusesUnderOthers_ && other.mode == "container:" + one.id) {
      ids += (ids.empty() ? "" : ",") + other.id;
    }
  }
  return ids;
}

void Yard::handle(Connection& connection) {
  const std::string target = connection.request().target.substr(
      connection.request().target.find("/containers/") + std::string_view("/containers/").size());
  const bool listing = target.starts_with("json?");
  const bool removing = connection.request().method == "DELETE";
  const std::string name = target.substr(0, target.find_first_of("/?"));
  std::string call = "list";
  if (!listing) {
    const std::lock_guard lock(mutex_);
    const auto known = known_.find(name);
    call = (removing ? "remove " : "inspect ") + (known == known_.end() ? name : known->second);
  }
  const std::optional<Fault> fault = note(call);
  if (fault == Fault::kSilence) {
    connection.holdUntilClientLeaves();
    return;
  }
  if (fault == Fault::kDrop) {
    return;
  }
  if (fault == Fault::kRefuse) {
    connection.answer(500, message("the engine is unwell"));
    return;
  }
  int status = 200;
  std::string body;
  {
    const std::lock_guard lock(mutex_);
    const Standing* const one = listing ? nullptr : find(name);
    if (listing) {
      body = fault == Fault::kPretend ? "[]" : listText();
    } else if (one == nullptr) {
      status = 404;
      body = message("No such container: " + name);
    } else if (const std::string others = removing ? dependentsOf(*one) : ""; !others.empty()) {
      status = 500;
      body = message("container " + one->id +
                     " has dependent containers which must be removed before it: " + others +
                     ": container already exists");
    } else if (removing) {
      status = 204;
      if (fault != Fault::kPretend) {
        const std::string id = one->id;
        std::erase_if(all_, [&](const Standing& other) { return other.id == id; });
      }
    } else {
      body = inspection(*one);
    }
  }
  if (fault != Fault::kDropAfter) {
    connection.answer(status, body);
  }
}

}  // namespace vethgate::docker::test
