// Every way in which establish() may fail, one row each: its exit code, its sentence, and that
// nothing is left of the attempt and nothing of anybody else's is touched.
#include <ostream>
#include <thread>
#include <vector>

#include "docker/custody/custody.hpp"
#include "tests/offline/docker/establish/support.hpp"

namespace vethgate::docker {
namespace {

using test::aRequest;
using test::Fault;
using test::kAmple;
using test::kJob;
using test::kNow;
using test::Said;
using test::ScriptedEngine;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// Of the same owner and job, by another attempt; and by nobody known.
void addOthers(ScriptedEngine& engine) {
  engine.add("somebody", {{kOwnerLabel, "worker-1"},
                          {kJobLabel, kJob},
                          {kRoleLabel, kHelperRole},
                          {kAttemptLabel, std::string(32, '0')}});
  engine.add("stranger", {});
}

const auto kOthers = ElementsAre("somebody", "stranger");

Deadline amplyLater() { return Deadline::after(kAmple.attempt); }

struct Row {
  std::string name;
  std::function<void(ScriptedEngine&)> arrange;
  ExitCode code;
  std::string part;
  bool touches = true;  // whether anything is created
  std::chrono::milliseconds attempt = kAmple.attempt;
  std::string coming = {};  // whose create was never answered, and came to nothing so far
};

std::string fullName(const std::string& container) {
  return container == "holder" ? holderName(kJob) : helperName(kJob, container);
}

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::string identifier(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return text;
}

void addCalls(std::vector<Row>& rows) {
  const auto add = [&](const std::string& call, Fault fault, const char* what, ExitCode code,
                       const std::string& part, bool touches) {
    const bool lost = call.rfind("create ", 0) == 0 && fault != Fault::kDropAfter;
    rows.push_back({identifier(call + " " + what),
                    [call, fault](ScriptedEngine& engine) { engine.fail(call, fault); }, code, part,
                    touches, kAmple.attempt, lost ? fullName(call.substr(7)) : ""});
  };
  for (const char* call : {"version", "info", "image", "network"}) {
    add(call, Fault::kRefuse, "refused", ExitCode::kEngine, "the engine is unwell", false);
    add(call, Fault::kDrop, "dropped", ExitCode::kEngine, "no whole answer", false);
  }
  for (const std::string container : {"holder", "host", "apply", "verify"}) {
    for (const char* verb : {"create ", "start "}) {
      const std::string call = verb + container;
      add(call, Fault::kRefuse, "refused", ExitCode::kEngine, "the engine is unwell", true);
      add(call, Fault::kDrop, "dropped", ExitCode::kEngine, "no whole answer", true);
      add(call, Fault::kDropAfter, "done and dropped", ExitCode::kEngine, "no whole answer", true);
    }
    const std::string program = container == "holder" ? "probe" : container;
    std::vector<std::string> calls{"attach " + container};
    if (container != "holder") {
      calls.push_back("wait " + container);
    }
    for (const std::string& call : calls) {
      add(call, Fault::kRefuse, "refused", ExitCode::kEngine, "the engine is unwell", true);
      add(call, Fault::kDrop, "dropped", ExitCode::kEngine, "no whole answer", true);
    }
    // The streams end early, and the program well: that is not all that it said.
    add("run " + program, Fault::kDrop, "dropped", ExitCode::kRefused, program, true);
  }
  add("inspect holder", Fault::kRefuse, "refused", ExitCode::kEngine, "the engine is unwell", true);
  add("inspect holder", Fault::kDrop, "dropped", ExitCode::kEngine, "no whole answer", true);
}

void addSilences(std::vector<Row>& rows) {
  for (const std::string call :
       {"version", "network", "create holder", "create apply", "create host", "start holder",
        "start verify", "attach holder", "run host", "run probe", "run apply", "run verify",
        "wait verify", "inspect holder"}) {
    rows.push_back({identifier(call + " without an answer"),
                    [call](ScriptedEngine& engine) { engine.fail(call, Fault::kSilence); },
                    ExitCode::kDeadline, "deadline passed", call != "version" && call != "network",
                    std::chrono::milliseconds(700),
                    call.rfind("create ", 0) == 0 ? fullName(call.substr(7)) : ""});
  }
}

void addConflicts(std::vector<Row>& rows) {
  for (const std::string name : {"vethgate-job-1", "vethgate.host-job-1", "vethgate.apply-job-1"}) {
    rows.push_back({identifier("name taken " + name),
                    [name](ScriptedEngine& engine) {
                      engine.add(name, {{kJobLabel, kJob}, {kAttemptLabel, "another"}});
                    },
                    ExitCode::kEngine, "release the job first"});
    rows.push_back({identifier("name taken on podman " + name),
                    [name](ScriptedEngine& engine) {
                      engine.bePodman();
                      engine.add(name, {{kJobLabel, kJob}, {kAttemptLabel, "another"}});
                    },
                    ExitCode::kEngine, "release the job first"});
  }
}

void addPrograms(std::vector<Row>& rows) {
  const auto ends = [&](const std::string& verb, int status, ExitCode code) {
    rows.push_back({identifier(verb + " ends with " + std::to_string(status)),
                    [verb, status](ScriptedEngine& engine) {
                      // A holder that fails has said nothing.
                      const std::string said = verb == "probe" ? "" : "{}\n";
                      engine.program(verb, [status, said](const std::string&) {
                        return Said{status, said, "{\"log\":1}\nthe reason\n"};
                      });
                    },
                    code,
                    "step " + verb + ": exit " + std::to_string(status) +
                        ", the reason; nothing of the attempt is left"});
  };
  for (const std::string verb : {"host", "probe", "apply", "verify"}) {
    for (int status = 1; status <= 10; ++status) {
      ends(verb, status, static_cast<ExitCode>(status));
    }
    for (const int status : {11, 125, 127, 137, 139, 255}) {
      ends(verb, status, ExitCode::kEngine);
    }
    const auto says = [&](const char* what, const std::string& text) {
      rows.push_back(
          {identifier(verb + " says " + what),
           [verb, text](ScriptedEngine& engine) {
             engine.program(verb, [text](const std::string&) { return Said{0, text, ""}; });
           },
           ExitCode::kRefused, verb});
    };
    says("nothing", "");
    says("no JSON", "contained\n");
    says("a list", "[]\n");
    says("null", "null\n");
    says("an empty object", "{}\n");
    says("half", "{\"verdict\":\"contained\"");
  }
}

// A truthful answer with one thing in it changed.
void addChange(std::vector<Row>& rows, const char* verb, const std::string& what,
               const std::function<void(Json&)>& change, const std::string& part) {
  rows.push_back({identifier(std::string(verb) + " answers with " + what),
                  [verb, change](ScriptedEngine& engine) {
                    engine.program(
                        verb, [change, truthful = engine.program(verb)](const std::string& input) {
                          Json answer = Json::parse(truthful(input).out);
                          change(answer);
                          return Said{0, answer.dump() + "\n", ""};
                        });
                  },
                  ExitCode::kRefused, part});
}

void addAnswers(std::vector<Row>& rows) {
  const auto host = [&](const std::string& what, const std::function<void(Json&)>& change) {
    addChange(rows, "host", what, change, "");
  };
  host("no address", [](Json& a) { a["own"].push_back("localhost"); });
  host("host bits", [](Json& a) { a["onLink"].push_back("192.0.2.1/24"); });
  host("a key more", [](Json& a) { a["more"] = 1; });
  host("a key less", [](Json& a) { a.erase("own"); });
  const auto probe = [&](const std::string& what, const std::function<void(Json&)>& change) {
    addChange(rows, "probe", what, change, "");
  };
  probe("no address", [](Json& a) { a["host"].push_back("gateway"); });
  probe("no link", [](Json& a) { a.erase("link"); });
  probe("index 0", [](Json& a) { a["link"]["index"] = 0; });
  probe("a key more", [](Json& a) { a["more"] = 1; });

  const auto apply = [&](const std::string& what, const std::function<void(Json&)>& change) {
    addChange(rows, "apply", what, change, "step apply: the answer is ");
  };
  const auto bump = [](Json& count) { count = count.get<int>() - 1; };
  apply("a v4 rule less", [=](Json& a) { bump(a["applied"]["iptables"]["v4"]); });
  apply("a v6 rule less", [=](Json& a) { bump(a["applied"]["iptables"]["v6"]); });
  apply("a filter less", [=](Json& a) { bump(a["applied"]["flower"]); });
  apply("a layer less", [](Json& a) { a["applied"].erase("flower"); });
  apply("a netdev rule less", [=](Json& a) { bump(a["applied"]["netdev"]); });
  apply("a layer more", [](Json& a) { a["applied"]["ebtables"] = 1; });
  apply("another digest", [](Json& a) { a["digest"] = std::string(64, '0'); });

  const auto verify = [&](const std::string& what, const std::function<void(Json&)>& change,
                          const std::string& field) {
    addChange(rows, "verify", what, change, "the verdict's \"" + field + "\" is not ");
  };
  verify(
      "refused", [](Json& a) { a["verdict"] = "refused"; }, "verdict");
  verify(
      "no verdict", [](Json& a) { a.erase("verdict"); }, "verdict");
  verify(
      "another policy", [](Json& a) { a["policy"] = std::string(64, '0'); }, "policy");
  verify(
      "another link", [](Json& a) { a["link"]["index"] = 6; }, "link");
  verify(
      "another namespace", [](Json& a) { a["link"]["netns"] = 1; }, "link");
  verify(
      "a v4 rule less", [=](Json& a) { bump(a["counts"]["iptables"]["v4"]); }, "counts");
  verify(
      "a v6 rule less", [=](Json& a) { bump(a["counts"]["iptables"]["v6"]); }, "counts");
  verify(
      "a filter less", [=](Json& a) { bump(a["counts"]["flower"]); }, "counts");
  verify(
      "a netdev rule more", [](Json& a) { a["counts"]["netdev"] = 1; }, "counts");
  // Without these there is no answer to give.
  addChange(
      rows, "verify", "no readback", [](Json& a) { a["readback"] = nullptr; },
      "verdict.readback must be a string, found null");
  addChange(
      rows, "verify", "no kernel", [](Json& a) { a.erase("kernel"); },
      "the field \"kernel\" is missing");
  addChange(
      rows, "verify", "reasons", [](Json& a) { a["reasons"] = {"but"}; },
      "the verdict's \"reasons\" is not []");
  addChange(
      rows, "verify", "no digest", [](Json& a) { a["readback"] = "abc"; },
      "verdict.readback is no SHA-256 digest");
  addChange(
      rows, "verify", "unchecked as an object", [](Json& a) { a["unchecked"] = Json::object(); },
      "verdict.unchecked must be a list");
  addChange(
      rows, "verify", "an engine of words", [](Json& a) { a["engine"] = "x"; },
      "verdict.engine must be an object");
}

void addHolder(std::vector<Row>& rows) {
  const auto dies = [&](const std::string& when, const std::string& part,
                        ExitCode code = ExitCode::kEngine) {
    rows.push_back({identifier("the holder dies after " + when),
                    [when](ScriptedEngine& engine) {
                      engine.after(when, [&engine] { engine.dieAtOnce("holder"); });
                    },
                    code, part});
  };
  dies("start holder", "the holder vethgate-job-1 does not run any more");
  dies("run probe", "the holder vethgate-job-1 does not run any more");
  dies("run verify", "the holder vethgate-job-1 does not run any more");
  const auto differs = [&](const std::string& when, const std::string& what, const Json& change,
                           const std::string& part) {
    rows.push_back({identifier("after " + when + " " + what),
                    [when, change](ScriptedEngine& engine) {
                      engine.after(when, [&engine, change] { engine.record("holder", change); });
                    },
                    ExitCode::kEngine, "the engine's record of the holder: " + part});
  };
  const std::string start = "start holder";
  differs(start, "it has the host's network", {{"HostConfig", {{"NetworkMode", "host"}}}},
          "the network mode is host, expected jobs");
  differs(start, "it is privileged", {{"HostConfig", {{"Privileged", true}}}},
          "privileged is true, expected false");
  differs(start, "its root is writable", {{"HostConfig", {{"ReadonlyRootfs", false}}}},
          "a read-only root is false, expected true");
  differs(start, "it has capabilities", {{"HostConfig", {{"CapAdd", {"ALL"}}}}},
          "the number of added capabilities is 1, expected 0");
  differs(start, "it kept a capability", {{"HostConfig", {{"CapDrop", {"NET_RAW"}}}}},
          "the dropped capabilities are NET_RAW, expected ALL");
  differs(
      start, "it may gain privileges",
      {{"HostConfig", {{"SecurityOpt", {"no-new-privileges:false"}}}}},
      "the security options are no-new-privileges:false, expected no-new-privileges, seccomp={");
  differs(start, "it has no security options", {{"HostConfig", {{"SecurityOpt", nullptr}}}},
          "the security options are none, expected no-new-privileges, seccomp={");
  differs(start, "its filter is the engine's own",
          {{"HostConfig", {{"SecurityOpt", {"no-new-privileges"}}}}},
          "the security options are no-new-privileges, expected no-new-privileges, seccomp={");
  differs(start, "its filter is off",
          {{"HostConfig", {{"SecurityOpt", {"no-new-privileges", "seccomp=unconfined"}}}}},
          "the security options are no-new-privileges, seccomp=unconfined, expected ");
  differs(start, "it is root", {{"Config", {{"User", "0"}}}},
          "the user is 0, expected 65532:65532");
  differs(start, "it is of another image", {{"Image", "sha256:0"}},
          "the image is sha256:0, expected sha256:1111");
  differs(start, "it has a second network",
          {{"NetworkSettings", {{"Networks", {{"other", Json::object()}}}}}},
          "the number of its networks is 2, expected 1");
  const std::string judged = "run verify";
  differs(judged, "it was started again", {{"State", {{"StartedAt", "2026-01-01T00:00:09Z"}}}},
          "the time of its start is 2026-01-01T00:00:09Z, expected 2026-01-01T00:00:00Z");
  differs(judged, "it is another process", {{"State", {{"Pid", 8}}}},
          "the process is 8, expected 7");
  differs(judged, "it is paused", {{"State", {{"Status", "paused"}}}},
          "the state is paused, expected running");
  differs(judged, "it joined a network",
          {{"NetworkSettings", {{"Networks", {{"other", Json::object()}}}}}},
          "the number of its networks is 2, expected 1");
  rows.push_back({"the_engine_names_metadata_as_the_host",
                  [](ScriptedEngine& engine) {
                    engine.program("probe", [](const std::string&) {
                      const Json answer{{"host", {"169.254.169.254"}}, {"link", test::jobLink()}};
                      return Said{0, answer.dump() + "\n", ""};
                    });
                  },
                  ExitCode::kBadInput, "169.254.169.254"});
  rows.push_back({"the_host_has_no_IPv4_gateway",
                  [](ScriptedEngine& engine) {
                    engine.program("probe", [](const std::string&) {
                      const Json answer{{"host", {"fd00::1"}}, {"link", test::jobLink()}};
                      return Said{0, answer.dump() + "\n", ""};
                    });
                  },
                  ExitCode::kUnsupported, "no IPv4 address"});
}

std::vector<Row> rows() {
  std::vector<Row> all;
  addCalls(all);
  addSilences(all);
  addConflicts(all);
  addPrograms(all);
  addAnswers(all);
  addHolder(all);
  return all;
}

class Fails : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Establish, Fails, testing::ValuesIn(rows()),
                         [](const auto& row) { return row.param.name; });

TEST_P(Fails, AndLeavesNothing) {
  const Row& row = GetParam();
  ScriptedEngine engine;
  addOthers(engine);
  row.arrange(engine);
  const std::vector<std::string> before = engine.names();
  const std::optional<Failure> failure = test::failureOf([&] {
    static_cast<void>(
        establish(Engine(engine.socket()), aRequest(), kNow,
                  {.attempt = row.attempt, .removal = kAmple.removal, .settle = kAmple.settle}));
  });
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), row.code) << failure->what();
  EXPECT_THAT(failure->what(), HasSubstr(row.part));
  EXPECT_EQ(
      std::string(failure->what()).find("; nothing of the attempt is left") != std::string::npos,
      row.touches && row.coming.empty())
      << failure->what();
  if (!row.coming.empty()) {
    EXPECT_THAT(failure->what(), HasSubstr("; these may still come, for the engine never answered "
                                           "for them, and a sweep removes them: " +
                                           row.coming));
    EXPECT_THAT(failure->what(), Not(HasSubstr("may still exist")));
  }

  EXPECT_EQ(engine.names(), before);
  const auto removed = engine.removed();
  const auto holder = std::find(removed.begin(), removed.end(), "holder");
  EXPECT_TRUE(holder == removed.end() || holder == removed.end() - 1)
      << testing::PrintToString(removed);
  if (!row.touches) {
    EXPECT_THAT(engine.calls(), Each(Not(StartsWith("create"))));
  }
}

