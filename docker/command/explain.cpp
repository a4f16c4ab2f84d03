#include "docker/explain/explain.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"

namespace vethgate::docker {

int runExplain(bool json) {
  const std::string policy = readAll(STDIN_FILENO, "policy", kMaxDocumentBytes);
  writeAll(STDOUT_FILENO, json ? explainJson(policy) : explainText(policy));
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace vethgate::docker
