// `vethgate establish` and `release` against a real dockerd: the worker's one call, and the job
// that it was made for under gVisor and runc. That something is refused counts only beside what the
// same job reached.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <utility>

#include "base/json.hpp"
#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/engine.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/report.hpp"
#include "tests/live/fixture/topology.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

// Every address of the tests is the host's own, and denied for that unless it is named.
constexpr const char* kPolicy = R"({"version": 1, "deny": ["private", "transition"],
  "allow": [{"to": "host-gateway", "protocol": "tcp", "ports": "9999", "why": "credential proxy"},
            {"to": "203.0.113.2", "protocol": "tcp", "ports": "9999", "why": "a public service"}]})";
constexpr const char* kOwner = "worker-1";
constexpr const char* kNetwork = "bridge";

class Stage {
 public:
  Stage() : engine(EngineKind::kDocker20, host.netns()) {
    engine.loadJobImage();
    engine.need({"load", "--input", VETHGATE_IMAGE});
  }

  Host host;
  LiveEngine engine;
};

class EngineEstablish : public testing::Test {
 protected:
  static void SetUpTestSuite() { stage_ = std::make_unique<Stage>(); }
  static void TearDownTestSuite() { stage_.reset(); }

  static LiveEngine& engine() { return stage_->engine; }
  static Host& host() { return stage_->host; }

  static std::string request(const std::string& job, const std::string& policy = kPolicy,
                             const std::string& network = kNetwork,
                             std::chrono::seconds left = std::chrono::hours(1)) {
    const auto now = std::chrono::duration_cast<std::chrono::seconds>(
        std::chrono::system_clock::now().time_since_epoch());
    return R"({"version": 1, "job": ")" + job + R"(", "owner": ")" + kOwner + R"(", "network": ")" +
           network + R"(", "deadline": )" + std::to_string((now + left).count()) +
           R"(, "policy": )" + policy + "}";
  }

  static Finished vethgate(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), std::string(VETHGATE_BIN_DIR) + "/vethgate");
    arguments.insert(arguments.end(), {"--engine", engine().socket()});
    return run({.argv = arguments, .input = input, .deadline = std::chrono::seconds(150)});
  }

  static Json establish(const std::string& job) {
    const Finished finished = vethgate({"establish"}, request(job));
    EXPECT_TRUE(finished.ok()) << finished.summary() << "\n" << engine().log();
    return finished.ok() ? Json::parse(finished.out) : Json();
  }

  // The job as the answer says that it is to be launched.
  static PayloadReport launch(const Json& answer, const std::string& runtime,
                              const std::vector<std::string>& targets) {
    return PayloadReport(engine().runJob(
        runtime,
        {"--rm", "--network", answer.at("network_mode").get<std::string>(), "--cap-drop", "ALL",
         "--user", "65534:65534", "--security-opt", "no-new-privileges", "--read-only"},
        targets));
  }

  static std::string containers() {
    return engine().need({"ps", "--all", "--quiet", "--filter", "label=vethgate.owner"});
  }

  static std::unique_ptr<Stage> stage_;
};

std::unique_ptr<Stage> EngineEstablish::stage_;

