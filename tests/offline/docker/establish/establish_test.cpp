// establish() on an engine where all is well, and the containers that it asks for.
#include "docker/establish/establish.hpp"

#include "render/link.hpp"
#include "render/plan.hpp"
#include "render/policy.hpp"
#include "tests/offline/docker/establish/support.hpp"

namespace vethgate::docker {
namespace {

using test::aRequest;
using test::Fault;
using test::kAmple;
using test::kImageName;
using test::kJob;
using test::kNow;
using test::Said;
using test::ScriptedEngine;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Establish, AnswersWithAHolderThatWasJudged) {
  ScriptedEngine engine;
  engine.add("stranger", {});
  std::string plan;
  std::string question;
  const auto noting = [&](const char* verb, std::string& input) {
    engine.program(verb, [&input, truthful = engine.program(verb)](const std::string& given) {
      input = given;
      return truthful(given);
    });
  };
  noting("apply", plan);
  noting("verify", question);

  const EstablishRequest request = aRequest();
  const Established made = establish(Engine(engine.socket()), request, kNow, kAmple);
  EXPECT_THAT(engine.names(), ElementsAre("stranger", "vethgate-job-1"));

  const Json answer = Json::parse(answerText(request, made));
  EXPECT_EQ(answer.at("job"), kJob);
  EXPECT_EQ(answer.at("owner"), "worker-1");
  EXPECT_EQ(answer.at("holder"), "vethgate-job-1");
  EXPECT_EQ(answer.at("id"), engine.idOf("vethgate-job-1"));
  EXPECT_EQ(answer.at("network_mode"), "container:" + engine.idOf("vethgate-job-1"));
  Json labels = engine.created("holder").at("Labels");
  labels["vethgate.role"] = "job";
  EXPECT_EQ(answer.at("labels"), labels);
  EXPECT_EQ(answer.at("resolv_conf"),
            "options ndots:0\nnameserver 9.9.9.9\nnameserver 2620:fe::fe\n");
  EXPECT_EQ(answer.at("deadline"), test::kJobDeadline);
  EXPECT_EQ(answer.at("remove_after"), test::kJobDeadline + 3600);
  EXPECT_EQ(answer.at("link"), test::jobLink());
  EXPECT_EQ(answer.at("kernel"), "6.1.0-test");
  EXPECT_EQ(answer.at("engine"), Json::parse(R"({"resolver": {"tcp": 38411, "udp": 40123}})"));
  for (const char* step : {"holder", "host", "probe", "apply", "verify", "tidy", "all"}) {
    EXPECT_TRUE(answer.at("timings").contains(step)) << step;
  }

  // One policy, one plan and one link in all of it.
  const Policy policy = readPolicy(answer.at("policy"));
  const PlanDocument applied = readPlanDocument(plan);
  EXPECT_EQ(Json::parse(question),
            (Json{{"policy", answer.at("policy")}, {"link", test::jobLink()}}));
  EXPECT_EQ(applied.plan.policyDigest, policy.digest);
  EXPECT_EQ(linkDocument(applied.plan.link), test::jobLink());
  EXPECT_EQ(answer.at("digests"), (Json{{"policy", policy.digest},
                                        {"plan", applied.digest},
                                        {"readback", std::string(64, 'e')}}));
  EXPECT_EQ(answer.at("counts"), test::contained(question).at("counts"));

  // The host's link is denied, besides what was; its address on it is covered by that, and so is
  // what lies in "private".
  EXPECT_EQ(answer.at("policy").at("allow").at(0).at("to"), "172.17.0.1");
  EXPECT_EQ(answer.at("policy").at("deny"),
            (Json{"private", "transition", "0.0.0.0/8", "192.0.2.0/24"}));
}

class Asks : public testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] static bool podman() { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Engines, Asks, testing::Bool(), [](const auto& row) {
  return std::string(row.param ? "podman" : "docker");
});

