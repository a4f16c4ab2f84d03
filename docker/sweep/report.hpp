// A pass in words: a document for programs, events for a log, an exit code. It must not know how
// the pass came about.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "docker/sweep/pass.hpp"

namespace vethgate::docker {

struct PassInfo {
  std::string_view command;  // "sweep" or "reap"
  std::string owner;
  bool dryRun = false;
  std::chrono::milliseconds took{};
};

// One line; docs/documents.md has the fields.
[[nodiscard]] std::string reportJson(const PassInfo& info, const SweepReport& report);
// One event for each container but those that are not due, and sweep.pass with the numbers last.
void logReport(const PassInfo& info, const SweepReport& report);

// kEngine: a removal failed. kDeadline: something due was not tried. kUntouchable: something of
// the owner's stays until somebody looks. The first of these that holds, else kDone.
[[nodiscard]] ExitCode reportCode(const PassInfo& info, const SweepReport& report);
// The one that goes last on stderr, when the code is not kDone.
[[nodiscard]] std::string reportSentence(const PassInfo& info, const SweepReport& report);

}  // namespace vethgate::docker
