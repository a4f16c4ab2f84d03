// `vethgate establish`, `release` and `status` where they refuse, on docker 20.10.
#include <gmock/gmock.h>

#include <chrono>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/runtime.hpp"
#include "tests/live/on_engine.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

TEST_F(EngineEstablish, RefusesBeforeAnythingExists) {
  bool launched = false;
  const auto refused = [&launched](const std::string& text, int code, const char* part) {
    const Finished finished = site().vethgate({"establish"}, text);
    const std::string left = site().containers();
    launched = launched || finished.ok() || !left.empty();
    EXPECT_EQ(finished.exit, code) << finished.summary();
    EXPECT_THAT(finished.lastErrorLine(), HasSubstr(part));
    EXPECT_EQ(left, "");
  };
  refused(site().request("none", kSitePolicy, "no-such-network"), 2, "no-such-network");
  refused(site().request("none", kSitePolicy, "host"), 2, "expected a network with a bridge");
  refused(site().request("none", R"({"version": 2})"), 2, "policy.version");
  refused(site().request("none", kSitePolicy, site().network(), std::chrono::seconds(-1)), 10,
          "deadline has passed");
  caseMeasured("establish.unacceptable-request", launched ? "launched" : "launch-refused");
}

TEST_F(EngineEstablish, StatusJudgesTheNamespaceAgain) {
  const Json answer = site().establish("looked-at", kSitePolicy);
  const std::string id = answer.at("id").get<std::string>();
  const std::vector<std::string> question{"status", "looked-at", "--owner", kOwner};
  std::vector<std::string> forPrograms = question;
  forPrograms.emplace_back("--json");

  const Finished clean = site().vethgate(question, answer.dump());
  EXPECT_EQ(clean.exit, 0) << clean.summary();
  EXPECT_THAT(clean.out, HasSubstr("verdict       contained\ndropped       nothing so far\n"));
  // What a job lost is counted by the rule that stopped it.
  const std::vector<std::string> targets{std::string(kAllowedTcp), std::string(kDeniedTcp)};
  expectAliveForOthers(site(), site().network(), targets);
  const auto expectHeld = [](const std::string& rows, const PayloadReport& report) {
    caseMeasured(rows + ".allowed", report.outcome(kAllowedTcp));
    caseMeasured(rows + ".denied", report.outcome(kDeniedTcp));
    EXPECT_EQ(report.outcome(kAllowedTcp), Outcome::kConnected) << report;
    EXPECT_EQ(report.outcome(kDeniedTcp), Outcome::kRefused) << report;
  };
  expectHeld("establish.runc",
             site().run("looked-at-job", "runc", "container:" + id, targets, {"--rm"}));
  // A bundle that the engine knows nothing of.
  const std::string netns = "/proc/" + std::to_string(site().engine().pidOf(id)) + "/ns/net";
  expectHeld("establish.bundle", runBundle(Runtime::kRunc, netns, targets));
  expectAliveAfterwards(site(), targets);
  const Finished after = site().vethgate(forPrograms, answer.dump());
  EXPECT_EQ(after.exit, 0) << after.summary();
  const Json document = Json::parse(after.out);
  EXPECT_EQ(document.at("verdict").at("readback"), answer.at("digests").at("readback"));
  std::uint64_t dropped = 0;
  for (const Json& packets : document.at("verdict").at("drops")) {
    dropped += packets.get<std::uint64_t>();
  }
  EXPECT_GT(dropped, 0U);
  EXPECT_EQ(site().containers(), id.substr(0, 12));

  // One rule less, by the hand of whoever is root in that namespace.
  runOrThrow(
      {.argv = {"nsenter", "--net=" + netns, "nft", "flush", "chain", "ip", "filter", "OUTPUT"}});
  const Finished tampered = site().vethgate(question, answer.dump());
  EXPECT_EQ(tampered.exit, 8) << tampered.summary();
  EXPECT_THAT(tampered.out, HasSubstr("verdict       refused\nreason "));
  EXPECT_EQ(site().containers(), id.substr(0, 12));

  EXPECT_EQ(site().vethgate({"status", "other", "--owner", kOwner}, answer.dump()).exit, 2);
  EXPECT_TRUE(site().vethgate({"release", "looked-at", "--owner", kOwner}).ok());
  const Finished gone = site().vethgate(question, answer.dump());
  EXPECT_EQ(gone.exit, 9) << gone.summary();
  EXPECT_THAT(gone.out, HasSubstr("holder        absent"));
}

TEST_F(EngineEstablish, ExplainNeedsNoEngine) {
  const Finished table = run({.argv = {std::string(VETHGATE_BIN_DIR) + "/vethgate", "explain"},
                              .input = R"({"version": 1})"});
  EXPECT_TRUE(table.ok()) << table.summary();
  EXPECT_THAT(table.out, HasSubstr("169.254.169.254"));
}

}  // namespace
}  // namespace vethgate::live
