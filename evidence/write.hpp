// A record made of the logs of live runs. Everything in it is what the logs say; whether that is
// enough is for judge.hpp.
#pragma once

#include <string>
#include <vector>

#include "evidence/folder.hpp"

namespace vethgate::evidence {

// `logs`: their names beneath `folder`. Throws kBadInput for a log that cannot be read, for one
// that does not say what its run was, and for logs of different commits or hosts.
[[nodiscard]] std::string recordOf(const Folder& folder, const std::vector<std::string>& logs);

}  // namespace vethgate::evidence
