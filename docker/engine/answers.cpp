#include "docker/engine/answers.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json.hpp"

namespace vethgate::docker {
namespace {

constexpr std::uint64_t kMaxPid = 1 << 22;  // PID_MAX_LIMIT, linux/threads.h
constexpr std::uint64_t kMaxExitCode = 255;

// The caller has bounded the text already: it is as long as the call allows.
Json parse(const std::string& text) {
  return parseDocument(text, "answer", std::numeric_limits<std::size_t>::max());
}

// A member that may be missing or, as Go writes what is empty, null.
const Json* present(ObjectReader& object, const char* key) {
  const Json* value = object.optional(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

std::string text(ObjectReader& object, const char* key) {
  return asString(object.required(key), object.pathOf(key));
}

std::string textOr(ObjectReader& object, const char* key, const char* otherwise = "") {
  const Json* value = present(object, key);
  return value == nullptr ? otherwise : asString(*value, object.pathOf(key));
}

bool flag(ObjectReader& object, const char* key) {
  return asBool(object.required(key), object.pathOf(key));
}

std::vector<std::string> texts(ObjectReader& object, const char* key) {
  std::vector<std::string> all;
  if (const Json* list = present(object, key); list != nullptr) {
    for (const Json& entry : asArray(*list, object.pathOf(key))) {
      all.push_back(asString(entry, object.pathOf(key)));
    }
  }
  return all;
}

const Json::object_t& members(const Json& value, const std::string& path) {
  if (!value.is_object()) {
    badInput(path + " must be an object, found " + value.type_name());
  }
  return value.get_ref<const Json::object_t&>();
}

std::map<std::string, std::string> textMap(ObjectReader& object, const char* key) {
  std::map<std::string, std::string> all;
  if (const Json* map = present(object, key); map != nullptr) {
    for (const auto& [name, value] : members(*map, object.pathOf(key))) {
      all.emplace(name, asString(value, object.pathOf(key) + "." + name));
    }
  }
  return all;
}

std::string id(ObjectReader& object, const char* key) {
  std::string value = text(object, key);
  if (!isSha256Hex(value)) {
    badInput(object.pathOf(key) + " is no id of 64 hexadecimal digits");
  }
  return value;
}

std::string withoutSlash(std::string name) {
  if (!name.empty() && name.front() == '/') {
    name.erase(0, 1);
  }
  return name;
}

bool isPodman(ObjectReader& version) {
  const Json* components = present(version, "Components");
  if (components == nullptr) {
    return false;
  }
  bool podman = false;
  for (const Json& entry : asArray(*components, version.pathOf("Components"))) {
    ObjectReader component(entry, version.pathOf("Components"));
    podman = podman || text(component, "Name") == "Podman Engine";
  }
  return podman;
}

Network networkOf(const Json& value, const std::string& path) {
  ObjectReader object(value, path);
  Network network;
  network.id = id(object, "Id");
  network.name = text(object, "Name");
  network.driver = text(object, "Driver");
  network.internal = flag(object, "Internal");
  network.ipv6 = flag(object, "EnableIPv6");
  network.options = textMap(object, "Options");
  network.labels = textMap(object, "Labels");
  ObjectReader ipam(object.required("IPAM"), object.pathOf("IPAM"));
  if (const Json* list = present(ipam, "Config"); list != nullptr) {
    for (const Json& entry : asArray(*list, ipam.pathOf("Config"))) {
      ObjectReader subnet(entry, ipam.pathOf("Config"));
      network.subnets.push_back({text(subnet, "Subnet"), textOr(subnet, "Gateway")});
    }
  }
  return network;
}

void readState(const Json& value, const std::string& path, Container& container) {
  ObjectReader state(value, path);
  container.status = text(state, "Status");
  container.started = textOr(state, "StartedAt");
  container.running = flag(state, "Running");
  container.pid = asInteger(state.required("Pid"), state.pathOf("Pid"), 0, kMaxPid);
  container.exitCode =
      asInteger(state.required("ExitCode"), state.pathOf("ExitCode"), 0, kMaxExitCode);
  container.outOfMemory = flag(state, "OOMKilled");
}

void readHostConfig(const Json& value, const std::string& path, Container& container) {
  ObjectReader host(value, path);
  container.networkMode = text(host, "NetworkMode");
  container.runtime = textOr(host, "Runtime");
  container.readOnlyRoot = flag(host, "ReadonlyRootfs");
  container.privileged = flag(host, "Privileged");
  container.capAdd = texts(host, "CapAdd");
  container.capDrop = texts(host, "CapDrop");
  container.securityOptions = texts(host, "SecurityOpt");
}

std::map<std::string, Endpoint> endpoints(const Json& value, const std::string& path) {
  std::map<std::string, Endpoint> all;
  ObjectReader settings(value, path);
  const Json* networks = present(settings, "Networks");
  if (networks == nullptr) {
    return all;
  }
  for (const auto& [name, entry] : members(*networks, settings.pathOf("Networks"))) {
    ObjectReader network(entry, settings.pathOf("Networks") + "." + name);
    Endpoint endpoint;
    endpoint.networkId = textOr(network, "NetworkID");
    endpoint.address = textOr(network, "IPAddress");
    endpoint.gateway = textOr(network, "Gateway");
    endpoint.address6 = textOr(network, "GlobalIPv6Address");
    endpoint.mac = textOr(network, "MacAddress");
    all.emplace(name, std::move(endpoint));
  }
  return all;
}

}  // namespace

Version readVersion(const std::string& answer) {
  const Json document = parse(answer);
  ObjectReader object(document, "answer");
  Version version;
  version.engine = text(object, "Version");
  version.api = text(object, "ApiVersion");
  version.minimumApi = textOr(object, "MinAPIVersion");
  version.kernel = textOr(object, "KernelVersion");
  version.architecture = textOr(object, "Arch");
  version.podman = isPodman(object);
  return version;
}

Info readInfo(const std::string& answer) {
  const Json document = parse(answer);
  ObjectReader object(document, "answer");
  Info info;
  info.version = text(object, "ServerVersion");
  info.kernel = text(object, "KernelVersion");
  info.operatingSystem = textOr(object, "OperatingSystem");
  info.cgroupVersion = textOr(object, "CgroupVersion");
  info.defaultRuntime = text(object, "DefaultRuntime");
  info.securityOptions = texts(object, "SecurityOptions");
  const std::string path = object.pathOf("Runtimes");
  for (const auto& [name, entry] : members(object.required("Runtimes"), path)) {
    ObjectReader runtime(entry, path);
    info.runtimes.push_back({name, textOr(runtime, "path"), textOr(runtime, "runtimeType"),
                             texts(runtime, "runtimeArgs")});
  }
  return info;
}

Image readImage(const std::string& answer) {
  const Json document = parse(answer);
  ObjectReader object(document, "answer");
  Image image{text(object, "Id"), texts(object, "RepoTags")};
  constexpr std::string_view kAlgorithm = "sha256:";
  if (image.id.rfind(kAlgorithm, 0) != 0 || !isSha256Hex(image.id.substr(kAlgorithm.size()))) {
    badInput("answer.Id is no SHA-256 digest");
  }
  return image;
}

Network readNetwork(const std::string& answer) { return networkOf(parse(answer), "answer"); }

std::vector<Network> readNetworks(const std::string& answer) {
  const Json document = parse(answer);
  std::vector<Network> networks;
  for (const Json& entry : asArray(document, "answer")) {
    networks.push_back(networkOf(entry, "answer[" + std::to_string(networks.size()) + "]"));
  }
  return networks;
}

Created readCreated(const std::string& answer) {
  const Json document = parse(answer);
  ObjectReader object(document, "answer");
  return {id(object, "Id"), texts(object, "Warnings")};
}

Container readContainer(const std::string& answer) {
  const Json document = parse(answer);
  ObjectReader object(document, "answer");
  Container container;
  container.id = id(object, "Id");
  container.name = withoutSlash(text(object, "Name"));
  container.image = text(object, "Image");
  container.created = textOr(object, "Created");
  container.resolvConf = textOr(object, "ResolvConfPath");
  readState(object.required("State"), object.pathOf("State"), container);
  readHostConfig(object.required("HostConfig"), object.pathOf("HostConfig"), container);
  ObjectReader config(object.required("Config"), object.pathOf("Config"));
  container.labels = textMap(config, "Labels");
  container.user = textOr(config, "User");
  container.networks =
      endpoints(object.required("NetworkSettings"), object.pathOf("NetworkSettings"));
  return container;
}

std::vector<ContainerSummary> readContainers(const std::string& answer) {
  const Json document = parse(answer);
  std::vector<ContainerSummary> containers;
  for (const Json& entry : asArray(document, "answer")) {
    ObjectReader object(entry, "answer[" + std::to_string(containers.size()) + "]");
    ContainerSummary summary;
    summary.id = id(object, "Id");
    for (std::string& name : texts(object, "Names")) {
      summary.names.push_back(withoutSlash(std::move(name)));
    }
    summary.state = text(object, "State");
    if (const Json* created = present(object, "Created"); created != nullptr) {
      summary.created = asInteger(*created, object.pathOf("Created"), 0,
                                  std::numeric_limits<std::int64_t>::max());
    }
    summary.labels = textMap(object, "Labels");
    containers.push_back(std::move(summary));
  }
  return containers;
}

int readWait(const std::string& answer) {
  const Json document = parse(answer);
  ObjectReader object(document, "answer");
  if (const Json* error = present(object, "Error"); error != nullptr) {
    ObjectReader reason(*error, object.pathOf("Error"));
    if (const std::string message = textOr(reason, "Message"); !message.empty()) {
      badInput("answer.Error is \"" + message + "\"");
    }
  }
  return static_cast<int>(
      asInteger(object.required("StatusCode"), object.pathOf("StatusCode"), 0, kMaxExitCode));
}

std::vector<std::string> readLoad(const std::string& answer) {
  constexpr std::string_view kPrefix = "Loaded image: ";
  constexpr std::string_view kIdPrefix = "Loaded image ID: ";
  std::vector<std::string> names;
  std::size_t start = 0;
  while (start < answer.size()) {
    const std::size_t end = std::min(answer.find('\n', start), answer.size());
    const std::string line = answer.substr(start, end - start);
    start = end + 1;
    if (line.find_first_not_of(" \r\t") == std::string::npos) {
      continue;
    }
    const Json document = parse(line);
    ObjectReader object(document, "answer");
    if (const std::string error = textOr(object, "error"); !error.empty()) {
      badInput("answer.error is \"" + error + "\"");
    }
    std::string said = textOr(object, "stream");
    said.erase(said.find_last_not_of('\n') + 1);
    for (const std::string_view prefix : {kPrefix, kIdPrefix}) {
      if (said.rfind(prefix, 0) == 0) {
        names.push_back(said.substr(prefix.size()));
      }
    }
  }
  if (names.empty()) {
    badInput("the answer does not say that an image was loaded");
  }
  return names;
}

std::string readMessage(const std::string& answer) noexcept {
  try {
    const Json document = parse(answer);
    ObjectReader object(document, "answer");
    return text(object, "message");
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace vethgate::docker
