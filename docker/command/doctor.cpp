#include "docker/doctor/doctor.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"
#include "docker/command/signals.hpp"

namespace vethgate::docker {

int runDoctor(const std::string& socket, const std::string& image, bool json) {
  const Engine engine(socket, &takeSignals().first);
  const std::vector<Check> checks = examineHost(engine, image, unixNow());
  if (engine.interrupted()) {
    throw Failure(ExitCode::kDeadline, "a signal ended the examination");
  }
  writeAll(STDOUT_FILENO, json ? doctorJson(checks) : doctorText(checks));
  const ExitCode code = doctorCode(checks);
  if (code != ExitCode::kDone) {
    tell("vethgate", doctorSentence(checks));
  }
  return static_cast<int>(code);
}

}  // namespace vethgate::docker
