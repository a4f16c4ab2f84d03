// What the engine does for each call, when it does it.
#include <algorithm>
#include <chrono>

#include "tests/offline/docker/establish/scripted_engine.hpp"
#include "tests/offline/docker/faults/faulty_engine.hpp"

namespace vethgate::docker::test {
namespace {

// What vethgate's own programs say; they are asked the same by nearly every schedule.
std::string programOutput(const std::string& verb, const std::string& input) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& text = known[verb + input];
  if (text.empty()) {
    if (verb == "host") {
      text = R"({"own":["192.0.2.10"],"onLink":["192.0.2.0/24"]})";
    } else if (verb == "holder") {
      text = Json{{"host", {"172.17.0.1"}}, {"link", jobLink()}}.dump() + "\n";
    } else {
      text = (verb == "apply" ? applyAnswer(input) : contained(input)).dump();
    }
  }
  return text;
}

}  // namespace

FaultyEngine::Answer FaultyEngine::perform(const Call& call) {
  if (call.verb == "version") {
    return {200, R"({"Version":"20.10.24","ApiVersion":"1.41"})"};
  }
  if (call.verb == "info") {
    return {
        200,
        R"({"ServerVersion":"1","KernelVersion":"6.1","DefaultRuntime":"runc","Runtimes":{"runc":{"path":"runc"}}})"};
  }
  if (call.verb == "image") {
    return {200, Json{{"Id", "sha256:" + std::string(kIdDigits, '1')}}.dump()};
  }
  if (call.verb == "network") {
    return {200, Json{{"Id", std::string(kIdDigits, '2')},
                      {"Name", "jobs"},
                      {"Driver", "bridge"},
                      {"Internal", false},
                      {"EnableIPv6", false},
                      {"IPAM", {{"Config", {{{"Subnet", "172.19.0.0/16"}}}}}}}
                     .dump()};
  }
  if (call.verb == "list") {
    return list(call, false);
  }
  if (call.verb == "create") {
    return create(call);
  }
  const Container* const one = find(call.target);
  if (one == nullptr) {
    return {404, message("No such container: " + call.target)};
  }
  if (call.verb == "start") {
    return start(call);
  }
  if (call.verb == "remove") {
    return remove(call);
  }
  if (call.verb == "wait") {
    return {};
  }
  const bool running = one->state == "running";
  Json host{{"ReadonlyRootfs", true}, {"Privileged", false}};
  host.update(one->body.at("HostConfig"));
  return {200, Json{{"Id", one->id},
                    {"Name", "/" + one->name},
                    {"Image", one->body.value("Image", "sha256:0")},
                    {"Created", "2023-11-14T22:13:20Z"},
                    {"State",
                     {{"Status", one->state},
                      {"Running", running},
                      {"StartedAt", running ? "2023-11-14T22:13:20Z" : "0001-01-01T00:00:00Z"},
                      {"Pid", running ? 7 : 0},
                      {"ExitCode", one->status},
                      {"OOMKilled", false}}},
                    {"HostConfig", host},
                    {"Config",
                     {{"Labels", one->body.at("Labels")}, {"User", one->body.value("User", "")}}},
                    {"NetworkSettings", {{"Networks", {{"bridge", Json::object()}}}}}}
                   .dump()};
}

FaultyEngine::Answer FaultyEngine::create(const Call& call) {
  if (find(call.target) != nullptr) {
    return {409, message("Conflict. The name \"/" + call.target + "\" is already in use")};
  }
  const std::string id = paddedId(nextId_++, 'c');
  containers_.push_back({id, call.target, Json::parse(call.body)});
  return {201, Json{{"Id", id}, {"Warnings", Json::array()}}.dump()};
}

FaultyEngine::Answer FaultyEngine::start(const Call& call) {
  Container& one = *find(call.target);
  touch(one, "started");
  const std::string mode = one.body.at("HostConfig").at("NetworkMode");
  if (mode.rfind("container:", 0) == 0) {
    const Container* const joined = find(mode.substr(10));
    if (joined == nullptr || joined->state != "running") {
      return {409, message("cannot join network of a non running container")};
    }
    touch(*joined, "joined by " + one.name);
  }
  if (one.state != "created") {
    return {304, ""};
  }
  one.state = "running";
  changed_.notify_all();
  return {204, ""};
}

FaultyEngine::Answer FaultyEngine::remove(const Call& call) {
  const Container one = *find(call.target);
  touch(one, "removed");
  std::erase_if(containers_, [&](const Container& other) { return other.id == one.id; });
  changed_.notify_all();
  return {204, ""};
}

