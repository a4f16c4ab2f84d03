// Requests as the API spells them: paths, queries and bodies. Pure; it must not know how they are
// sent. Every name is checked here, so that none can lead to another object or another call.
#pragma once

#include <string>
#include <vector>

#include "docker/engine/types.hpp"

namespace vethgate::docker {

// What a container or network may be called, and every id: [a-zA-Z0-9][a-zA-Z0-9_.-]*, at most 128
// characters. Returns it; throws Failure(kBadInput) for another.
[[nodiscard]] const std::string& checkedName(const std::string& name, const std::string& what);
// A reference to an image: name, tag and digest of letters, digits and "_.-:/@", without an empty,
// "." or ".." part.
[[nodiscard]] const std::string& checkedImage(const std::string& name);

// The path of `name`'s resource, e.g. containerPath(id, "/start").
[[nodiscard]] std::string containerPath(const std::string& name, const char* rest);

// "no-new-privileges", "seccomp={…}": docker's record repeats them word for word.
[[nodiscard]] std::vector<std::string> securityOptions(const ContainerSpec& spec);
[[nodiscard]] std::string createBody(const ContainerSpec& spec);
// The query that selects objects which carry all of `labels`, percent-encoded: `filters=…`.
[[nodiscard]] std::string labelFilter(const Labels& labels);
[[nodiscard]] std::string percentEncoded(const std::string& text);

// Whether the message of a 404 is about `name`: names it as a whole word. A name that is itself a
// word of the engines' sentences ("container") proves nothing.
[[nodiscard]] bool namesObject(const std::string& message, const std::string& name);

}  // namespace vethgate::docker