// Docker reports what was asked for, and whatever somebody put behind it.
TEST(HolderOptions, AreThoseThatWereAskedForAndNoOther) {
  const auto attempt = [](const Json& options) {
    ScriptedEngine engine;
    if (!options.is_null()) {
      engine.after("start holder", [&engine, &options] {
        engine.record("holder", {{"HostConfig", {{"SecurityOpt", options}}}});
      });
    }
    static_cast<void>(establish(Engine(engine.socket()), aRequest(), kNow, kAmple));
    return engine.created("holder").at("HostConfig").at("SecurityOpt");
  };
  const Json asked = attempt(nullptr);
  ASSERT_EQ(asked.size(), 2U);
  EXPECT_NO_THROW(static_cast<void>(attempt(asked)));
  Json more = asked;
  more.push_back("seccomp=unconfined");
  test::expectFailure([&] { static_cast<void>(attempt(more)); }, ExitCode::kEngine,
                      " characters), seccomp=unconfined, expected ");
  Json turned = asked;
  std::swap(turned[0], turned[1]);
  test::expectFailure([&] { static_cast<void>(attempt(turned)); }, ExitCode::kEngine,
                      "the security options are seccomp={");
}

// Before anything exists.
class Refuses : public testing::Test {
 protected:
  void expect(const EstablishRequest& request, ExitCode code, const std::string& part,
              std::uint64_t now = kNow) {
    test::expectFailure(
        [&] { static_cast<void>(establish(Engine(engine_.socket()), request, now, kAmple)); }, code,
        part);
    EXPECT_THAT(engine_.names(), IsEmpty());
    EXPECT_THAT(engine_.calls(), Each(Not(StartsWith("create"))));
  }
  ScriptedEngine engine_;
};

