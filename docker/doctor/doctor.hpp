// `vethgate doctor`: whether this host can hold a job, and what is to be done where it cannot. What
// the kernel can do is tried, never concluded from a version. It must not know netlink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "docker/engine/engine.hpp"

namespace vethgate::docker {

enum class Level { kOk, kWarn, kFail };

struct Check {
  std::string name;  // "engine", "runtimes", …
  Level level = Level::kOk;
  std::string found;   // one sentence
  std::string remedy;  // empty where nothing is to be done
};

// Every check in order. Makes one contained namespace on the engine's default network, as
// `vethgate establish` would, and removes it. `now`: unix seconds. Does not throw for what it
// checks; without an engine only what needs none is looked at.
[[nodiscard]] std::vector<Check> examineHost(const Engine& engine, const std::string& image,
                                             std::uint64_t now);

// The judgements, each of what was found alone.
[[nodiscard]] Check judgeVersion(const Version& version);
// What helpers run under, then one check for each runtime that is gVisor's, or one for their
// absence.
[[nodiscard]] std::vector<Check> judgeRuntimes(const Info& info, bool podman);
// `text`: of the sysctl net.netfilter.nf_log_all_netns; nullopt when it cannot be read.
[[nodiscard]] Check judgeLogging(const std::optional<std::string>& text);
// `addresses`: those of a container's link.
[[nodiscard]] Check judgeFamilies(const std::vector<std::string>& addresses);

[[nodiscard]] std::string doctorText(const std::vector<Check>& checks);  // a line for each
// {"checks": [{"check", "level", "found", "remedy"}], "exit": 0}; the remedy is null where there is
// none.
[[nodiscard]] std::string doctorJson(const std::vector<Check>& checks);
// kDone without a failure; kEngine when the engine is what failed, else kUnsupported.
[[nodiscard]] ExitCode doctorCode(const std::vector<Check>& checks);
// For stderr when something failed: the first of that.
[[nodiscard]] std::string doctorSentence(const std::vector<Check>& checks);

}  // namespace vethgate::docker