TEST_F(EngineEstablish, GivesAJobUnderGvisorANamespaceThatHolds) {
  const Json answer = establish("gvisor");
  ASSERT_TRUE(answer.is_object());
  EXPECT_EQ(answer.at("holder"), "vethgate-gvisor");
  EXPECT_EQ(answer.at("network_mode"), "container:" + answer.at("id").get<std::string>());
  EXPECT_EQ(answer.at("unchecked"), Json::array());
  EXPECT_EQ(answer.at("remove_after"), answer.at("deadline").get<std::uint64_t>() + 3600);
  // The holder alone is left, with nothing that it could use.
  EXPECT_EQ(engine().need({"inspect", "--format",
                           "{{.HostConfig.CapDrop}} {{.HostConfig.ReadonlyRootfs}} "
                           "{{index .Config.Labels \"vethgate.role\"}}",
                           "vethgate-gvisor"}),
            "[ALL] true holder");
  EXPECT_EQ(containers(), answer.at("id").get<std::string>().substr(0, 12));

  // The proxy, at the address that the host was measured to have.
  const std::string gateway = answer.at("policy").at("allow").at(0).at("to").get<std::string>();
  const std::string proxy = "tcp:" + gateway + ":9999";
  const std::string proxyOtherPort = "tcp:" + gateway + ":9998";
  host().services().listenOn(proxy);
  host().services().listenOn(proxyOtherPort);
  const PayloadReport report =
      launch(answer, kRunscBookwormName,
             {std::string(kAllowedTcp), std::string(kAllowedTcpSecondPort), proxy,
              std::string(kDeniedTcp), std::string(kMetadata), proxyOtherPort});
  caseMeasured("establish.runsc.allowed", report.outcome(kAllowedTcp));
  caseMeasured("establish.runsc.allowed-address-other-port", report.outcome(kAllowedTcpSecondPort));
  caseMeasured("establish.runsc.proxy", report.outcome(proxy));
  caseMeasured("establish.runsc.proxy-other-port", report.outcome(proxyOtherPort));
  caseMeasured("establish.runsc.denied", report.outcome(kDeniedTcp));
  caseMeasured("establish.runsc.metadata", report.outcome(kMetadata));
  EXPECT_EQ(report.outcome(kAllowedTcp), Outcome::kConnected) << report;
  EXPECT_EQ(report.outcome(kAllowedTcpSecondPort), Outcome::kRefused) << report;
  EXPECT_EQ(report.outcome(proxy), Outcome::kConnected) << report;
  EXPECT_EQ(report.outcome(kDeniedTcp), Outcome::kRefused) << report;
  EXPECT_EQ(report.outcome(kMetadata), Outcome::kRefused) << report;
  EXPECT_EQ(report.outcome(proxyOtherPort), Outcome::kRefused) << report;
  EXPECT_TRUE(report.onGvisor()) << report;

  const Finished released = vethgate({"release", "gvisor", "--owner", kOwner});
  EXPECT_TRUE(released.ok()) << released.summary();
  EXPECT_EQ(released.out, "{\"released\":1}\n");
  EXPECT_EQ(containers(), "");
  EXPECT_EQ(vethgate({"release", "gvisor", "--owner", kOwner}).out, "{\"released\":0}\n");
}

TEST_F(EngineEstablish, RefusesASecondAttemptAndLeavesTheFirst) {
  const Json answer = establish("twice");
  ASSERT_TRUE(answer.is_object());
  const Finished second = vethgate({"establish"}, request("twice"));
  EXPECT_EQ(second.exit, 9) << second.summary();
  EXPECT_THAT(second.lastErrorLine(), HasSubstr("release the job first"));
  EXPECT_EQ(containers(), answer.at("id").get<std::string>().substr(0, 12));
  EXPECT_EQ(vethgate({"release", "twice", "--owner", "somebody-else"}).out, "{\"released\":0}\n");
  EXPECT_EQ(containers(), answer.at("id").get<std::string>().substr(0, 12));
  EXPECT_EQ(vethgate({"release", "twice", "--owner", kOwner}).out, "{\"released\":1}\n");
}

TEST_F(EngineEstablish, RefusesBeforeAnythingExists) {
  bool launched = false;
  const auto refused = [&launched](const std::string& text, int code, const char* part) {
    const Finished finished = vethgate({"establish"}, text);
    const std::string left = containers();
    launched = launched || finished.ok() || !left.empty();
    EXPECT_EQ(finished.exit, code) << finished.summary();
    EXPECT_THAT(finished.lastErrorLine(), HasSubstr(part));
    EXPECT_EQ(left, "");
  };
  refused(request("none", kPolicy, "no-such-network"), 2, "no-such-network");
  refused(request("none", kPolicy, "host"), 2, "expected a network with a bridge");
  refused(request("none", R"({"version": 2})"), 2, "policy.version");
  refused(request("none", kPolicy, kNetwork, std::chrono::seconds(-1)), 10, "deadline has passed");
  caseMeasured("establish.unacceptable-request", launched ? "launched" : "launch-refused");
}