TEST_F(Refuses, AnImageThatTheEngineLacks) {
  for (std::string EstablishRequest::*image :
       {&EstablishRequest::holderImage, &EstablishRequest::helperImage}) {
    EstablishRequest request = aRequest();
    request.*image = "other:1";
    expect(request, ExitCode::kUnsupported, "the engine has no image \"other:1\"");
  }
}

TEST_F(Refuses, ANetworkThatTheEngineLacksOrThatGivesNoVeth) {
  EstablishRequest request = aRequest();
  request.network = "nowhere";
  expect(request, ExitCode::kBadInput, "\"nowhere\", which the engine does not have");
  request.network = "lan";
  expect(request, ExitCode::kBadInput, "of driver \"macvlan\"");
}

TEST_F(Refuses, ADeadlineThatHasPassed) {
  expect(aRequest(), ExitCode::kDeadline, "deadline has passed", test::kJobDeadline);
  EXPECT_THAT(engine_.calls(), IsEmpty());
}

// As the command's handler of signals does it, while each of these calls waits for its answer.
class Ends : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Establish, Ends,
                         testing::Values("info", "create holder", "start holder", "create host",
                                         "run host", "create verify", "attach holder", "run probe",
                                         "wait apply", "run apply", "run verify", "remove verify"),
                         [](const auto& row) { return identifier(row.param); });

