// The leak and its closure, shown on a real container engine with the commands of README's quick
// start: OUTPUT rules hold a job under runc and not one under gVisor; the namespace that vethgate
// establishes holds it, and lets through what the policy allows. Exit 0 only if every leg came out
// as expected and nothing is left behind.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "tests/live/demo/legs.hpp"
#include "tests/live/demo/terminal.hpp"
#include "tests/live/demo/world.hpp"

namespace vethgate::live {
namespace {

constexpr Outcome kYes = Outcome::kConnected;
constexpr Outcome kNo = Outcome::kRefused;

// The whole of what a job is measured by; `contained` says what is expected of the denied half.
std::vector<Leg> allLegs(bool contained) {
  const Outcome denied = contained ? kNo : kYes;
  return {
      {"a public host", kPublicHost, kYes},
      {"a public host, IPv6", kPublicHostV6, kYes},
      {"the credential proxy", kProxy, kYes},
      {"the resolver", kResolver, kYes},
      {"a private host", kPrivateHost, denied},
      {"a private host, UDP", kPrivateHostUdp, denied},
      {"a private host, IPv6", kPrivateHostV6, denied},
      {"the cloud's metadata", kMetadataService, denied},
      {"the machine, another port", kMachine, denied},
      {"the machine's own address", kMachineOutside, denied},
  };
}

class Demo {
 public:
  Demo()
      : engine_(EngineKind::kDocker20, world_.machine(), {"--ipv6", "--fixed-cidr-v6", kJobsV6}),
        terminal_(engine_) {}

  int run() {
    say("A machine with dockerd and gVisor, emulated. Each command is shown as it is run.\n");
    std::filesystem::create_symlink(VETHGATE_IMAGE, terminal_.folder() / "vethgate-image.tar");
    engine_.loadJobImage();
    showControls();
    showLeak();
    showClosure();
    showRelease();
    std::printf("%s\n", asExpected_ ? "Every leg as expected." : "NOT as expected.");
    return asExpected_ ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  static constexpr const char* kPassing = "docker run --rm";

  static void say(const char* text) {
    std::printf("%s\n", text);
    std::fflush(stdout);
  }

  void expect(bool holds, const char* otherwise) {
    if (!holds) {
      std::printf("    NOT AS EXPECTED: %s\n", otherwise);
      asExpected_ = false;
    }
  }

  // `start`: the command and its first options. `more`: further ones.
  void runJob(const std::string& start, const std::string& runtime, const std::string& network,
              const std::vector<std::string>& more, const std::vector<Leg>& legs) {
    std::vector<std::string> words{start, "--runtime=" + runtime, "--network " + network,
                                   "--cap-drop ALL", "--security-opt no-new-privileges"};
    words.insert(words.end(), more.begin(), more.end());
    words.emplace_back(kJobImage);
    const std::vector<std::string> targets = targetsOf(legs);
    words.insert(words.end(), targets.begin(), targets.end());
    const PayloadReport report(terminal_.run(wrapped(words)));
    asExpected_ = judge(legs, report, runtime == kRunscName) && asExpected_;
  }

  void showControls() {
    say("1. A namespace without rules: whatever a job tries is there, and answers.\n");
    terminal_.need("docker load --quiet --input vethgate-image.tar");
    terminal_.need("docker run --detach --name plain --read-only --cap-drop ALL " + image());
    runJob(kPassing, "runc", "container:plain", {}, allLegs(false));
  }

  void showLeak() {
    say("2. Rules in its OUTPUT chain: they hold a job under runc. gVisor never asks them.\n");
    terminal_.need(
        "inside=--net=/proc/$(docker inspect --format {{.State.Pid}} plain)/ns/net\n"
        "for denied in 10.0.0.0/8 169.254.0.0/16; do\n"
        "  nsenter $inside iptables -A OUTPUT -d $denied -j DROP; done\n"
        "nsenter $inside ip6tables -A OUTPUT -d fc00::/7 -j DROP");
    const auto legs = [](Outcome denied, std::string_view note) -> std::vector<Leg> {
      return {{"a public host", kPublicHost, kYes},
              {"a private host", kPrivateHost, denied, note},
              {"a private host, IPv6", kPrivateHostV6, denied, note},
              {"the cloud's metadata", kMetadataService, denied, note}};
    };
    runJob(kPassing, "runc", "container:plain", {}, legs(kNo, ""));
    runJob(kPassing, kRunscName, "container:plain", {}, legs(kYes, "the leak"));
    terminal_.need("docker rm --force plain");
  }

  void showClosure() {
    say("\n3. A namespace that vethgate has made and proved, and the same job under gVisor.\n");
    terminal_.need(
        "vethgate establish > answer.json <<REQUEST\n"
        "{\"version\": 1, \"job\": \"job-17\", \"owner\": \"worker-1\", \"network\": \"bridge\",\n"
        " \"deadline\": $(date -d '+1 hour' +%s),\n"
        " \"policy\": {\"version\": 1, \"resolvers\": [\"192.0.2.53\"],\n"
        "  \"allow\": [{\"to\": \"host-gateway\", \"protocol\": \"tcp\", \"ports\": "
        "\"49200-49299\",\n"
        "             \"why\": \"credential proxy\"}]}}\n"
        "REQUEST");
    terminal_.need("jq -r .resolv_conf answer.json > resolv.conf");
    terminal_.need("jq -r '.labels | to_entries[] | \"\\(.key)=\\(.value)\"' answer.json > labels");
    terminal_.need("jq -c .timings answer.json  # milliseconds; steps overlap");
    runJob("docker run --name job-17 --label-file labels", kRunscName,
           "\"$(jq -r .network_mode answer.json)\"",
           {"--volume \"$PWD/resolv.conf:/etc/resolv.conf:ro\""}, allLegs(true));
    const Json recorded =
        Json::parse(terminal_.need("docker inspect --format '{{json .Config.Labels}}' job-17"));
    std::ifstream answer(terminal_.folder() / "answer.json");
    expect(recorded == Json::parse(answer).at("labels"), "the job does not carry the labels");

    say("4. The namespace judged once more, with what its rules have stopped.\n");
    const std::string status =
        terminal_.need("vethgate status job-17 --owner worker-1 < answer.json");
    expect(status.find("verdict       contained\n") != std::string::npos &&
               status.find(" packets by ") != std::string::npos,
           "not contained, or nothing was stopped");
  }

  void showRelease() {
    say("\n5. Released: the job's container, by its labels, and the holder. Nothing is left.\n");
    const std::string released = terminal_.need("vethgate release job-17 --owner worker-1");
    expect(released == "{\"released\":2}\n", "not the two of them");
    expect(terminal_.need("docker ps --all --quiet").empty(), "containers are left");
  }

  static std::string image() { return "vethgate:" VETHGATE_VERSION; }

  World world_;
  LiveEngine engine_;
  Terminal terminal_;
  bool asExpected_ = true;
};

}  // namespace
}  // namespace vethgate::live

int main() {
  try {
    return vethgate::live::Demo().run();
  } catch (const std::exception& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "demo: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
