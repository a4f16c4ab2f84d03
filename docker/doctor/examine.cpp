// Asks the engine and tries the kernel.
#include <algorithm>
#include <array>
#include <random>

#include "base/json.hpp"
#include "base/program.hpp"
#include "docker/doctor/doctor.hpp"
#include "docker/establish/establish.hpp"
#include "docker/establish/request.hpp"

namespace vethgate::docker {
namespace {

// Podman's service asks every container for its state before it says its version, and waits for one
// that is being removed: half a minute was seen.
constexpr std::chrono::milliseconds kAskTime{60'000};
constexpr std::uint64_t kTrialSeconds = 120;
constexpr const char* kOwner = "vethgate-doctor";
constexpr const char* kLogSysctl = "/proc/sys/net/netfilter/nf_log_all_netns";
constexpr std::size_t kMaxSysctlBytes = 64;

// From everything that a policy may ask for to the least that holds gVisor.
struct Trial {
  const char* what;
  const char* policy;
};
constexpr std::array kTrials{
    Trial{
        "all layers, and logging",
        R"({"version": 1, "log": {"rate": "6/minute", "burst": 12}, "resolvers": ["192.0.2.53"]})"},
    Trial{"all layers, without \"log\"", R"({"version": 1, "resolvers": ["192.0.2.53"]})"},
    Trial{R"("layers": ["iptables", "flower"], without "log")",
          R"({"version": 1, "resolvers": ["192.0.2.53"], "layers": ["iptables", "flower"]})"},
    Trial{R"("layers": ["iptables", "netdev"], without "log")",
          R"({"version": 1, "resolvers": ["192.0.2.53"], "layers": ["iptables", "netdev"]})"}};

std::string freshJob() {
  std::random_device source;
  return "doctor-" + std::to_string(source());
}

Json requestFor(const std::string& job, const Trial& trial, bool podman, std::uint64_t now) {
  return {{"version", 1},
          {"job", job},
          {"owner", kOwner},
          {"network", podman ? "podman" : "bridge"},
          {"deadline", now + kTrialSeconds},
          {"policy", Json::parse(trial.policy)}};
}

// One namespace, made, proved and removed; its link's addresses.
struct Tried {
  std::vector<std::string> addresses;
  std::vector<std::string> unchecked;
};
Tried attempt(const Engine& engine, const Trial& trial, const std::string& image, bool podman,
              std::uint64_t now) {
  const std::string job = freshJob();
  const EstablishRequest request = readRequest(requestFor(job, trial, podman, now).dump(), image);
  const Established made = establish(engine, request, now);
  // Whatever interrupts the examination.
  static_cast<void>(release(Engine(engine.socket()), kOwner, job));
  Tried tried;
  for (const Json& address : made.verdict.at("link").at("addresses")) {
    tried.addresses.push_back(address.get<std::string>());
  }
  for (const Json& sentence : made.verdict.value("unchecked", Json::array())) {
    tried.unchecked.push_back(sentence.get<std::string>());
  }
  return tried;
}

void tryKernel(const Engine& engine, const std::string& image, bool podman, std::uint64_t now,
               std::vector<Check>& checks) {
  constexpr const char* kName = "kernel";
  std::string lacking;
  for (const Trial& trial : kTrials) {
    try {
      const Tried tried = attempt(engine, trial, image, podman, now);
      Check check{kName, Level::kOk,
                  std::string("a namespace was made, proved and removed: ") + trial.what, ""};
      if (!lacking.empty()) {
        check.level = Level::kWarn;
        check.found += "; with more: " + lacking;
        check.remedy = std::string("load what is missing, or write policies with ") + trial.what;
      }
      checks.push_back(std::move(check));
      for (const std::string& sentence : tried.unchecked) {
        checks.push_back(
            {kName, Level::kWarn, sentence, "weigh it: a verdict on this host leaves that open"});
      }
      checks.push_back(judgeFamilies(tried.addresses));
      return;
    } catch (const Failure& failure) {
      if (lacking.empty()) {
        lacking = failure.what();
      }
      if (failure.code() != ExitCode::kUnsupported) {
        const bool engineFailed =
            failure.code() == ExitCode::kEngine || failure.code() == ExitCode::kDeadline;
        checks.push_back({engineFailed ? "engine" : kName, Level::kFail, failure.what(),
                          "`vethgate establish` fails in the same way: see the step it names"});
        return;
      }
    }
  }
  checks.push_back({kName, Level::kFail, lacking,
                    "load the kernel's module for it, or take another kernel or image"});
}

void askEngine(const Engine& engine, const std::string& image, std::uint64_t now,
               std::vector<Check>& checks) {
  const Version version = engine.version(Deadline::after(kAskTime));
  checks.push_back(judgeVersion(version));
  if (checks.back().level == Level::kFail) {
    return;
  }
  const std::vector<Check> runtimes =
      judgeRuntimes(engine.info(Deadline::after(kAskTime)), version.podman);
  checks.insert(checks.end(), runtimes.begin(), runtimes.end());
  const std::optional<Image> found = engine.findImage(image, Deadline::after(kAskTime));
  if (!found) {
    checks.push_back({"image", Level::kFail, "the engine has no image " + image,
                      "`./run image`, then `docker load` or `podman load` of vethgate-image.tar"});
    return;
  }
  checks.push_back({"image", Level::kOk, image + " is " + found->id, ""});
  // A namespace under a runtime that holders must not have would be no trial.
  if (runtimes.front().level != Level::kFail) {
    tryKernel(engine, image, version.podman, now, checks);
  }
}

}  // namespace

std::vector<Check> examineHost(const Engine& engine, const std::string& image, std::uint64_t now) {
  std::vector<Check> checks;
  try {
    askEngine(engine, image, now, checks);
  } catch (const Failure& failure) {
    checks.insert(checks.begin(), {"engine", Level::kFail, failure.what(),
                                   "start the engine, or name its socket with --engine"});
  }
  std::optional<std::string> logging;
  try {
    logging = readFile(kLogSysctl, "sysctl", kMaxSysctlBytes);
  } catch (const Failure&) {
    // Not there, or not in this namespace: judged below.
  }
  checks.push_back(judgeLogging(logging));
  return checks;
}

}  // namespace vethgate::docker
