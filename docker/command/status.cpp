#include "docker/status/status.hpp"

#include <unistd.h>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"
#include "docker/command/signals.hpp"
#include "docker/establish/request.hpp"

namespace vethgate::docker {

int runStatus(const StatusOptions& options) {
  const Subject subject =
      readSubject(readAll(STDIN_FILENO, "answer", kMaxDocumentBytes), checkedId(options.job, "JOB"),
                  checkedId(options.owner, "--owner"));
  const Engine engine(options.socket, &takeSignals().first);
  const Status status = examine(engine, subject, options.image, unixNow());
  const std::uint64_t now = unixNow();
  writeAll(STDOUT_FILENO, options.json ? statusJson(status, now) : statusText(status, now));
  if (status.code != ExitCode::kDone) {
    tell("vethgate", statusSentence(status));
  }
  return static_cast<int>(status.code);
}

}  // namespace vethgate::docker
