// The worker's calls on every engine, from establish to release, around jobs under the engine's own
// runtime and under gVisor. That something is refused counts only beside what the same job reached,
// and beside a neighbour that reached everything.
#include <gmock/gmock.h>

#include <fstream>
#include <map>

#include "docker/custody/labels.hpp"
#include "docker/sweep/pass.hpp"
#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/on_engine.hpp"
#include "tests/names_of.hpp"

namespace vethgate::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using vethgate::test::namesOf;

// A field of /proc/PID/status.
std::string statusOf(pid_t pid, const std::string& field) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;) {
    if (word == field) {
      status >> word;
      return word;
    }
  }
  throw std::runtime_error("no " + field + " in the status of a process");
}

Reach siteReach(Site& site, const Json& answer) {
  const std::string gateway = gatewayOf(answer);
  const std::string proxy = "tcp:" + gateway + ":49221";
  const std::string proxyOtherPort = "tcp:" + gateway + ":49401";
  site.listenOn(proxy);
  site.listenOn(proxyOtherPort);
  site.listenOn(std::string(kMachineTcp));
  const auto text = [](std::string_view target) { return std::string(target); };
  return {{text(kAllowedTcp), text(kAllowedTcpSecondPort), text(kAllowedUdp), proxy,
           text(kResolverUdp), text(kResolverTcp)},
          {text(kDeniedTcp), text(kDeniedUdp), text(kDeniedBenchmarking), text(kMetadata),
           text(kMetadataAzure), proxyOtherPort, text(kMachineTcp), text(kResolverOtherTcp)}};
}

void measured(const std::string& id, const PayloadReport& report, const std::string& gateway) {
  caseMeasured(id + ".allowed", report.outcome(kAllowedTcp));
  caseMeasured(id + ".denied", report.outcome(kDeniedTcp));
  caseMeasured(id + ".metadata", report.outcome(kMetadata));
  caseMeasured(id + ".proxy", report.outcome("tcp:" + gateway + ":49221"));
  caseMeasured(id + ".proxy-other-port", report.outcome("tcp:" + gateway + ":49401"));
  caseMeasured(id + ".machine", report.outcome(kMachineTcp));
}

std::vector<std::string> labelOptions(const Json& answer) {
  std::vector<std::string> options;
  for (const auto& [key, value] : answer.at("labels").items()) {
    options.insert(options.end(), {"--label", key + "=" + value.get<std::string>()});
  }
  return options;
}

// The second by which all of the job's may go: restated from what the worker asked, never rebuilt
// from a clock. By the engine's word on the holder and on the job that was launched, through the
// listing and the selection that a sweep goes by.
void expectStampRestated(Site& site, const Json& answer) {
  const std::uint64_t stamp = answer.at("deadline").get<std::uint64_t>() + 3'600;
  EXPECT_EQ(answer.at("labels").at(docker::kRemoveAfterLabel), std::to_string(stamp));
  EXPECT_EQ(answer.at("labels").at(docker::kRoleLabel), docker::kJobRole);
  EXPECT_EQ(Json::parse(site.inspect("inside", "{{json .Config.Labels}}")), answer.at("labels"));

  const Finished looked = site.vethgate({"sweep", "--owner", kOwner, "--dry-run"});
  EXPECT_EQ(looked.exit, 0) << looked.summary();
  const Json report = Json::parse(looked.out);
  EXPECT_EQ(report.at("would_remove"), Json::array()) << report;
  std::map<std::string, std::uint64_t> until;
  for (const Json& skipped : report.at("skipped")) {
    EXPECT_EQ(skipped.at("reason"), "not-due") << report;
    until[skipped.at("name").get<std::string>()] = skipped.at("remove_after").get<std::uint64_t>();
  }
  EXPECT_EQ(until,
            (std::map<std::string, std::uint64_t>{{"inside", stamp}, {"vethgate-job", stamp}}));

  const docker::Engine client(site.engine().socket());
  const auto due = [&](std::uint64_t now) {
    docker::Cursor cursor;
    return namesOf(docker::sweep(client, kOwner, now, cursor, {.dryRun = true}).removed);
  };
  EXPECT_THAT(due(stamp - 1), IsEmpty());
  EXPECT_THAT(due(stamp), ElementsAre("inside", "vethgate-job"));
}

// Podman keeps a container for as long as another, even one that has ended, stands on its network.
void expectSweepNamesWhatHasEnded(Site& site, const Json& answer) {
  const std::string id = answer.at("id").get<std::string>();
  const Finished early = site.engine().run({"rm", "--force", id});
  EXPECT_FALSE(early.ok());
  EXPECT_THAT(early.err, HasSubstr("has dependent containers"));

  docker::Cursor cursor;
  const docker::SweepReport report =
      docker::sweep(docker::Engine(site.engine().socket()), kOwner,
                    answer.at("remove_after").get<std::uint64_t>(), cursor);
  EXPECT_THAT(namesOf(report.removed), ElementsAre("inside"));
  EXPECT_THAT(namesOf(report.failed), IsEmpty());
  ASSERT_THAT(namesOf(report.kept), ElementsAre("vethgate-job"));
  EXPECT_EQ(report.kept[0].attachedName, "plain");
  EXPECT_THAT(report.kept[0].text, HasSubstr("container plain (")) << report.kept[0].text;
  EXPECT_THAT(report.kept[0].text, HasSubstr("has ended"));
  EXPECT_EQ(site.inspect(id, "{{.State.Running}}"), "true");
}

