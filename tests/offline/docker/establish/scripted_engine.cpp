#include "tests/offline/docker/establish/scripted_engine.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include "render/link.hpp"
#include "render/plan.hpp"
#include "render/policy.hpp"
#include "render/render.hpp"

namespace vethgate::docker::test {
namespace {

// By layer; one that the plan leaves out is absent.
Json countsOf(const Plan& plan) {
  Json counts = Json::object();
  if (plan.iptables) {
    counts["iptables"] = {{"v4", plan.iptables->v4.size()}, {"v6", plan.iptables->v6.size()}};
  }
  if (plan.flower) {
    counts["flower"] = plan.flower->size();
  }
  if (plan.netdev) {
    counts["netdev"] = plan.netdev->size();
  }
  return counts;
}

}  // namespace

Json jobLink() {
  return {{"index", 5}, {"name", "eth0"},       {"mac", "02:42:ac:12:00:02"},
          {"peer", 9},  {"netns", 4026532290U}, {"addresses", {"172.18.0.2"}}};
}

Json applyAnswer(const std::string& plan) {
  const PlanDocument document = readPlanDocument(plan);
  return {{"applied", countsOf(document.plan)}, {"digest", document.digest}};
}

Json contained(const std::string& question) {
  const Json asked = Json::parse(question);
  const Policy policy = readPolicy(asked.at("policy"));
  // A verdict counts what is not there as well.
  Json counts = {{"iptables", {{"v4", 0}, {"v6", 0}}}, {"flower", 0}, {"netdev", 0}};
  counts.update(countsOf(renderPlan(policy, readLink(asked.at("link"), "link"))));
  return {{"verdict", "contained"},
          {"reasons", Json::array()},
          {"unchecked", Json::array()},
          {"policy", policy.digest},
          {"readback", std::string(kIdDigits, 'e')},
          {"counts", std::move(counts)},
          {"engine", {{"resolver", {{"tcp", 38411}, {"udp", 40123}}}}},
          {"drops", Json::object()},
          {"kernel", "6.1.0-test"},
          {"link", asked.at("link")}};
}

ScriptedEngine::ScriptedEngine() {
  const auto fixed = [](Json answer) {
    return [text = answer.dump() + "\n"](const std::string&) { return Said{0, text, ""}; };
  };
  programs_["host"] =
      fixed({{"own", {"192.0.2.10", "172.18.0.1"}}, {"onLink", {"192.0.2.0/24", "172.18.0.0/16"}}});
  programs_["probe"] = fixed({{"host", {"172.17.0.1"}}, {"link", jobLink()}});
  programs_["apply"] = [](const std::string& input) {
    return Said{0, applyAnswer(input).dump() + "\n", ""};
  };
  programs_["verify"] = [](const std::string& input) {
    return Said{0, contained(input).dump() + "\n", ""};
  };
  server_.emplace([this](Connection& connection) { handle(connection); });
}

void ScriptedEngine::fail(const std::string& call, Fault fault, int times) {
  const std::lock_guard lock(mutex_);
  planned_.push_back({call, fault, times});
}

void ScriptedEngine::program(const std::string& verb, Program program) {
  const std::lock_guard lock(mutex_);
  programs_[verb] = std::move(program);
}

Program ScriptedEngine::program(const std::string& verb) {
  const std::lock_guard lock(mutex_);
  return programs_.at(verb);
}

void ScriptedEngine::after(const std::string& call, std::function<void()> event) {
  const std::lock_guard lock(mutex_);
  events_[call] = std::move(event);
}

void ScriptedEngine::delay(const std::string& call, std::chrono::milliseconds time,
                           std::atomic<bool>& came) {
  const std::lock_guard lock(mutex_);
  delays_[call] = [time, &came] {
    came = true;
    std::this_thread::sleep_for(time);
  };
}

void ScriptedEngine::land() {
  const std::lock_guard lock(mutex_);
  for (const auto& act : std::exchange(later_, {})) {
    act();
  }
}

void ScriptedEngine::dieAtOnce(const std::string& container) {
  for (Container& one : containers_) {
    if (shortName(one.name) == container) {
      one.state = "exited";
    }
  }
}

void ScriptedEngine::add(const std::string& name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  containers_.push_back({paddedId(nextId_++, 'f'), name, {{"Labels", labels}}, "running", 0, true});
}

std::vector<std::string> ScriptedEngine::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> all;
  for (const Container& one : containers_) {
    all.push_back(one.name);
  }
  return all;
}

