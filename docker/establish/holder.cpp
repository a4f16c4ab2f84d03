#include "docker/establish/holder.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "docker/engine/failure.hpp"
#include "docker/engine/requests.hpp"

namespace vethgate::docker {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Failure(ExitCode::kEngine, "the engine's record of the holder: " + what);
}

void expect(bool holds, const char* what, const std::string& found, const std::string& expected) {
  if (!holds) {
    refuse(std::string(what) + " is " + quoted(found) + ", expected " + expected);
  }
}

void expect(const char* what, const std::string& found, const std::string& expected) {
  expect(found == expected, what, found, expected);
}

// A filter's text is thousands of characters long: its beginning and its length.
std::string shown(const std::vector<std::string>& words) {
  constexpr std::size_t kShown = 40;
  std::string text;
  for (const std::string& word : words) {
    text += text.empty() ? "" : ", ";
    text += word.size() <= kShown
                ? word
                : word.substr(0, kShown) + "... (" + std::to_string(word.size()) + " characters)";
  }
  return text.empty() ? "none" : text;
}

void expect(const char* what, const std::vector<std::string>& found,
            const std::vector<std::string>& expected) {
  if (found != expected) {
    refuse(std::string(what) + " are " + quoted(shown(found)) + ", expected " + shown(expected));
  }
}

}  // namespace

void expectHolder(const Container& found, const ContainerSpec& asked, bool podman) {
  expect("the state", found.status, "running");
  expect(!found.privileged, "privileged", "true", "false");
  expect(found.readOnlyRoot, "a read-only root", "false", "true");
  expect(found.capAdd.empty(), "the number of added capabilities",
         std::to_string(found.capAdd.size()), "0");
  // Podman reports an image's name and lists of capabilities, options and networks of its own
  // making: those, and the user beside them, are not compared.
  if (podman) {
    const bool own = found.networkMode != "host" && found.networkMode.rfind("container:", 0) != 0;
    expect(own, "the network mode", found.networkMode, "a network of its own");
    return;
  }
  expect("the network mode", found.networkMode, asked.network);
  expect("the image", found.image, asked.image);
  expect("the user", found.user, asked.user);
  expect("the dropped capabilities", found.capDrop, {"ALL"});
  expect("the security options", found.securityOptions, securityOptions(asked));
  expect(found.networks.size() == 1, "the number of its networks",
         std::to_string(found.networks.size()), "1");
}

void expectSameHolder(const Container& before, const Container& now) {
  expect("the id", now.id, before.id);
  expect("the state", now.status, before.status);
  expect("the process", std::to_string(now.pid), std::to_string(before.pid));
  expect("the time of its start", now.started, before.started);
  expect("the network mode", now.networkMode, before.networkMode);
  expect("the number of its networks", std::to_string(now.networks.size()),
         std::to_string(before.networks.size()));
}

}  // namespace vethgate::docker