TEST_P(OnEngine, EstablishedJobsReachWhatThePolicyAllowsAlone) {
  const Json answer = site().establish("job", kSitePolicy);
  const std::string id = answer.at("id").get<std::string>();
  EXPECT_EQ(answer.at("holder"), "vethgate-job");
  EXPECT_EQ(answer.at("network_mode"), "container:" + id);
  EXPECT_EQ(answer.at("remove_after"), answer.at("deadline").get<std::uint64_t>() + 3600);
  EXPECT_EQ(answer.at("resolv_conf"), "options ndots:0\nnameserver 192.0.2.53\n");
  EXPECT_EQ(answer.at("engine"), Json::parse(R"({"resolver": null})"));
  // The holder alone is left, with nothing that it could use.
  EXPECT_EQ(site().containers(), id.substr(0, 12));
  const pid_t holder = site().engine().pidOf(id);
  EXPECT_EQ(std::stoull(statusOf(holder, "CapBnd:"), nullptr, 16), 0U);
  EXPECT_EQ(std::stoull(statusOf(holder, "CapPrm:"), nullptr, 16), 0U);
  EXPECT_EQ(statusOf(holder, "NoNewPrivs:"), "1");
  EXPECT_EQ(statusOf(holder, "Seccomp:"), "2");
  EXPECT_EQ(statusOf(holder, "Uid:"), "65532");

  const Finished second = site().vethgate({"establish"}, site().request("job", kSitePolicy));
  EXPECT_EQ(second.exit, 9) << second.summary();
  EXPECT_THAT(second.lastErrorLine(), HasSubstr("release the job first"));
  EXPECT_EQ(site().containers(), id.substr(0, 12));

  const Reach reach = siteReach(site(), answer);
  expectAliveForOthers(site(), site().network(), reach.all());
  // An ordinary job leaves the link as it is; gVisor takes its addresses, so it is the last one.
  const std::string here = std::string(name(GetParam())) + ".";
  const std::string plain = site().engine().defaultRuntime();
  measured("establish." + here + plain, expectReach(site(), answer, "plain", plain, reach),
           gatewayOf(answer));
  // With the answer's labels, as a worker is told to start it; the other shows what comes of a job
  // without.
  measured("establish." + here + site().gvisor(),
           expectReach(site(), answer, "inside", site().gvisor(), reach, labelOptions(answer)),
           gatewayOf(answer));
  expectAliveAfterwards(site(), reach.all());
  expectStampRestated(site(), answer);
  const std::string labelled = site().containers();

  const Finished looked =
      site().vethgate({"status", "job", "--owner", kOwner, "--json"}, answer.dump());
  EXPECT_EQ(looked.exit, 0) << looked.summary();
  const Json status = Json::parse(looked.out);
  EXPECT_EQ(status.at("holder"), "running");
  EXPECT_EQ(status.at("verdict").at("verdict"), "contained");
  EXPECT_EQ(status.at("verdict").at("readback"), answer.at("digests").at("readback"));
  const auto droppedBy = [&](const char* layer) {
    std::uint64_t packets = 0;
    for (const auto& [rule, count] : status.at("verdict").at("drops").items()) {
      packets += rule.starts_with(layer) ? count.get<std::uint64_t>() : 0U;
    }
    return packets;
  };
  EXPECT_GT(droppedBy("iptables"), 0U) << status;  // of the plain job
  EXPECT_GT(droppedBy("netdev"), 0U) << status;    // of gVisor's
  EXPECT_EQ(site().containers(), labelled);

  const Finished anothers = site().vethgate({"release", "job", "--owner", "somebody-else"});
  EXPECT_EQ(anothers.out, "{\"released\":0}\n");
  EXPECT_THAT(anothers.err, HasSubstr("nothing of job job is somebody-else's"));
  if (isPodman(GetParam())) {
    expectSweepNamesWhatHasEnded(site(), answer);
    site().engine().need({"rm", "--force", "plain"});
    site().release("job");
  } else {
    const Finished released = site().vethgate({"release", "job", "--owner", kOwner});
    EXPECT_EQ(released.exit, 0) << released.summary();
    EXPECT_EQ(released.out, "{\"released\":2}\n");
    EXPECT_FALSE(site().engine().run({"inspect", "inside"}).ok());
    // Without labels it is nobody's to remove.
    site().engine().need({"rm", "--force", "plain"});
  }
  EXPECT_EQ(site().containers(), "");
  EXPECT_EQ(site().vethgate({"release", "job", "--owner", kOwner}).out, "{\"released\":0}\n");
  const Finished gone = site().vethgate({"status", "job", "--owner", kOwner}, answer.dump());
  EXPECT_EQ(gone.exit, 9) << gone.summary();
  EXPECT_THAT(gone.out, HasSubstr("holder        absent"));
}

TEST_P(OnEngine, DoctorTriesTheKernelAndLeavesNothing) {
  const Finished asked = site().vethgate({"doctor", "--json"});
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
  const std::string runsc = std::string("runtime ") + site().gvisor();
  ASSERT_EQ(checks.count(runsc), 1U) << asked.out;
  EXPECT_EQ(checks.at(runsc).at("level"), isPodman(GetParam()) ? "warn" : "ok") << asked.out;
  EXPECT_EQ(site().containers(), "");

  const Finished without = site().vethgate({"doctor", "--image", "vethgate:absent"});
  EXPECT_EQ(without.exit, 6) << without.summary();
  EXPECT_THAT(without.out, HasSubstr("fail  image"));
}

}  // namespace
}  // namespace vethgate::live