std::vector<std::string> ScriptedEngine::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<std::string> ScriptedEngine::removed() const {
  const std::lock_guard lock(mutex_);
  return removed_;
}

Json ScriptedEngine::created(const std::string& container) const {
  const std::lock_guard lock(mutex_);
  return bodies_.at(container);
}

std::string ScriptedEngine::idOf(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const Container& one : containers_) {
    if (one.name == name) {
      return one.id;
    }
  }
  return "";
}

ScriptedEngine::Container* ScriptedEngine::find(const std::string& idOrName) {
  const auto found = std::find_if(containers_.begin(), containers_.end(), [&](const auto& one) {
    return one.id == idOrName || one.name == idOrName;
  });
  return found == containers_.end() ? nullptr : &*found;
}

void ScriptedEngine::note(const std::string& call) {
  const auto event = events_.find(call);
  if (event != events_.end()) {
    event->second();
  }
  changed_.notify_all();
}

bool ScriptedEngine::faulted(Connection& connection, const std::string& call,
                             const std::function<void()>& act, int doneStatus) {
  std::optional<Fault> fault;
  std::function<void()> wait;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back(call);
    if (const auto delay = delays_.extract(call); !delay.empty()) {
      wait = delay.mapped();
    }
  }
  if (wait) {
    wait();
  }
  {
    const std::lock_guard lock(mutex_);
    const std::string any = call.substr(0, call.find(' ')) + " *";
    for (Planned& planned : planned_) {
      if ((planned.call == call || planned.call == any) && planned.times > 0) {
        --planned.times;
        fault = planned.fault;
        break;
      }
    }
    if (fault == Fault::kDropAfter) {
      act();
    } else if (fault == Fault::kDropLater) {
      later_.push_back(act);
    }
  }
  if (!fault) {
    return false;
  }
  switch (*fault) {
    case Fault::kRefuse:
      connection.answer(500, message("the engine is unwell"));
      break;
    case Fault::kDrop:
    case Fault::kDropAfter:
    case Fault::kDropLater:
      connection.drop();
      break;
    case Fault::kSilence:
      connection.holdForever();
      break;
    case Fault::kPretend:
      connection.answer(doneStatus, "");
      break;
  }
  return true;
}

void ScriptedEngine::handle(Connection& connection) {
  const std::string& target = connection.request().target;
  const std::string path = target.substr(std::string("/v1.41").size());
  const auto nothing = [] {};
  const auto under = [&](const std::string& prefix) { return path.rfind(prefix, 0) == 0; };
  if (under("/version")) {
    if (!faulted(connection, "version", nothing, 200)) {
      Json answer{{"Version", "20.10.24"}, {"ApiVersion", "1.41"}};
      if (podman_) {
        answer["Components"] = Json::array({{{"Name", "Podman Engine"}}});
      }
      connection.answer(200, answer.dump());
    }
  } else if (under("/info")) {
    if (!faulted(connection, "info", nothing, 200)) {
      connection.answer(
          200,
          R"({"ServerVersion":"1","KernelVersion":"6.1","DefaultRuntime":"runsc","Runtimes":{"runc":{"path":"runc"},"runsc":{"path":"runsc"}}})");
    }
  } else if (under("/images/")) {
    if (!faulted(connection, "image", nothing, 200)) {
      const std::string name = path.substr(8, path.rfind("/json") - 8);
      const bool there = name == kImageName;
      connection.answer(there ? 200 : 404,
                        there ? Json{{"Id", "sha256:" + std::string(kIdDigits, '1')}}.dump()
                              : message("No such image: " + name));
    }
  } else if (under("/networks/")) {
    if (!faulted(connection, "network", nothing, 200)) {
      const std::string name = path.substr(10);
      const bool there = name == "jobs" || name == "bridge" || name == "lan";
      const Json network{{"Id", std::string(kIdDigits, '2')},
                         {"Name", name},
                         {"Driver", name == "lan" ? "macvlan" : "bridge"},
                         {"Internal", false},
                         {"EnableIPv6", false},
                         {"IPAM", {{"Config", {{{"Subnet", "172.19.0.0/16"}}}}}}};
      connection.answer(there ? 200 : 404,
                        there ? network.dump() : message("network " + name + " not found"));
    }
  } else if (under("/containers/create?name=")) {
    create(connection, path.substr(path.find('=') + 1));
  } else if (under("/containers/json?")) {
    list(connection);
  } else if (under("/containers/")) {
    const std::size_t end = std::min(path.find_first_of("/?", 12), path.size());
    handleContainer(connection, path.substr(12, end - 12), path.substr(end));
  } else {
    connection.answer(400, message("what is " + target + "?"));
  }
}

