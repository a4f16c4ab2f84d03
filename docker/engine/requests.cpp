#include "docker/engine/requests.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "docker/engine/failure.hpp"

namespace vethgate::docker {
namespace {

constexpr std::size_t kMaxName = 128;
constexpr std::size_t kMaxImageName = 512;

bool isAlphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool isNameCharacter(char c) { return isAlphanumeric(c) || c == '_' || c == '.' || c == '-'; }

// Words that docker 20.10 to 28 and podman 4 and 5 use to say that an object is absent.
constexpr std::array kSentenceWords{
    "a",   "by",     "cannot", "container", "error", "exist",   "failed", "find",    "found",
    "get", "id",     "image",  "is",        "known", "locally", "name",   "network", "no",
    "not", "object", "or",     "such",      "the",   "to",      "unable", "with"};

bool isSentenceWord(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::find(kSentenceWords.begin(), kSentenceWords.end(), word) != kSentenceWords.end();
}

bool hasOddPart(const std::string& path) {
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part(path.data() + start, end - start);
    if (part.empty() || part == "." || part == "..") {
      return true;
    }
    if (end == path.size()) {
      return false;
    }
    start = end + 1;
  }
}

}  // namespace

const std::string& checkedName(const std::string& name, const std::string& what) {
  if (name.empty() || name.size() > kMaxName || !isAlphanumeric(name.front()) ||
      !std::all_of(name.begin(), name.end(), isNameCharacter)) {
    badInput("the " + what + " \"" + quoted(name) +
             "\" is no name that a container engine accepts: letters, digits and \"_.-\", a letter "
             "or digit first, at most 128 characters");
  }
  return name;
}

const std::string& checkedImage(const std::string& name) {
  const auto accepted = [](char c) {
    return isNameCharacter(c) || c == ':' || c == '/' || c == '@';
  };
  if (name.empty() || name.size() > kMaxImageName || !isAlphanumeric(name.front()) ||
      !std::all_of(name.begin(), name.end(), accepted) || hasOddPart(name)) {
    badInput("the image \"" + quoted(name) + "\" is no name that a container engine accepts");
  }
  return name;
}

std::string containerPath(const std::string& name, const char* rest) {
  return "/containers/" + checkedName(name, "container") + rest;
}

std::string percentEncoded(const std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (isNameCharacter(c)) {
      encoded += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 0xf]};
    }
  }
  return encoded;
}

std::string labelFilter(const Labels& labels) {
  Json wanted = Json::array();
  for (const auto& [key, value] : labels) {
    std::string label = key;
    label.append("=").append(value);
    wanted.push_back(std::move(label));
  }
  return "filters=" + percentEncoded(canonicalText(Json{{"label", std::move(wanted)}}));
}

std::vector<std::string> securityOptions(const ContainerSpec& spec) {
  std::vector<std::string> options{"no-new-privileges"};
  if (!spec.seccomp.empty()) {
    options.push_back("seccomp=" + spec.seccomp);
  }
  return options;
}

std::string createBody(const ContainerSpec& spec) {
  Json host{
      {"NetworkMode", spec.network},
      {"ReadonlyRootfs", true},
      {"Privileged", false},
      {"CapDrop", {"ALL"}},
      {"SecurityOpt", securityOptions(spec)},
      {"RestartPolicy", {{"Name", "no"}}},
      // What helpers say may name addresses of the host: it goes to the attached client alone.
      {"LogConfig", {{"Type", "none"}, {"Config", Json::object()}}}};
  if (!spec.capabilities.empty()) {
    host["CapAdd"] = spec.capabilities;
  }
  if (!spec.extraHosts.empty()) {
    host["ExtraHosts"] = spec.extraHosts;
  }
  if (!spec.runtime.empty()) {
    host["Runtime"] = spec.runtime;
  }
  if (spec.memoryBytes != 0) {
    host["Memory"] = spec.memoryBytes;
  }
  if (spec.processes != 0) {
    host["PidsLimit"] = spec.processes;
  }
  Json body{{"Image", checkedImage(spec.image)},
            {"Entrypoint", spec.command},
            {"Cmd", Json::array()},
            {"Labels", spec.labels},
            {"Tty", false},
            {"AttachStdin", spec.takesInput},
            {"AttachStdout", true},
            {"AttachStderr", true},
            {"OpenStdin", spec.takesInput},
            {"StdinOnce", spec.takesInput},
            {"HostConfig", std::move(host)}};
  if (!spec.user.empty()) {
    body["User"] = spec.user;
  }
  return canonicalText(body);
}

bool namesObject(const std::string& message, const std::string& name) {
  if (name.empty() || isSentenceWord(name)) {
    return false;
  }
  for (std::size_t at = message.find(name); at != std::string::npos;
       at = message.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool starts = at == 0 || !isNameCharacter(message[at - 1]);
    const bool ends = end == message.size() || !isNameCharacter(message[end]);
    if (starts && ends) {
      return true;
    }
  }
  return false;
}

}  // namespace vethgate::docker
