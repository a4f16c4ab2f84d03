#include "bench/reference.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "tests/live/fixture/process.hpp"

namespace vethgate::bench {
namespace {

namespace fs = std::filesystem;

constexpr const char* kImage = "reference/sidecar:1";
constexpr const char* kMachineName = "reference-machine";
constexpr const char* kRulesTool = "/usr/sbin/xtables-nft-multi";
const fs::path kFolder = "/run/vethgate-bench-reference";

// Both families read the same text, and take their own lines of it.
constexpr const char* kApplyRules =
    "#!/bin/sh\n"
    "cat > /rules && iptables-restore /rules && ip6tables-restore /rules\n";

using Clock = std::chrono::steady_clock;

double millisecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

void addFile(const fs::path& file, const fs::path& root) {
  const fs::path target = root / file.relative_path();
  fs::create_directories(target.parent_path());
  fs::copy_file(fs::canonical(file), target, fs::copy_options::skip_existing);
}

std::vector<fs::path> librariesOf(const fs::path& program) {
  // "libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)", and the loader without an arrow.
  static const std::regex library(R"(\s(/\S+) \(0x)");
  const std::string listed = live::runOrThrow({.argv = {"ldd", program}}).out;
  std::vector<fs::path> libraries;
  for (auto at = std::sregex_iterator(listed.begin(), listed.end(), library);
       at != std::sregex_iterator(); ++at) {
    libraries.emplace_back((*at)[1].str());
  }
  return libraries;
}

void fillRoot(const fs::path& root) {
  for (const char* program : {"/bin/sh", "/bin/cat", "/bin/sleep", "/usr/bin/getent", "/sbin/ip",
                              "/sbin/tc", kRulesTool}) {
    addFile(program, root);
    for (const fs::path& library : librariesOf(program)) {
      addFile(library, root);
      // iptables finds what it loads by need in a folder beside this library.
      if (library.filename().string().starts_with("libxtables.")) {
        const fs::path extensions = fs::canonical(library).parent_path() / "xtables";
        fs::create_directories((root / extensions.relative_path()).parent_path());
        fs::copy(extensions, root / extensions.relative_path(),
                 fs::copy_options::recursive | fs::copy_options::skip_existing);
      }
    }
  }
  for (const char* name : {"iptables", "ip6tables", "iptables-restore", "ip6tables-restore"}) {
    fs::create_symlink(kRulesTool, root / "usr/sbin" / name);
  }
  std::ofstream(root / "apply-rules") << kApplyRules;
  fs::permissions(root / "apply-rules", fs::perms(0555));
}

std::size_t countOf(const std::string& text, const std::regex& line) {
  return static_cast<std::size_t>(
      std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator()));
}

// The holder's sidecars, each by the engine's command line program.
class Sidecars {
 public:
  explicit Sidecars(const live::LiveEngine& engine) : engine_(engine) {}

  std::string docker(const std::string& step, const std::vector<std::string>& arguments,
                     const std::string& input = {}) {
    std::vector<std::string> argv = engine_.inside();
    for (const std::string& word :
         {std::string("/usr/bin/docker"), std::string("--host"), "unix://" + engine_.socket()}) {
      argv.push_back(word);
    }
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const auto started = Clock::now();
    const live::Finished finished =
        live::run({.argv = argv, .input = input, .deadline = std::chrono::seconds(120)});
    steps_.emplace_back(step, millisecondsSince(started));
    if (!finished.ok()) {
      throw std::runtime_error("reference, " + step + ": " + finished.summary());
    }
    return finished.out;
  }

  std::string join(const std::string& step, const std::string& holder, bool netAdmin,
                   const std::vector<std::string>& program, const std::string& input = {}) {
    std::vector<std::string> run{
        "run",        "--rm", "--interactive",  "--network",        "container:" + holder,
        "--cap-drop", "ALL",  "--security-opt", "no-new-privileges"};
    if (netAdmin) {
      run.insert(run.end(), {"--cap-add", "NET_ADMIN"});
    }
    run.emplace_back("--entrypoint");
    run.push_back(program.front());
    run.emplace_back(kImage);
    run.insert(run.end(), program.begin() + 1, program.end());
    return docker(step, run, input);
  }

  [[nodiscard]] Steps take() { return std::move(steps_); }

 private:
  const live::LiveEngine& engine_;
  Steps steps_;
};

void expectCount(const std::string& step, std::size_t found, std::size_t expected) {
  if (found != expected || expected == 0) {
    throw std::runtime_error("reference, " + step + ": " + std::to_string(found) +
                             " rules, expected " + std::to_string(expected));
  }
}

}  // namespace

Reference::Reference(const live::LiveEngine& engine) : engine_(engine) {
  const fs::path root = kFolder / "root";
  const fs::path tar = kFolder / "image.tar";
  fs::create_directories(root);
  fillRoot(root);
  live::runOrThrow({.argv = {"tar", "-C", root, "-cf", tar, "."}});
  engine.need({"import", tar, kImage});
  fs::remove_all(kFolder);
}

Steps Reference::establish(const std::string& name, const ReferenceRules& rules) const {
  static const std::regex appended("(^|\n)-A OUTPUT ");
  static const std::regex v4Line("(^|\n)-4 -A OUTPUT ");
  static const std::regex v6Line("(^|\n)-6 -A OUTPUT ");
  static const std::regex filterLine("(^|\n)filter add ");
  static const std::regex handle(" handle 0x");
  Sidecars sidecars(engine_);
  const std::string machine = sidecars.docker(
      "gateway probe", {"run", "--rm", "--add-host", std::string(kMachineName) + ":host-gateway",
                        "--entrypoint", "/usr/bin/getent", kImage, "ahostsv4", kMachineName});
  if (machine.find("STREAM") == std::string::npos) {
    throw std::runtime_error("reference, gateway probe: " + machine);
  }
  sidecars.docker("holder", {"run",
                             "--detach",
                             "--name",
                             name,
                             "--network",
                             "bridge",
                             "--label",
                             "owner=bench",
                             "--label",
                             "job=bench",
                             "--label",
                             "role=holder",
                             "--label",
                             "remove-after=1",
                             "--read-only",
                             "--cap-drop",
                             "ALL",
                             "--security-opt",
                             "no-new-privileges",
                             "--user",
                             "65534:65534",
                             "--entrypoint",
                             "/bin/sleep",
                             kImage,
                             "infinity"});
  (void)sidecars.join("apply iptables", name, true, {"/apply-rules"}, rules.iptables);
  const std::string v4 =
      sidecars.join("read iptables", name, true, {"/usr/sbin/iptables", "-S", "OUTPUT"});
  const std::string v6 =
      sidecars.join("read ip6tables", name, true, {"/usr/sbin/ip6tables", "-S", "OUTPUT"});
  (void)sidecars.join("link probe", name, false,
                      {"/sbin/ip", "-details", "-oneline", "link", "show"});
  (void)sidecars.join("apply tc", name, true, {"/sbin/tc", "-batch", "-"}, rules.filters);
  const std::string filters = sidecars.join(
      "read tc", name, true, {"/sbin/tc", "filter", "show", "dev", rules.link, "egress"});
  Steps steps = sidecars.take();
  expectCount("iptables", countOf(v4, appended), countOf(rules.iptables, v4Line));
  expectCount("ip6tables", countOf(v6, appended), countOf(rules.iptables, v6Line));
  expectCount("tc", countOf(filters, handle), countOf(rules.filters, filterLine));
  return steps;
}

}  // namespace vethgate::bench
