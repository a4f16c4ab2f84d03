// What was found on a host, judged and put into words. Pure.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>

#include "base/json.hpp"
#include "base/program.hpp"
#include "docker/doctor/doctor.hpp"
#include "docker/establish/helper.hpp"

namespace vethgate::docker {
namespace {

constexpr const char* kEngineCheck = "engine";

// "1.41" as 1 and 41; nullopt for anything else.
std::optional<std::pair<unsigned, unsigned>> apiOf(std::string_view text) {
  std::pair<unsigned, unsigned> api;
  const char* const end = text.data() + text.size();
  const auto major = std::from_chars(text.data(), end, api.first);
  if (major.ec != std::errc{} || major.ptr == end || *major.ptr != '.') {
    return std::nullopt;
  }
  const auto minor = std::from_chars(major.ptr + 1, end, api.second);
  return minor.ec == std::errc{} && minor.ptr == end ? std::optional(api) : std::nullopt;
}

struct Flag {
  std::string name;  // without dashes, in lower case
  std::string value;
};

// runsc's flags are Go's: one dash or two, the value behind '=' or, but for a boolean, in the next
// word (https://pkg.go.dev/flag).
std::vector<Flag> flagsOf(const std::vector<std::string>& arguments) {
  std::vector<Flag> flags;
  for (const std::string& argument : arguments) {
    if (argument.rfind('-', 0) != 0) {
      if (!flags.empty() && flags.back().value.empty()) {
        flags.back().value = argument;
      }
      continue;
    }
    const std::size_t start = argument.find_first_not_of('-');
    if (start == std::string::npos) {
      continue;
    }
    const std::size_t equals = argument.find('=', start);
    Flag flag{argument.substr(start, equals - start),
              equals == std::string::npos ? "" : argument.substr(equals + 1)};
    std::transform(flag.name.begin(), flag.name.end(), flag.name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    flags.push_back(std::move(flag));
  }
  return flags;
}

bool switchedOff(const std::string& value) {
  return value == "false" || value == "FALSE" || value == "False" || value == "f" || value == "F" ||
         value == "0" || value == "off";
}

std::string baseName(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool isGvisor(const Runtime& runtime) {
  return runtime.name.find("runsc") != std::string::npos ||
         baseName(runtime.path).find("runsc") != std::string::npos ||
         runtime.type.find("runsc") != std::string::npos;
}

Check judgeGvisor(const Runtime& runtime, bool podman) {
  Check check{"runtime " + runtime.name, Level::kOk, "no flag that opens a way past the filters",
              ""};
  for (const Flag& flag : flagsOf(runtime.arguments)) {
    const bool xdp = flag.name.find("xdp") != std::string::npos && !switchedOff(flag.value);
    const bool network = flag.name == "network" && (flag.value == "host" || flag.value == "plugin");
    if (xdp || network) {
      return {check.name, Level::kFail,
              "--" + flag.name + (flag.value.empty() ? "" : "=" + flag.value) +
                  (xdp ? ": frames sent through AF_XDP meet no layer"
                       : ": the job's packets are not made by gVisor's own network stack"),
              "take the flag out of the runtime's arguments and restart the engine"};
    }
    if (flag.name == "net-raw" && !switchedOff(flag.value)) {
      check = {check.name, Level::kWarn,
               "--net-raw: a job may write its own headers, which flower and netdev judge and "
               "iptables does not",
               "take the flag out unless jobs need ping"};
    }
  }
  if (check.level == Level::kOk && podman) {
    return {
        check.name, Level::kWarn, "podman does not say with which flags it is started",
        "look for --network and xdp in " + (runtime.path.empty() ? "its wrapper" : runtime.path)};
  }
  if (check.level == Level::kOk && runtime.arguments.empty() && !runtime.type.empty()) {
    return {check.name, Level::kWarn, "a shim's flags are in a file that the engine does not show",
            "look for network and xdp in the shim's configuration"};
  }
  return check;
}

const char* levelWord(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarn:
      return "warn";
    case Level::kFail:
      return "fail";
  }
  return "?";
}

const Check* firstFailure(const std::vector<Check>& checks) {
  const auto found = std::find_if(checks.begin(), checks.end(),
                                  [](const Check& one) { return one.level == Level::kFail; });
  return found == checks.end() ? nullptr : &*found;
}

}  // namespace

Check judgeVersion(const Version& version) {
  const std::string found = std::string(version.podman ? "podman " : "docker ") + version.engine +
                            ", API " + version.api + ", kernel " + version.kernel;
  const auto newest = apiOf(version.api);
  constexpr std::pair<unsigned, unsigned> kNeeded{1, 41};
  const auto oldest =
      version.minimumApi.empty() ? std::optional(kNeeded) : apiOf(version.minimumApi);
  if (!newest || *newest < kNeeded || !oldest || *oldest > kNeeded) {
    return {kEngineCheck, Level::kFail,
            found + ", oldest API " +
                (version.minimumApi.empty() ? "not said" : version.minimumApi) +
                ": 1.41 is not spoken",
            "docker from 20.10 or podman from 4.3, with API 1.41 not switched off"};
  }
  return {kEngineCheck, Level::kOk, found, ""};
}

std::vector<Check> judgeRuntimes(const Info& info, bool podman) {
  std::vector<Check> checks;
  std::string names;
  std::vector<Check> gvisor;
  for (const Runtime& runtime : info.runtimes) {
    names += (names.empty() ? "" : ", ") + runtime.name;
    if (isGvisor(runtime)) {
      gvisor.push_back(judgeGvisor(runtime, podman));
    }
  }
  const bool wrongDefault = podman && info.defaultRuntime.find("runsc") != std::string::npos;
  checks.push_back(
      {"runtimes", Level::kOk, names + "; " + info.defaultRuntime + " unless one is named", ""});
  if (wrongDefault) {
    checks.back().level = Level::kFail;
    checks.back().remedy =
        "give podman's service a default runtime of the host's kernel: holders run under it";
  } else if (!hostRuntime(info)) {
    checks.back().level = Level::kFail;
    checks.back().remedy = "register runc or crun: holder and helpers run under it";
  }
  if (gvisor.empty()) {
    gvisor.push_back({"gvisor", Level::kWarn, "no runtime is runsc: jobs run on the host's kernel",
                      "install gVisor and register runsc with the engine"});
  }
  checks.insert(checks.end(), gvisor.begin(), gvisor.end());
  return checks;
}

Check judgeLogging(const std::optional<std::string>& text) {
  constexpr const char* kName = "logging";
  const std::string value =
      text ? text->substr(0, text->find_last_not_of(" \n") + 1) : std::string();
  if (value == "1") {
    return {kName, Level::kOk, "nf_log_all_netns is 1: log lines of a job's namespace are kept",
            ""};
  }
  constexpr const char* kRemedy =
      "sysctl net.netfilter.nf_log_all_netns=1, or expect nothing of a policy's \"log\"";
  if (value == "0") {
    return {kName, Level::kWarn,
            "nf_log_all_netns is 0: the kernel drops the log lines of a job's namespace", kRemedy};
  }
  return {kName, Level::kWarn,
          text ? "nf_log_all_netns is \"" + printable(value) + "\", expected 0 or 1"
               : "nf_log_all_netns cannot be read here",
          text ? kRemedy : "run this in the host's own network namespace"};
}

Check judgeFamilies(const std::vector<std::string>& addresses) {
  bool v4 = false;
  bool v6 = false;
  for (const std::string& address : addresses) {
    const bool colon = address.find(':') != std::string::npos;
    // Every link that is up has an address of its own in fe80::/10 (RFC 4291 2.5.6).
    v6 = v6 || (colon && address.rfind("fe80:", 0) != 0);
    v4 = v4 || !colon;
  }
  if (!v4) {
    return {"families", Level::kWarn, "a container on the default network has no IPv4 address",
            "look at the engine's default network"};
  }
  return {"families", Level::kOk,
          v6 ? "IPv4 and IPv6 on the default network"
             : "IPv4 alone on the default network; policies hold for both families all the same",
          ""};
}

std::string doctorText(const std::vector<Check>& checks) {
  std::size_t width = 0;
  for (const Check& check : checks) {
    width = std::max(width, check.name.size());
  }
  std::string text;
  for (const Check& check : checks) {
    std::string level = levelWord(check.level);
    level.resize(4, ' ');
    text += level + "  " + printable(check.name) + std::string(width - check.name.size() + 2, ' ') +
            printable(check.found) +
            (check.remedy.empty() ? "" : "; remedy: " + printable(check.remedy)) + "\n";
  }
  return text;
}

std::string doctorJson(const std::vector<Check>& checks) {
  using Ordered = nlohmann::ordered_json;
  Ordered list = Ordered::array();
  for (const Check& check : checks) {
    list.push_back({{"check", check.name},
                    {"level", levelWord(check.level)},
                    {"found", check.found},
                    {"remedy", check.remedy.empty() ? Ordered(nullptr) : Ordered(check.remedy)}});
  }
  const Ordered document = {{"checks", std::move(list)},
                            {"exit", static_cast<int>(doctorCode(checks))}};
  return document.dump(-1, ' ', true, Ordered::error_handler_t::replace) + "\n";
}

ExitCode doctorCode(const std::vector<Check>& checks) {
  const Check* const failed = firstFailure(checks);
  if (failed == nullptr) {
    return ExitCode::kDone;
  }
  return failed->name == kEngineCheck ? ExitCode::kEngine : ExitCode::kUnsupported;
}

std::string doctorSentence(const std::vector<Check>& checks) {
  const Check* const failed = firstFailure(checks);
  return failed == nullptr ? "nothing failed" : failed->name + ": " + failed->found;
}

}  // namespace vethgate::docker
