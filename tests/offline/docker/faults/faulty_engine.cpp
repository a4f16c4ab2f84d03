#include "tests/offline/docker/faults/faulty_engine.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/offline/docker/establish/scripted_engine.hpp"

namespace vethgate::docker::test {
namespace {

constexpr std::size_t kIdDigits = 64;

std::string idOf(unsigned serial, char filler) {
  std::string id = std::to_string(serial);
  id.insert(0, kIdDigits - id.size(), filler);
  return id;
}

std::string message(const std::string& text) { return Json{{"message", text}}.dump(); }

// "vethgate.probe-job-1" → "probe"; those of other jobs keep their names.
std::string shortName(const std::string& name) {
  const std::string end = "-" + kJob;
  if (name == "vethgate" + end) {
    return "holder";
  }
  const std::string start = "vethgate.";
  const bool helper = name.size() > start.size() + end.size() && name.rfind(start, 0) == 0 &&
                      name.compare(name.size() - end.size(), end.size(), end) == 0;
  return helper ? name.substr(start.size(), name.size() - start.size() - end.size()) : name;
}

std::string decoded(const std::string& text) {
  std::string all;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      all += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      all += text[i];
    }
  }
  return all;
}

std::string frame(char stream, const std::string& text) {
  std::string bytes{stream, 0, 0, 0};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>((text.size() >> shift) & 0xffU);
  }
  return bytes + text;
}

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

FaultyEngine::FaultyEngine(std::uint64_t seed, std::function<void()> kill)
    : schedule_(seed), kill_(std::move(kill)) {
  worker_.emplace([this](Connection& connection) { handle(connection, false); });
  sweeper_.emplace([this](Connection& connection) { handle(connection, true); });
}

void FaultyEngine::addForeign(const std::string& name, const Labels& labels) {
  const std::lock_guard lock(mutex_);
  ++foreigners_;
  const Json body{{"Labels", labels}, {"HostConfig", {{"NetworkMode", "bridge"}}}};
  containers_.push_back({idOf(nextId_++, 'f'), name, body, "running", 0, true});
}

bool FaultyEngine::killed() const {
  const std::lock_guard lock(mutex_);
  return wasKilled_;
}

void FaultyEngine::revive() {
  const std::lock_guard lock(mutex_);
  dead_ = false;
}

void FaultyEngine::heal() {
  const std::lock_guard lock(mutex_);
  healthy_ = true;
}

void FaultyEngine::hangUp() {
  std::unique_lock lock(mutex_);
  dead_ = true;
  changed_.wait(lock, [this] { return undecided_ == 0; });
}

void FaultyEngine::settle() {
  const std::lock_guard lock(mutex_);
  for (const auto& deed : std::exchange(later_, {})) {
    deed();
  }
}

void FaultyEngine::forbidSweeping(bool forbidden) {
  const std::lock_guard lock(mutex_);
  sweepingForbidden_ = forbidden;
}

std::vector<std::string> FaultyEngine::left() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const Container& one : containers_) {
    if (!one.foreign) {
      names.push_back(one.name);
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
  {
    const std::lock_guard lock(mutex_);
    if (dead_ && !sweeping) {
      connection.drop();
      return;
    }
    call = callOf(connection.request());
    call.sweeping = sweeping;
    step = healthy_ ? Step{} : schedule_.next(call.name);
    step.kill = step.kill && !sweeping;
    if (step.kill) {
      dead_ = wasKilled_ = true;
    }
    undecided_ += sweeping || call.verb == "attach" ? 0 : 1;
  }
  if (step.kill) {
    kill_();
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
    if (call.verb == "remove" && call.sweeping && sweepingForbidden_) {
      violations_.push_back("a sweep had " + call.target + " removed before its time");
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
                         Json{{"Id", idOf(nextId_++, 'd')}, {"Warnings", Json::array()}}.dump()}
                : Answer{204, ""};
        break;
      case Misdeed::kLie:
        answer = lie(call);
        break;
      default:
        answer = perform(call);
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
  const std::string id = idOf(nextId_++, 'c');
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
                          : Json::parse(decoded(call.query.substr(at + 8))).at("label");
  Json all = Json::array();
  for (const Container& one : containers_) {
    const Json& labels = one.body.at("Labels");
    const bool carries = std::all_of(wanted.begin(), wanted.end(), [&](const Json& pair) {
      const std::string text = pair;
      const auto label = labels.find(text.substr(0, text.find('=')));
      return label != labels.end() && *label == text.substr(text.find('=') + 1);
    });
    if (carries) {
      all.push_back(
          {{"Id", one.id}, {"Names", {"/" + one.name}}, {"State", one.state}, {"Labels", labels}});
    }
  }
  if (lying && !all.empty()) {
    // One that is there is left out, and one of somebody else's passes for it.
    Json entry = all.back();
    all.erase(all.size() - 1);
    if (const Container* const other = another(entry.at("Id")); nextId_ % 2 == 0) {
      entry["Id"] = other == nullptr ? idOf(nextId_++, 'd') : other->id;
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
