#include "docker/engine/engine.hpp"

#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <system_error>
#include <utility>

#include "base/digest.hpp"
#include "docker/engine/answers.hpp"
#include "docker/engine/requests.hpp"
#include "docker/engine/transport.hpp"

namespace vethgate::docker {
namespace {

constexpr int kOk = 200;
constexpr int kCreated = 201;
constexpr int kNoContent = 204;
constexpr int kNotFound = 404;
// An interrupted create is awaited for so long all the same: what was answered is known by its id,
// and what was not stays owed. Docker answers within half a second.
constexpr std::chrono::milliseconds kCreateGrace{2'000};

struct FileClose {
  void operator()(std::FILE* file) const noexcept { static_cast<void>(std::fclose(file)); }
};

std::string call(const char* verb, const std::string& name) {
  return std::string(verb) + " \"" + quoted(name) + "\"";
}

Request get(std::string call, std::string path, std::size_t maxBytes = kMaxObjectBytes) {
  Request request;
  request.call = std::move(call);
  request.path = std::move(path);
  request.maxAnswerBytes = maxBytes;
  return request;
}

Request post(std::string call, std::string path, std::string json = {}) {
  Request request = get(std::move(call), std::move(path));
  request.method = "POST";
  request.json = std::move(json);
  return request;
}

// The body of an answer with the status `expected`. `object` is what the call asks for, so that a
// 404 can be about it; empty when it asks for none.
std::string require(const Peer& peer, const Request& request, int expected,
                    const std::string& object, const Deadline& deadline) {
  Response response = exchange(peer, request, deadline);
  if (response.status == expected) {
    return std::move(response.body);
  }
  const std::string message = readMessage(response.body);
  const bool absent = response.status == kNotFound && namesObject(message, object);
  throw EngineFailure(ExitCode::kEngine, absent ? Outcome::kAbsent : Outcome::kRefused,
                      response.status,
                      sentence(peer, request.call) + "status " + std::to_string(response.status) +
                          " where " + std::to_string(expected) + " is expected: \"" +
                          quoted(message.empty() ? response.body : message) + "\"");
}

// `read`'s value of an answer; one that it does not understand is no answer.
template <class Read>
auto understood(const Peer& peer, const Request& request, const std::string& body,
                const Read& read) {
  try {
    return read(body);
  } catch (const Failure& failure) {
    throw EngineFailure(
        ExitCode::kEngine, Outcome::kUnanswered, 0,
        sentence(peer, request.call) + "the answer is not understood: " + quoted(failure.what()));
  }
}

template <class Value, class Read>
std::optional<Value> find(const Peer& peer, const Request& request, const std::string& object,
                          const Deadline& deadline, const Read& read) {
  try {
    return understood(peer, request, require(peer, request, kOk, object, deadline), read);
  } catch (const EngineFailure& failure) {
    if (failure.outcome() == Outcome::kAbsent) {
      return std::nullopt;
    }
    throw;
  }
}

[[noreturn]] void refuseAnother(const Peer& peer, const Request& request,
                                const std::string& found) {
  throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0,
                      sentence(peer, request.call) + "the answer is about another object, \"" +
                          quoted(found) + "\"");
}

std::string fileError(const std::string& file) {
  return "the image " + file + " cannot be read: " + std::generic_category().message(errno);
}

}  // namespace

Engine::Engine(std::string socket, const Interrupt* interrupt)
    : peer_{std::move(socket), interrupt} {
  const std::string& path = peer_.socket;
  constexpr std::size_t kMostBytes = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.front() != '/' || path.size() > kMostBytes) {
    badInput("the engine's socket \"" + quoted(path) + "\" is no absolute path of at most " +
             std::to_string(kMostBytes) + " bytes");
  }
}

void Engine::ping(const Deadline& deadline) const {
  const std::string body = require(peer_, get("ping", "/_ping"), kOk, "", deadline);
  if (body != "OK") {
    throw EngineFailure(
        ExitCode::kEngine, Outcome::kUnanswered, 0,
        sentence(peer_, "ping") + "\"" + quoted(body) + R"(" where "OK" is expected)");
  }
}

Version Engine::version(const Deadline& deadline) const {
  const Request request = get("version", "/version");
  return understood(peer_, request, require(peer_, request, kOk, "", deadline), readVersion);
}

Info Engine::info(const Deadline& deadline) const {
  const Request request = get("info", "/info");
  return understood(peer_, request, require(peer_, request, kOk, "", deadline), readInfo);
}

std::optional<Image> Engine::findImage(const std::string& name, const Deadline& deadline) const {
  const Request request =
      get(call("inspect image", name), "/images/" + checkedImage(name) + "/json");
  return find<Image>(peer_, request, name, deadline, readImage);
}

