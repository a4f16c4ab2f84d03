// The engine's answers, from JSON to values. Pure; it must not know where a text came from. Fields
// that nobody asks for are the engine's own business; those that are read must have their type.
// Everything here throws Failure(kBadInput), which the caller turns into "no answer".
#pragma once

#include <string>
#include <vector>

#include "docker/engine/types.hpp"

namespace vethgate::docker {

[[nodiscard]] Version readVersion(const std::string& text);
[[nodiscard]] Info readInfo(const std::string& text);
[[nodiscard]] Image readImage(const std::string& text);
[[nodiscard]] Network readNetwork(const std::string& text);
[[nodiscard]] std::vector<Network> readNetworks(const std::string& text);
[[nodiscard]] Created readCreated(const std::string& text);
[[nodiscard]] Container readContainer(const std::string& text);
[[nodiscard]] std::vector<ContainerSummary> readContainers(const std::string& text);
// The exit status, 0 to 255; a wait that ended with an error of the engine's is refused.
[[nodiscard]] int readWait(const std::string& text);
// The documents, one after another, that loading an image answers with: the names of what was
// loaded.
[[nodiscard]] std::vector<std::string> readLoad(const std::string& text);
// The text of an error answer; empty when it is none.
[[nodiscard]] std::string readMessage(const std::string& text) noexcept;

}  // namespace vethgate::docker