void ScriptedEngine::create(Connection& connection, const std::string& name) {
  const auto made = std::make_shared<std::string>();  // its id; a deed may come after this returns
  const auto act = [this, made, name, body = Json::parse(connection.request().body)] {
    if (find(name) != nullptr) {
      return;
    }
    *made = paddedId(nextId_++, 'c');
    containers_.push_back({*made, name, body});
    bodies_[shortName(name)] = body;
    note("create " + shortName(name));
  };
  if (faulted(connection, "create " + shortName(name), act, 201)) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    act();
  }
  if (made->empty()) {
    connection.answer(podman_ ? 500 : 409, message("the name \"" + name + "\" is already in use"));
  } else {
    const std::string wrong = std::exchange(wrongId_, "");
    connection.answer(
        201, Json{{"Id", wrong.empty() ? *made : wrong}, {"Warnings", Json::array()}}.dump());
  }
}

void ScriptedEngine::list(Connection& connection) {
  if (faulted(
          connection, "list", [] {}, 200)) {
    return;
  }
  const std::string& target = connection.request().target;
  const std::string query = target.substr(target.find("filters=") + 8);
  const Json wanted = Json::parse(percentDecoded(query)).at("label");
  Json all = Json::array();
  {
    const std::lock_guard lock(mutex_);
    const bool lagging = lag_ > 0;
    lag_ -= lagging ? 1 : 0;
    for (const Container& one : containers_) {
      if ((!filters_ || carries(one.body.at("Labels"), wanted)) && (one.foreign || !lagging)) {
        all.push_back({{"Id", one.id},
                       {"Names", {"/" + one.name}},
                       {"State", one.state},
                       {"Labels", one.body.at("Labels")}});
      }
    }
  }
  connection.answer(200, all.dump());
}

std::string ScriptedEngine::containerText(const Container& container) const {
  const bool running = container.state == "running";
  Json record{
      {"Id", container.id},
      {"Name", "/" + container.name},
      {"Image", container.body.value("Image", "sha256:0")},
      {"State",
       {{"Status", container.state},
        {"Running", running},
        {"StartedAt", "2026-01-01T00:00:00Z"},
        {"Pid", running ? 7 : 0},
        {"ExitCode", container.status},
        {"OOMKilled", false}}},
      {"HostConfig", container.body.value("HostConfig", Json{{"NetworkMode", "none"},
                                                             {"ReadonlyRootfs", true},
                                                             {"Privileged", false}})},
      {"Config",
       {{"Labels", container.body.at("Labels")}, {"User", container.body.value("User", "")}}},
      {"NetworkSettings", {{"Networks", {{"bridge", Json::object()}}}}}};
  if (const auto change = records_.find(shortName(container.name)); change != records_.end()) {
    record.merge_patch(change->second);
  }
  return record.dump();
}

void ScriptedEngine::start(Container& container) {
  container.state = "running";
  note("start " + shortName(container.name));
}

