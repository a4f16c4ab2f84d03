// vethgate-verify: reads a namespace back and says whether it holds exactly what the policy leads
// to. Before it parses its request it gives up every capability but the one that reading takes, and
// every system call that opens, runs or connects to something; the kernel's answers are collected
// as raw bytes, and parsed once that capability and almost every system call are gone as well.
#include <fcntl.h>
#include <linux/capability.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"
#include "confine/confine.hpp"
#include "render/policy.hpp"
#include "render/render.hpp"
#include "verifier/capture.hpp"
#include "verifier/collect.hpp"
#include "verifier/verify.hpp"

namespace vethgate {
namespace {

constexpr std::string_view kProgram = "vethgate-verify";
// Reading back 10,000 prefixes takes well below a second; a kernel that needs longer is not
// answering.
constexpr std::chrono::milliseconds kCollectTime{30'000};

struct Request {
  Policy policy;
  Link link;
};

// Bytes, of which nothing is known but their number.
std::string requestText() { return readAll(STDIN_FILENO, "request", kMaxDocumentBytes); }

// Only for a process that is locked.
Request parseRequest(const std::string& text) {
  const Json document = parseDocument(text, "request");
  ObjectReader reader(document, "request");
  const Json& policy = reader.required("policy");
  const Json& link = reader.required("link");
  reader.finish();
  return {readPolicy(policy), readLink(link, "request.link")};
}

std::vector<std::string> setNames(const Plan& plan) {
  std::vector<std::string> names;
  for (const NetdevRule& rule : plan.netdev.value_or(std::vector<NetdevRule>{})) {
    if (!rule.set.empty()) {
      names.push_back(rule.set);
    }
  }
  return names;
}

// Opened while anything can be, and emptied only when there is something to put into it: an older
// capture outlives a run that fails.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path)
      : fd_(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0644)) {
    if (fd_ < 0) {
      badInput("--capture: " + path +
               " cannot be opened for writing: " + std::generic_category().message(errno));
    }
  }
  ~OutputFile() { close(fd_); }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  void write(const Capture& capture) const {
    if (ftruncate(fd_, 0) != 0 && errno != EINVAL) {  // EINVAL: a pipe, which holds nothing yet
      badInput("--capture: the file cannot be emptied: " + std::generic_category().message(errno));
    }
    writeCapture(fd_, capture);
  }

 private:
  int fd_;
};

Verdict judgeLive(const std::string& captureFile, bool explain) {
  keepOnlyCapabilities({CAP_NET_ADMIN});
  const std::string asked = requestText();
  std::optional<OutputFile> output;
  if (!captureFile.empty()) {
    output.emplace(captureFile);
  }
  const Surroundings surroundings;
  lockSyscalls(SeccompProfile::kCollect);
  const Request request = parseRequest(asked);
  const Plan plan = renderPlan(request.policy, request.link);
  const Capture capture =
      collect(request.link.index, setNames(plan), surroundings, Deadline::after(kCollectTime));
  if (output) {
    output->write(capture);
  }
  dropLastCapabilities();
  lockSyscalls(SeccompProfile::kParse);
  return judge(request.policy, plan, capture, explain);
}

Verdict judgeReplay(const std::string& replayFile, bool explain) {
  keepOnlyCapabilities({});
  const std::string asked = requestText();
  std::string text = readFile(replayFile, "capture", kMaxCaptureBytes);
  lockSyscalls(SeccompProfile::kParse);
  const Request request = parseRequest(asked);
  const Capture capture = readCapture(text);
  text = {};  // twice the size of what was read from it
  return judge(request.policy, renderPlan(request.policy, request.link), capture, explain);
}

int run(int argc, char** argv) {
  CLI::App app{
      "Reads the namespace it runs in and judges it against a policy, both from standard "
      "input: {\"policy\": ..., \"link\": ...}.",
      std::string(kProgram)};
  app.set_version_flag("--version", VETHGATE_VERSION);
  std::string captureFile;
  std::string replayFile;
  auto* const capture =
      app.add_option("--capture", captureFile, "also write what was read to this file");
  app.add_option("--replay", replayFile, "judge such a file instead; opens no socket")
      ->excludes(capture);
  bool explain = false;
  app.add_flag(
      "--explain", explain,
      "print, for people, where each kind of packet may go, instead of the verdict document");
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    badInput(error.what());
  }
  const Verdict verdict =
      replayFile.empty() ? judgeLive(captureFile, explain) : judgeReplay(replayFile, explain);
  writeAll(STDOUT_FILENO, explain ? verdict.reach : verdictText(verdict));
  tell(kProgram, verdictSentence(verdict));
  return static_cast<int>(verdict.code);
}

}  // namespace
}  // namespace vethgate

int main(int argc, char** argv) {
  return vethgate::runMain(vethgate::kProgram, [&] { return vethgate::run(argc, argv); });
}