TEST_F(EngineEstablish, StatusJudgesTheNamespaceAgain) {
  const Json answer = establish("looked-at");
  ASSERT_TRUE(answer.is_object());
  const std::string id = answer.at("id").get<std::string>();
  const std::vector<std::string> question{"status", "looked-at", "--owner", kOwner};
  std::vector<std::string> forPrograms = question;
  forPrograms.emplace_back("--json");

  const Finished clean = vethgate(question, answer.dump());
  EXPECT_EQ(clean.exit, 0) << clean.summary();
  EXPECT_THAT(clean.out, HasSubstr("verdict       contained\ndropped       nothing so far\n"));
  // What a job lost is counted by the rule that stopped it.
  const PayloadReport report = launch(answer, "runc", {std::string(kDeniedTcp)});
  caseMeasured("establish.runc.denied", report.outcome(kDeniedTcp));
  EXPECT_EQ(report.outcome(kDeniedTcp), Outcome::kRefused) << report;
  const Finished after = vethgate(forPrograms, answer.dump());
  EXPECT_EQ(after.exit, 0) << after.summary();
  const Json document = Json::parse(after.out);
  EXPECT_EQ(document.at("verdict").at("readback"), answer.at("digests").at("readback"));
  std::uint64_t dropped = 0;
  for (const Json& packets : document.at("verdict").at("drops")) {
    dropped += packets.get<std::uint64_t>();
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(containers(), id.substr(0, 12));

  // One rule less, by the hand of whoever is root in that namespace.
  runOrThrow({.argv = {"nsenter", "--net=/proc/" + std::to_string(engine().pidOf(id)) + "/ns/net",
                       "nft", "flush", "chain", "ip", "filter", "OUTPUT"}});
  const Finished tampered = vethgate(question, answer.dump());
  EXPECT_EQ(tampered.exit, 8) << tampered.summary();
  EXPECT_THAT(tampered.out, HasSubstr("verdict       refused\nreason "));
  EXPECT_EQ(containers(), id.substr(0, 12));

  EXPECT_EQ(vethgate({"status", "other", "--owner", kOwner}, answer.dump()).exit, 2);
  EXPECT_TRUE(vethgate({"release", "looked-at", "--owner", kOwner}).ok());
  const Finished gone = vethgate(question, answer.dump());
  EXPECT_EQ(gone.exit, 9) << gone.summary();
  EXPECT_THAT(gone.out, HasSubstr("holder        absent"));
}

TEST_F(EngineEstablish, ExplainNeedsNoEngine) {
  const Finished table = run({.argv = {std::string(VETHGATE_BIN_DIR) + "/vethgate", "explain"},
                              .input = R"({"version": 1})"});
  EXPECT_TRUE(table.ok()) << table.summary();
  EXPECT_THAT(table.out, HasSubstr("169.254.169.254"));
}

TEST_F(EngineEstablish, DoctorTriesTheKernelAndLeavesNothing) {
  const Finished asked = vethgate({"doctor", "--json"});
  EXPECT_EQ(asked.exit, 0) << asked.summary();
  std::map<std::string, Json> checks;
  const Json document = Json::parse(asked.out);
  for (const Json& check : document.at("checks")) {
    checks.emplace(check.at("check").get<std::string>(), check);
  }
  for (const char* name : {"engine", "runtimes", "image", "kernel", "families"}) {
    ASSERT_EQ(checks.count(name), 1U) << name << "\n" << asked.out;
    EXPECT_EQ(checks.at(name).at("level"), "ok") << asked.out;
  }
  const std::string runsc = std::string("runtime ") + kRunscBookwormName;
  ASSERT_EQ(checks.count(runsc), 1U) << asked.out;
  EXPECT_EQ(checks.at(runsc).at("level"), "ok") << asked.out;
  EXPECT_EQ(containers(), "");

  const Finished without = vethgate({"doctor", "--image", "vethgate:absent"});
  EXPECT_EQ(without.exit, 6) << without.summary();
  EXPECT_THAT(without.out, HasSubstr("fail  image"));
}

}  // namespace
}  // namespace vethgate::live