void ScriptedEngine::handleContainer(Connection& connection, const std::string& name,
                                     const std::string& rest) {
  std::string id;
  std::string known = name;
  {
    const std::lock_guard lock(mutex_);
    if (const Container* one = find(name)) {
      id = one->id;
      known = one->name;
    }
  }
  known = shortName(known);
  const bool removing = connection.request().method == "DELETE";
  const std::string verb = removing ? "remove" : rest.substr(1, rest.find('?') - 1);
  const auto remove = [&] {
    if (std::erase_if(containers_, [&](const Container& one) { return one.id == id; }) != 0) {
      removed_.push_back(known);
      note("remove " + known);
    }
  };
  const auto act = [&] {
    Container* const one = find(id);
    if (removing) {
      remove();
    } else if (verb == "start" && one != nullptr) {
      start(*one);
    }
  };
  const std::string call = (verb == "json" ? "inspect" : verb) + " " + known;
  if (faulted(connection, call, act, 204)) {
    return;
  }
  if (id.empty()) {
    connection.answer(404, message("No such container: " + name));
    return;
  }
  if (verb == "attach") {
    attach(connection, id);
  } else if (verb == "wait") {
    wait(connection, id);
  } else if (verb == "json") {
    std::string text;
    {
      const std::lock_guard lock(mutex_);
      const Container* const one = find(id);
      text = one == nullptr ? "" : containerText(*one);
    }
    connection.answer(text.empty() ? 404 : 200,
                      text.empty() ? message("No such container: " + name) : text);
  } else {
    bool joinable = true;
    {
      const std::lock_guard lock(mutex_);
      if (const Container* one = find(id); verb == "start" && one != nullptr) {
        const std::string mode = one->body.at("HostConfig").at("NetworkMode");
        const bool joins = mode.rfind("container:", 0) == 0;
        const Container* joined = joins ? find(mode.substr(10)) : nullptr;
        joinable = !joins || (joined != nullptr && joined->state == "running");
      }
      if (joinable) {
        act();
      }
    }
    connection.answer(joinable ? 204 : 409,
                      joinable ? "" : message("cannot join network of a non running container"));
  }
}

bool ScriptedEngine::awaitWith(std::unique_lock<std::mutex>& lock, const Connection& connection,
                               const std::function<bool()>& holds) {
  constexpr std::chrono::milliseconds kLook{10};
  while (!holds()) {
    if (connection.stopping()) {
      return false;
    }
    changed_.wait_for(lock, kLook);
  }
  return true;
}

void ScriptedEngine::attach(Connection& connection, const std::string& id) {
  connection.send(
      "HTTP/1.1 101 UPGRADED\r\nContent-Type: application/vnd.docker.raw-stream\r\n"
      "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  Program program;
  std::string name;
  std::string verb;
  bool takesInput = false;
  {
    std::unique_lock lock(mutex_);
    const auto begun = [&] { return find(id) == nullptr || find(id)->state != "created"; };
    if (!awaitWith(lock, connection, begun) || find(id) == nullptr) {
      return;
    }
    name = shortName(find(id)->name);
    verb = name == "holder" ? "probe" : name;
    takesInput = find(id)->body.at("OpenStdin");
    program = programs_.at(verb);
  }
  const std::string input = takesInput ? connection.receiveToEnd() : "";
  if (faulted(
          connection, "run " + verb, [] {}, 200)) {
    const std::lock_guard lock(mutex_);
    dieAtOnce(name);
    return;
  }
  Said said;
  try {
    said = program(input);
  } catch (const std::exception& error) {
    said = {2, "", std::string(error.what()) + "\n"};  // cut off, when its client went away
  }
  connection.send(frame(1, said.out) + frame(2, said.err));
  // The holder goes on once it has said a line, and keeps its streams open.
  const bool holds =
      name == "holder" && said.status == 0 && said.out.find('\n') != std::string::npos;
  std::unique_lock lock(mutex_);
  if (Container* const one = find(id)) {
    one->state = holds ? one->state : "exited";
    one->status = said.status;
    note("run " + verb);
  }
  if (holds) {
    awaitWith(lock, connection,
              [&] { return find(id) == nullptr || find(id)->state != "running"; });
  }
}

void ScriptedEngine::wait(Connection& connection, const std::string& id) {
  int status = 0;
  {
    std::unique_lock lock(mutex_);
    const auto over = [&] { return find(id) == nullptr || find(id)->state != "running"; };
    if (!awaitWith(lock, connection, over)) {
      return;
    }
    status = find(id) == nullptr ? 137 : find(id)->status;
  }
  connection.answer(200, Json{{"StatusCode", status}}.dump());
}

}  // namespace vethgate::docker::test