FaultyEngine::Answer FaultyEngine::list(const Call& call, bool lying) {
  const std::size_t at = call.query.find("filters=");
  const Json wanted = at == std::string::npos
                          ? Json::array()
                          : Json::parse(percentDecoded(call.query.substr(at + 8))).at("label");
  Json all = Json::array();
  for (const Container& one : containers_) {
    const Json& labels = one.body.at("Labels");
    if (carries(labels, wanted)) {
      all.push_back(
          {{"Id", one.id}, {"Names", {"/" + one.name}}, {"State", one.state}, {"Labels", labels}});
    }
  }
  if (lying && !all.empty()) {
    // One that is there is left out, and one of somebody else's passes for it.
    Json entry = all.back();
    all.erase(all.size() - 1);
    if (const Container* const other = another(entry.at("Id")); nextId_ % 2 == 0) {
      entry["Id"] = other == nullptr ? paddedId(nextId_++, 'd') : other->id;
      all.push_back(entry);
    }
  }
  return {200, all.dump()};
}

FaultyEngine::Answer FaultyEngine::lie(const Call& call) {
  if (call.verb == "list") {
    return list(call, true);
  }
  Answer answer = perform(call);
  const Container* const other = another(call.target);
  if (call.verb == "create" && answer.status == 201 && other != nullptr) {
    answer.body = Json{{"Id", other->id}, {"Warnings", Json::array()}}.dump();
  } else if (call.verb == "inspect" && other != nullptr) {
    Call about = call;
    about.target = other->id;
    answer = perform(about);
  }
  return answer;
}

bool FaultyEngine::awaitWith(std::unique_lock<std::mutex>& lock, const Connection& connection,
                             const std::function<bool()>& holds) {
  constexpr std::chrono::milliseconds kLook{10};
  while (!holds()) {
    if (connection.stopping() || dead_) {
      return false;
    }
    changed_.wait_for(lock, kLook);
  }
  return true;
}

void FaultyEngine::wait(Connection& connection, const Call& call) {
  int status = 0;
  {
    std::unique_lock lock(mutex_);
    const auto over = [&] {
      const Container* const one = find(call.target);
      return one == nullptr || one->state != "running";
    };
    if (!awaitWith(lock, connection, over)) {
      return;
    }
    const Container* const one = find(call.target);
    status = one == nullptr ? 137 : one->status;
  }
  connection.answer(200, Json{{"StatusCode", status}}.dump());
}

void FaultyEngine::attach(Connection& connection, const Call& call, const Step& step) {
  switch (step.misdeed) {
    case Misdeed::kNone:
    case Misdeed::kResetAfter:
    case Misdeed::kSilenceAfter:
    case Misdeed::kHalf:
      break;
    case Misdeed::kSilence:
      connection.holdUntilClientLeaves();
      return;
    case Misdeed::kRefuse:
    case Misdeed::kRefuseLater:
      connection.answer(step.status, message("the engine is unwell"));
      return;
    default:
      connection.drop();
      return;
  }
  Container before;
  {
    const std::lock_guard lock(mutex_);
    const Container* const one = find(call.target);
    if (one == nullptr) {
      connection.answer(404, message("No such container: " + call.target));
      return;
    }
    touch(*one, "attached to");
    before = *one;
  }
  connection.send("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
  {
    std::unique_lock lock(mutex_);
    const auto begun = [&] {
      const Container* const one = find(before.id);
      return one == nullptr || one->state != "created";
    };
    if (!awaitWith(lock, connection, begun) || find(before.id) == nullptr) {
      return;
    }
  }
  const std::string verb = shortName(before.name);
  const std::string input = before.body.value("OpenStdin", false) ? connection.receiveToEnd() : "";
  std::string said;
  int status = 0;
  try {
    said = programOutput(verb, input);
  } catch (const std::exception&) {
    status = 2;  // its input was cut off
  }
  {
    const std::lock_guard lock(mutex_);
    Container* const one = find(before.id);
    if (one == nullptr) {
      return;
    }
    const std::string mode = one->body.at("HostConfig").at("NetworkMode");
    if (status == 0 && verb == "apply") {
      applied_.insert(mode.substr(mode.find(':') + 1));
    } else if (status == 0 && verb == "verify" &&
               applied_.count(mode.substr(mode.find(':') + 1)) != 0) {
      judged_.insert(mode.substr(mode.find(':') + 1));
    }
    if (verb != "holder") {  // which goes on
      one->state = "exited";
      one->status = status;
    }
    changed_.notify_all();
  }
  const std::string bytes = frame(1, said);
  switch (step.misdeed) {
    case Misdeed::kResetAfter:
      connection.drop();
      break;
    case Misdeed::kSilenceAfter:
      connection.holdUntilClientLeaves();
      break;
    case Misdeed::kHalf:
      connection.send(bytes.substr(0, bytes.size() / 2));
      break;
    default:
      connection.send(bytes);
  }
}

}  // namespace vethgate::docker::test