TEST_P(Asks, ForContainersThatHaveNoMoreThanTheyNeed) {
  ScriptedEngine engine;
  if (podman()) {
    engine.bePodman();
  }
  const EstablishRequest request = aRequest();
  const Established made = establish(Engine(engine.socket()), request, kNow, kAmple);
  std::string attempt;
  for (const char* name : {"holder", "host", "apply", "verify"}) {
    SCOPED_TRACE(name);
    const std::string verb = name;
    const Json body = engine.created(name);
    const Json& host = body.at("HostConfig");
    const bool changes = verb == "apply" || verb == "verify";
    EXPECT_EQ(host.at("CapDrop"), Json{"ALL"});
    EXPECT_EQ(host.value("CapAdd", Json()), changes ? Json{"NET_ADMIN"} : Json());
    EXPECT_EQ(body.at("User"), changes ? "0:0" : "65532:65532");
    EXPECT_EQ(body.at("OpenStdin"), changes);
    EXPECT_EQ(host.at("ReadonlyRootfs"), true);
    EXPECT_EQ(host.at("Privileged"), false);
    EXPECT_EQ(host.at("SecurityOpt").size(), podman() ? 1U : 2U);
    EXPECT_EQ(host.contains("Runtime"), !podman());
    if (!podman()) {
      EXPECT_EQ(host.at("Runtime"), "runc");  // the engine's default is another
      EXPECT_THAT(host.at("SecurityOpt").at(1).get<std::string>(), HasSubstr("SCMP_ACT_"));
    }
    EXPECT_EQ(host.at("NetworkMode"), verb == "holder" ? "jobs"
                                      : verb == "host" ? "host"
                                                       : "container:" + made.id);
    EXPECT_EQ(host.contains("ExtraHosts"), verb == "holder" && !podman());
    const Json& labels = body.at("Labels");
    EXPECT_EQ(labels.size(), 5U);
    EXPECT_EQ(labels.at("vethgate.owner"), "worker-1");
    EXPECT_EQ(labels.at("vethgate.job"), kJob);
    EXPECT_EQ(labels.at("vethgate.role"), verb == "holder" ? "holder" : "helper");
    EXPECT_EQ(labels.at("vethgate.remove-after"), std::to_string(test::kJobDeadline + 3600));
    attempt = attempt.empty() ? labels.at("vethgate.attempt").get<std::string>() : attempt;
    EXPECT_EQ(labels.at("vethgate.attempt"), attempt);
  }
  EXPECT_EQ(attempt.size(), 32U);
  EXPECT_EQ(
      engine.created("holder").at("Entrypoint"),
      (Json{"/vethgate-hold", "--probe", podman() ? "host.containers.internal" : "vethgate-host"}));
  EXPECT_EQ(engine.created("host").at("Entrypoint"), (Json{"/vethgate-probe", "--addresses"}));
}

// What a removal comes to the first time is not the last word on it.
TEST(Establish, AsksAgainForARemovalThatFailed) {
  for (const Fault fault : {Fault::kRefuse, Fault::kDrop, Fault::kDropAfter, Fault::kPretend}) {
    ScriptedEngine engine;
    engine.fail("remove *", fault, 3);
    engine.fail("list", Fault::kRefuse);
    static_cast<void>(establish(Engine(engine.socket()), aRequest(), kNow, kAmple));
    EXPECT_THAT(engine.names(), ElementsAre("vethgate-job-1"));
  }
}

TEST(Establish, GivesUpAnAnswerWhoseHelperCannotBeRemoved) {
  ScriptedEngine engine;
  engine.fail("remove host", Fault::kRefuse, ScriptedEngine::kAlways);
  test::expectFailure(
      [&] {
        static_cast<void>(establish(Engine(engine.socket()), aRequest(), kNow,
                                    {.attempt = kAmple.attempt,
                                     .removal = std::chrono::milliseconds(1'500),
                                     .settle = kAmple.settle}));
      },
      ExitCode::kEngine,
      "its helpers could not be removed in time; these may still exist, and a sweep removes "
      "them: vethgate.host-job-1");
  EXPECT_THAT(engine.names(), ElementsAre("vethgate.host-job-1"));
}

// What the worker asked for cannot be had on this host: its input, whenever that is found.
TEST(Establish, RefusesAnExceptionThatIsWiderThanALinkOfTheHost) {
  for (const bool wider : {true, false}) {
    ScriptedEngine engine;
    engine.program("host", [&](const std::string&) {
      const Json answer{{"own", Json::array()},
                        {"onLink", {wider ? "203.0.113.0/28" : "192.0.2.0/24"}}};
      return test::Said{0, answer.dump() + "\n", ""};
    });
    Json document = test::requestDocument();
    document["policy"]["allow"].push_back(
        {{"to", "203.0.113.0/24"}, {"protocol", "tcp"}, {"ports", "443"}});
    const auto attempt = [&] {
      static_cast<void>(establish(Engine(engine.socket()),
                                  readRequest(document.dump(), test::kImageName), kNow, kAmple));
    };
    if (wider) {
      test::expectFailure(attempt, ExitCode::kBadInput,
                          "wider than the denied prefix 203.0.113.0/28");
      EXPECT_THAT(engine.names(), testing::IsEmpty());
    } else {
      EXPECT_NO_THROW(attempt());
    }
  }
}

TEST(Establish, RefusesADeadlineInMilliseconds) {
  ScriptedEngine engine;
  const auto attempt = [&](std::uint64_t deadline) {
    Json document = test::requestDocument();
    document["deadline"] = deadline;
    static_cast<void>(
        establish(Engine(engine.socket()), readRequest(document.dump(), kImageName), kNow, kAmple));
  };
  test::expectFailure([&] { attempt(test::kJobDeadline * 1'000); }, ExitCode::kBadInput,
                      "expected seconds since 1970");
  EXPECT_TRUE(engine.calls().empty());
  EXPECT_NO_THROW(attempt(kNow + 366 * 86'400));
}

TEST(Establish, WaitsNoLongerThanTheJobsOwnDeadline) {
  ScriptedEngine engine;
  engine.fail("run probe", Fault::kSilence);
  const auto started = std::chrono::steady_clock::now();
  test::expectFailure(
      [&] {
        static_cast<void>(
            establish(Engine(engine.socket()), aRequest(), test::kJobDeadline - 1, kAmple));
      },
      ExitCode::kDeadline, "nothing of the attempt is left");
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
  EXPECT_TRUE(engine.names().empty());
}

}  // namespace
}  // namespace vethgate::docker