TEST_P(Ends, AtAnInterrupt) {
  const std::string call = GetParam();
  ScriptedEngine engine;
  addOthers(engine);
  engine.fail(call, Fault::kSilence);
  Interrupt interrupt;
  std::thread caller([&] {
    const Deadline patience = amplyLater();
    while (!testing::Value(engine.calls(), Contains(call)) && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    interrupt.raise();
  });
  const std::optional<Failure> failure = test::failureOf([&] {
    static_cast<void>(establish(
        Engine(engine.socket(), &interrupt), Engine(engine.socket()), aRequest(), kNow,
        {.attempt = std::chrono::hours(1), .removal = kAmple.removal, .settle = kAmple.settle}));
  });
  caller.join();
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->code(), ExitCode::kDeadline) << failure->what();
  if (call == "info") {
    EXPECT_THAT(failure->what(), HasSubstr("info: interrupted before its end"));
  } else {
    EXPECT_THAT(failure->what(), StartsWith("job job-1 of worker-1: a signal ended the attempt; "));
    EXPECT_THAT(failure->what(),
                HasSubstr(call.rfind("create ", 0) == 0 ? "may still come"
                                                        : "nothing of the attempt is left"));
  }
  EXPECT_THAT(engine.names(), kOthers);
}

// A second signal: whoever sent it wants the end more than he wants to know.
TEST(Establish, GivesUpRemovingAtASecondInterrupt) {
  ScriptedEngine engine;
  Interrupt first;
  Interrupt second;
  engine.fail("remove *", Fault::kRefuse, ScriptedEngine::kAlways);
  engine.after("run probe", [&] { first.raise(); });
  std::thread caller([&] {
    const Deadline patience = amplyLater();
    while (!testing::Value(engine.calls(), Contains("remove holder")) && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    second.raise();
  });
  test::expectFailure(
      [&] {
        static_cast<void>(establish(Engine(engine.socket(), &first),
                                    Engine(engine.socket(), &second), aRequest(), kNow,
                                    {.attempt = std::chrono::hours(1),
                                     .removal = std::chrono::hours(1),
                                     .settle = kAmple.settle}));
      },
      ExitCode::kDeadline, "a signal ended the attempt; these may still exist");
  caller.join();
}

// Removal that fails as well.
class Leaves : public testing::Test {
 protected:
  Leaves() {
    addOthers(engine_);
    engine_.program("verify", [](const std::string&) { return Said{8, "", "it is open\n"}; });
  }
  std::string reason(std::chrono::milliseconds removal) {
    const std::optional<Failure> failure = test::failureOf([&] {
      static_cast<void>(
          establish(Engine(engine_.socket()), aRequest(), kNow,
                    {.attempt = kAmple.attempt, .removal = removal, .settle = kAmple.settle}));
    });
    // The sweep must follow where something is left, whatever it was that failed.
    EXPECT_TRUE(failure.has_value());
    const std::string text = failure ? failure->what() : "";
    EXPECT_THAT(text, StartsWith("job job-1 of worker-1: step verify: exit 8, it is open; "));
    const bool nothing = text.find("; nothing of the attempt is left") != std::string::npos;
    EXPECT_TRUE(failure && failure->code() == (nothing ? ExitCode::kRefused : ExitCode::kEngine));
    return text;
  }
  static constexpr std::chrono::milliseconds kShort{250};
  // For asking every container at least once, although two of them take their shares of it.
  static constexpr std::chrono::milliseconds kEnough{1'500};
  ScriptedEngine engine_;
};

// One call that the engine never answers does not keep the others from being removed.
TEST_F(Leaves, AndNamesAllThatMayStillExist) {
  for (const Fault fault : {Fault::kRefuse, Fault::kDrop, Fault::kPretend, Fault::kSilence}) {
    ScriptedEngine engine;
    engine.program("verify", [](const std::string&) { return Said{8, "", "it is open\n"}; });
    engine.fail("remove holder", fault, ScriptedEngine::kAlways);
    engine.fail("remove host", fault, ScriptedEngine::kAlways);
    test::expectFailure(
        [&] {
          static_cast<void>(establish(Engine(engine.socket()), aRequest(), kNow,
                                      {.attempt = std::chrono::seconds(4), .removal = kEnough}));
        },
        ExitCode::kEngine,
        "step verify: exit 8, it is open; these may still exist, and a sweep removes them: "
        "vethgate.host-job-1 vethgate-job-1");
    EXPECT_THAT(engine.names(),
                testing::UnorderedElementsAre("vethgate-job-1", "vethgate.host-job-1"));
  }
}

TEST_F(Leaves, NothingWhenOnlyTheListFails) {
  engine_.fail("list", Fault::kRefuse, ScriptedEngine::kAlways);
  EXPECT_THAT(reason(kShort),
              HasSubstr("these may still exist, and a sweep removes them: containers with the "
                        "label vethgate.attempt="));
  EXPECT_THAT(engine_.names(), kOthers);
}

TEST_F(Leaves, NothingWhenTheListLagsBehind) {
  engine_.lag(3);
  EXPECT_THAT(reason(kAmple.removal), HasSubstr("nothing of the attempt is left"));
  EXPECT_THAT(engine_.names(), kOthers);
}

TEST_F(Leaves, NothingAndNobodyElsesTouchedWhenTheListIsNotFiltered) {
  engine_.ignoreFilters();
  EXPECT_THAT(reason(kAmple.removal), HasSubstr("nothing of the attempt is left"));
  EXPECT_THAT(engine_.names(), kOthers);
}

TEST_F(Leaves, NothingWhenInspectingFailsForAWhile) {
  engine_.program("verify", [this](const std::string&) {
    engine_.fail("inspect *", Fault::kDrop, 7);
    return Said{8, "", "it is open\n"};
  });
  EXPECT_THAT(reason(kAmple.removal), HasSubstr("nothing of the attempt is left"));
  EXPECT_THAT(engine_.names(), kOthers);
}

}  // namespace
}  // namespace vethgate::docker
