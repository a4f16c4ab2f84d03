// The subcommands that are more than one call, each in a file of its own. Each writes its answer to
// stdout, and returns the exit code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vethgate::docker {

[[nodiscard]] std::uint64_t unixNow();

[[nodiscard]] int runEstablish(const std::string& socket, const std::string& image);

struct StatusOptions {
  std::string socket;
  std::string image;
  std::string owner;
  std::string job;
  bool json = false;
};
[[nodiscard]] int runStatus(const StatusOptions& options);

[[nodiscard]] int runExplain(bool json);

[[nodiscard]] int runDoctor(const std::string& socket, const std::string& image, bool json);

// `record`: its path; logs are named beneath its folder. `root`: of the programs that the record is
// about, empty where there is none.
[[nodiscard]] int runEvidenceCheck(const std::string& record, const std::string& root, bool json);
[[nodiscard]] int runEvidenceWrite(const std::string& record, const std::vector<std::string>& logs);

struct SweepCommand {
  std::string socket;
  std::string owner;
  bool dryRun = false;
  bool watch = false;
  std::uint64_t interval = 0;  // seconds
};
[[nodiscard]] int runSweep(const SweepCommand& command);
[[nodiscard]] int runReap(const SweepCommand& command);

}  // namespace vethgate::docker