std::vector<std::string> Engine::loadImage(const std::string& tarFile,
                                           const Deadline& deadline) const {
  const std::unique_ptr<std::FILE, FileClose> file(std::fopen(tarFile.c_str(), "rbe"));
  struct stat status {};
  if (file == nullptr || fstat(fileno(file.get()), &status) != 0) {
    badInput(fileError(tarFile));
  }
  if (!S_ISREG(status.st_mode) || status.st_size <= 0 ||
      static_cast<std::uint64_t>(status.st_size) > kMaxImageBytes) {
    badInput("the image " + tarFile + " is no file of at most " + std::to_string(kMaxImageBytes) +
             " bytes");
  }
  Request request = post(call("load image", tarFile), "/images/load?quiet=true");
  request.upload = file.get();
  request.uploadBytes = static_cast<std::uint64_t>(status.st_size);
  return understood(peer_, request, require(peer_, request, kOk, "", deadline), readLoad);
}

std::optional<Network> Engine::findNetwork(const std::string& name,
                                           const Deadline& deadline) const {
  const Request request =
      get(call("inspect network", name), "/networks/" + checkedName(name, "network"));
  std::optional<Network> network = find<Network>(peer_, request, name, deadline, readNetwork);
  if (network && network->name != name && network->id != name) {
    refuseAnother(peer_, request, network->name);
  }
  return network;
}

std::vector<Network> Engine::listNetworks(const Labels& labels, const Deadline& deadline) const {
  const Request request = get("list networks", "/networks?" + labelFilter(labels), kMaxListBytes);
  return understood(peer_, request, require(peer_, request, kOk, "", deadline), readNetworks);
}

Created Engine::createContainer(const ContainerSpec& spec, const Deadline& deadline) const {
  Request request =
      post(call("create container", spec.name),
           "/containers/create?name=" + checkedName(spec.name, "container"), createBody(spec));
  request.afterInterrupt = kCreateGrace;
  return understood(peer_, request, require(peer_, request, kCreated, "", deadline), readCreated);
}

void Engine::startContainer(const std::string& container, const Deadline& deadline) const {
  static_cast<void>(
      require(peer_, post(call("start container", container), containerPath(container, "/start")),
              kNoContent, container, deadline));
}

int Engine::waitContainer(const std::string& container, const Deadline& deadline) const {
  const Request request = post(call("wait for container", container),
                               containerPath(container, "/wait?condition=not-running"));
  return understood(peer_, request, require(peer_, request, kOk, container, deadline), readWait);
}

void Engine::killContainer(const std::string& container, const Deadline& deadline) const {
  static_cast<void>(require(
      peer_,
      post(call("kill container", container), containerPath(container, "/kill?signal=SIGKILL")),
      kNoContent, container, deadline));
}

Removal Engine::removeContainer(const std::string& container, const Deadline& deadline) const {
  Request request =
      get(call("remove container", container), containerPath(container, "?force=true&v=true"));
  request.method = "DELETE";
  try {
    static_cast<void>(require(peer_, request, kNoContent, container, deadline));
    return Removal::kRemoved;
  } catch (const EngineFailure& failure) {
    if (failure.outcome() == Outcome::kAbsent) {
      return Removal::kAbsent;
    }
    throw;
  }
}

std::optional<Container> Engine::findContainer(const std::string& container,
                                               const Deadline& deadline) const {
  const Request request =
      get(call("inspect container", container), containerPath(container, "/json"));
  std::optional<Container> found =
      find<Container>(peer_, request, container, deadline, readContainer);
  if (found && found->id != container && found->name != container) {
    refuseAnother(peer_, request, found->name);
  }
  return found;
}

std::vector<ContainerSummary> Engine::listContainers(const Labels& labels,
                                                     const Deadline& deadline) const {
  const Request request =
      get("list containers", "/containers/json?all=true&" + labelFilter(labels), kMaxListBytes);
  std::vector<ContainerSummary> containers =
      understood(peer_, request, require(peer_, request, kOk, "", deadline), readContainers);
  // An engine that ignores the filter lists somebody else's as well.
  std::erase_if(containers, [&](const ContainerSummary& container) {
    return !std::all_of(labels.begin(), labels.end(), [&](const auto& label) {
      const auto found = container.labels.find(label.first);
      return found != container.labels.end() && found->second == label.second;
    });
  });
  return containers;
}

Attachment Engine::attach(const std::string& container, bool withInput,
                          const Deadline& deadline) const {
  return {peer_, container, withInput, deadline};
}

}  // namespace vethgate::docker
