#include "docker/doctor/doctor.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"

namespace vethgate::docker {

int runDoctor(const std::string& socket, const std::string& image, bool json) {
  const std::vector<Check> checks = examineHost(Engine(socket), image, unixNow());
  writeAll(STDOUT_FILENO, json ? doctorJson(checks) : doctorText(checks));
  const ExitCode code = doctorCode(checks);
  if (code != ExitCode::kDone) {
    tell("vethgate", doctorSentence(checks));
  }
  return static_cast<int>(code);
}

}  // namespace vethgate::docker
