// Every call against a stand-in that answers well, badly or not at all.
#include "docker/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <vector>

#include "tests/offline/docker/engine/support.hpp"

namespace vethgate::docker {
namespace {

using test::always;
using test::Connection;
using test::expectFailure;
using test::kId;
using test::kOtherId;
using test::later;
using test::soon;
using test::StandIn;
using testing::HasSubstr;

// Every call that is one exchange, by what it asks and how it is answered when all is well.
struct Call {
  const char* name;
  std::function<void(const Engine&, const Deadline&)> perform;
  int status;
  std::string body;
  const char* method;
  const char* target;
};

void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }

ContainerSpec aSpec() {
  ContainerSpec spec;
  spec.name = "job-1";
  spec.image = "vethgate:1";
  spec.command = {"/vethgate-hold"};
  spec.network = "none";
  return spec;
}

const std::string kNetwork =
    R"({"Id":")" + kId +
    R"(","Name":"jobs","Driver":"bridge","Internal":false,"EnableIPv6":false,"IPAM":{"Config":null}})";

const std::vector<Call>& calls() {
  static const std::vector<Call> all{
      {"Ping", [](const Engine& e, const Deadline& d) { e.ping(d); }, 200, "OK", "GET",
       "/v1.41/_ping"},
      {"Version", [](const Engine& e, const Deadline& d) { static_cast<void>(e.version(d)); }, 200,
       R"({"Version":"20.10.24","ApiVersion":"1.41"})", "GET", "/v1.41/version"},
      {"Info", [](const Engine& e, const Deadline& d) { static_cast<void>(e.info(d)); }, 200,
       R"({"ServerVersion":"1","KernelVersion":"6.1","DefaultRuntime":"runc","Runtimes":{"runc":{"path":"runc"}}})",
       "GET", "/v1.41/info"},
      {"FindImage",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.findImage("vethgate:1", d)); },
       200, R"({"Id":"sha256:)" + kId + R"(","RepoTags":["vethgate:1"]})", "GET",
       "/v1.41/images/vethgate:1/json"},
      {"FindNetwork",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.findNetwork("jobs", d)); }, 200,
       kNetwork, "GET", "/v1.41/networks/jobs"},
      {"ListNetworks",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.listNetworks({}, d)); }, 200,
       "[" + kNetwork + "]", "GET", "/v1.41/networks?filters=%7B%22label%22%3A%5B%5D%7D"},
      {"Create",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.createContainer(aSpec(), d)); },
       201, R"({"Id":")" + kId + R"(","Warnings":[]})", "POST",
       "/v1.41/containers/create?name=job-1"},
      {"Start", [](const Engine& e, const Deadline& d) { e.startContainer("job-1", d); }, 204, "",
       "POST", "/v1.41/containers/job-1/start"},
      {"Wait",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.waitContainer("job-1", d)); },
       200, R"({"StatusCode":3,"Error":null})", "POST",
       "/v1.41/containers/job-1/wait?condition=not-running"},
      {"Kill", [](const Engine& e, const Deadline& d) { e.killContainer("job-1", d); }, 204, "",
       "POST", "/v1.41/containers/job-1/kill?signal=SIGKILL"},
      {"Remove",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.removeContainer("job-1", d)); },
       204, "", "DELETE", "/v1.41/containers/job-1?force=true&v=true"},
      {"FindContainer",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.findContainer("job-1", d)); },
       200, test::containerText(kId, "job-1"), "GET", "/v1.41/containers/job-1/json"},
      {"ListContainers",
       [](const Engine& e, const Deadline& d) { static_cast<void>(e.listContainers({}, d)); }, 200,
       R"([{"Id":")" + kId + R"(","Names":["/job-1"],"State":"exited","Labels":null}])", "GET",
       "/v1.41/containers/json?all=true&filters=%7B%22label%22%3A%5B%5D%7D"},
  };
  return all;
}

class EveryCall : public testing::TestWithParam<Call> {
 protected:
  // What the call comes to when every connection is treated by `handler`.
  void expect(StandIn::Handler handler, ExitCode code, Outcome outcome, const std::string& part,
              const Deadline& deadline = later()) {
    const StandIn engine(std::move(handler));
    expectFailure([&] { GetParam().perform(Engine(engine.socket()), deadline); }, code, outcome,
                  part);
    EXPECT_LE(engine.received().size(), 1U) << "a request was sent twice";
  }
  [[nodiscard]] bool hasBody() const { return !GetParam().body.empty(); }
};

INSTANTIATE_TEST_SUITE_P(Engine, EveryCall, testing::ValuesIn(calls()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_P(EveryCall, AsksForItsObjectOnceAndTakesTheAnswer) {
  const Call& call = GetParam();
  const StandIn engine(always(call.status, call.body));
  EXPECT_NO_THROW(call.perform(Engine(engine.socket()), later()));
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].method, call.method);
  EXPECT_EQ(received[0].target, call.target);
  EXPECT_EQ(received[0].headers.count("expect"), 0U);
}

TEST_P(EveryCall, TakesAChunkedAnswer) {
  const Call& call = GetParam();
  const StandIn engine([&](Connection& connection) {
    if (call.status == 204) {
      connection.answer(204, "");
      return;
    }
    connection.send("HTTP/1.1 " + std::to_string(call.status) +
                    " OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const char c : call.body) {
      connection.send("1\r\n" + std::string(1, c) + "\r\n");
    }
    connection.send("0\r\n\r\n");
  });
  EXPECT_NO_THROW(call.perform(Engine(engine.socket()), later()));
}

TEST_P(EveryCall, IsNotSentAfterItsDeadline) {
  const StandIn engine(always(GetParam().status, GetParam().body));
  const Deadline passed = Deadline::after(std::chrono::milliseconds(0));
  expectFailure([&] { GetParam().perform(Engine(engine.socket()), passed); }, ExitCode::kDeadline,
                Outcome::kNotSent, "the deadline had passed before it was sent");
  EXPECT_TRUE(engine.received().empty());
}

TEST_P(EveryCall, EndsAtItsDeadlineWithoutAnAnswer) {
  expect([](Connection& connection) { connection.holdUntilClientLeaves(); }, ExitCode::kDeadline,
         Outcome::kUnanswered, "the deadline passed without a whole answer", soon());
}

TEST_P(EveryCall, EndsAtItsDeadlineWithinTheAnswer) {
  expect(
      [](Connection& connection) {
        connection.head(GetParam().status == 204 ? 200 : GetParam().status, 100);
        connection.send("{");
        connection.holdUntilClientLeaves();
      },
      ExitCode::kDeadline, Outcome::kUnanswered, "the deadline passed without a whole answer",
      soon());
}

TEST_P(EveryCall, TakesNoEndForAnAnswer) {
  expect([](Connection& connection) { connection.drop(); }, ExitCode::kEngine, Outcome::kUnanswered,
         "no whole answer");
  // A status line that ends early, and a head.
  expect([](Connection& connection) { connection.send("HTTP/1.1 20"); }, ExitCode::kEngine,
         Outcome::kUnanswered, "no whole answer");
}

TEST_P(EveryCall, TakesNoHalfOfAnAnswer) {
  if (!hasBody()) {
    return;  // there is no half
  }
  const Call& call = GetParam();
  const std::string half = call.body.substr(0, call.body.size() / 2);
  expect(
      [&](Connection& connection) {
        connection.head(call.status, call.body.size());
        connection.send(half);
      },
      ExitCode::kEngine, Outcome::kUnanswered, "no whole answer");
  expect(
      [&](Connection& connection) {
        connection.send("HTTP/1.1 " + std::to_string(call.status) +
                        " OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        connection.send("1\r\n" + call.body.substr(0, 1) + "\r\n");
      },
      ExitCode::kEngine, Outcome::kUnanswered, "no whole answer");
}

TEST_P(EveryCall, TakesNothingButHttp) {
  expect([](Connection& connection) { connection.send("OK\n"); }, ExitCode::kEngine,
         Outcome::kUnanswered, "no whole answer");
}

TEST_P(EveryCall, TakesNoOtherStatusForSuccess) {
  for (const int status : {200, 201, 202, 204, 304, 301, 400, 401, 403, 409, 500, 503}) {
    if (status == GetParam().status) {
      continue;
    }
    expect(always(status, R"({"message":"the engine's reason"})"), ExitCode::kEngine,
           Outcome::kRefused, "status " + std::to_string(status) + " where ");
  }
}

TEST_P(EveryCall, SaysTheEnginesReasonInPrintableAndBounded) {
  expect(always(500, "{\"message\":\"no \\u001b[31mspace " + std::string(1000, 'x') + "\"}"),
         ExitCode::kEngine, Outcome::kRefused, "\"no ?[31mspace xxx");
  const StandIn engine(always(500, std::string(100'000, 'y')));
  const auto failure =
      test::failureOf([&] { GetParam().perform(Engine(engine.socket()), later()); });
  ASSERT_TRUE(failure.has_value());
  EXPECT_LT(std::string(failure->what()).size(), 600U);
}

TEST_P(EveryCall, FollowsNoRedirection) {
  const StandIn elsewhere(always(GetParam().status, GetParam().body));
  expect(
      [](Connection& connection) {
        connection.send(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://engine/v1.41/_ping\r\n"
            "Content-Length: 0\r\n\r\n");
      },
      ExitCode::kEngine, Outcome::kRefused, "status 307");
}

TEST_P(EveryCall, BoundsTheHeadOfAnAnswer) {
  expect(
      [](Connection& connection) {
        connection.send("HTTP/1.1 200 OK\r\n");
        const std::string line = "X-Padding: " + std::string(1000, 'x') + "\r\n";
        for (int i = 0; i < 100; ++i) {
          connection.send(line);
        }
        connection.send("Content-Length: 0\r\n\r\n");
      },
      ExitCode::kEngine, Outcome::kUnanswered, "longer than the 65536 bytes");
}

TEST_P(EveryCall, BoundsTheBodyOfAnAnswer) {
  expect(
      [](Connection& connection) {
        connection.head(200, std::size_t{1} << 40);
        const std::string chunk(1 << 20, ' ');
        for (int i = 0; i < 64 && !connection.stopping(); ++i) {
          connection.send(chunk);
        }
      },
      ExitCode::kEngine, Outcome::kUnanswered, "bytes that are accepted");
}

TEST_P(EveryCall, SaysThatNothingListens) {
  expectFailure([] { GetParam().perform(Engine("/tmp/vethgate-no-such-socket"), later()); },
                ExitCode::kEngine, Outcome::kNotSent,
                "the container engine at /tmp/vethgate-no-such-socket: ");
}

// Answers with JSON are read strictly; ping and those without a body have none.
TEST_P(EveryCall, TakesNoAnswerThatItDoesNotUnderstand) {
  if (!hasBody() || GetParam().body == "OK") {
    return;
  }
  for (const char* body : {"", "null", "{", "[1]", "7", "{\"Id\":7}", "{}{}", "<html>"}) {
    expect(always(GetParam().status, body), ExitCode::kEngine, Outcome::kUnanswered,
           "the answer is not understood");
  }
  // A duplicate key: which of the two would be meant?
  std::string twice = GetParam().body;
  const std::size_t open = twice.find('{');
  twice.insert(open + 1, R"("Extra":1,"Extra":2,)");
  expect(always(GetParam().status, twice), ExitCode::kEngine, Outcome::kUnanswered,
         "stands twice in one object");
  // The control: a key that nobody asks for is the engine's business.
  std::string once = GetParam().body;
  once.insert(once.find('{') + 1, R"("Extra":{"nested":[1]},)");
  const StandIn engine(always(GetParam().status, once));
  EXPECT_NO_THROW(GetParam().perform(Engine(engine.socket()), later()));
}

TEST(Environment, RedirectsNothing) {
  const StandIn wanted(always(200, "OK"));
  const StandIn proxy(always(200, "OK"));
  const std::string address = "unix://" + proxy.socket();
  const std::vector<const char*> names{"DOCKER_HOST", "http_proxy", "HTTP_PROXY", "all_proxy",
                                       "ALL_PROXY",   "no_proxy",   "NO_PROXY"};
  for (const char* name : names) {
    setenv(name, std::string(name) == "DOCKER_HOST" ? address.c_str() : "http://127.0.0.1:9", 1);
  }
  EXPECT_NO_THROW(Engine(wanted.socket()).ping(later()));
  EXPECT_EQ(Engine().socket(), "/var/run/docker.sock");
  for (const char* name : names) {
    unsetenv(name);
  }
  ASSERT_EQ(wanted.received().size(), 1U);
  // A proxy would be asked for a whole URL.
  EXPECT_EQ(wanted.received()[0].target, "/v1.41/_ping");
  EXPECT_TRUE(proxy.received().empty());
}

TEST(Socket, IsAnAbsolutePathThatFits) {
  const auto accepted = [](const std::string& path) {
    try {
      static_cast<void>(Engine(path));
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kBadInput);
      return false;
    }
    return true;
  };
  EXPECT_TRUE(accepted("/run/podman/podman.sock"));
  EXPECT_TRUE(accepted("/" + std::string(106, 'x')));
  EXPECT_FALSE(accepted("/" + std::string(107, 'x')));
  EXPECT_FALSE(accepted(""));
  EXPECT_FALSE(accepted("docker.sock"));
  EXPECT_FALSE(accepted("unix:///run/docker.sock"));
}

// What the calls conclude from a 404.
struct Search {
  const char* name;
  std::function<bool(const Engine&)> found;  // false: absent
  const char* absent;                        // the engine's words for it
  const char* another;                       // about some other object
};

void PrintTo(const Search& search, std::ostream* out) { *out << search.name; }

class EverySearch : public testing::TestWithParam<Search> {};

INSTANTIATE_TEST_SUITE_P(
    Engine, EverySearch,
    testing::Values(
        Search{"Container",
               [](const Engine& e) { return e.findContainer("job-1", later()).has_value(); },
               "No such container: job-1", "No such container: job-12"},
        Search{"Network",
               [](const Engine& e) { return e.findNetwork("jobs", later()).has_value(); },
               "network jobs not found", "network jobs-2 not found"},
        Search{"Image",
               [](const Engine& e) { return e.findImage("vethgate:1", later()).has_value(); },
               "No such image: vethgate:1", "No such image: vethgate:12"},
        Search{"Removal",
               [](const Engine& e) {
                 return e.removeContainer("job-1", later()) == Removal::kRemoved;
               },
               "No such container: job-1", "No such container: x"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_P(EverySearch, TakesOnlyANamed404ForAbsence) {
  const Search& search = GetParam();
  const auto body = [](const std::string& message) {
    return R"({"message":")" + message + R"("})";
  };
  {
    const StandIn engine(always(404, body(search.absent)));
    EXPECT_FALSE(search.found(Engine(engine.socket())));
  }
  const std::map<int, std::vector<std::string>> others{
      {404,
       {body(search.another), body("page not found"), "404 page not found", "", "{}",
        R"({"message":7})", search.absent}},
      {500, {body(search.absent)}},
      {409, {body(search.absent)}},
      {400, {body(search.absent)}}};
  for (const auto& [status, bodies] : others) {
    for (const std::string& text : bodies) {
      const StandIn engine(always(status, text));
      expectFailure([&] { static_cast<void>(search.found(Engine(engine.socket()))); },
                    ExitCode::kEngine, Outcome::kRefused, "status " + std::to_string(status));
    }
  }
}

TEST(Absence, OfWhatIsToBeStartedIsAFailureOfItsOwnKind) {
  const StandIn engine(always(404, R"({"message":"No such container: job-1"})"));
  const Engine client(engine.socket());
  expectFailure([&] { client.startContainer("job-1", later()); }, ExitCode::kEngine,
                Outcome::kAbsent, "start container \"job-1\": status 404");
  expectFailure([&] { client.killContainer("job-1", later()); }, ExitCode::kEngine,
                Outcome::kAbsent, "kill container \"job-1\"");
  expectFailure([&] { static_cast<void>(client.waitContainer("job-1", later())); },
                ExitCode::kEngine, Outcome::kAbsent, "wait for container \"job-1\"");
}

TEST(Create, OfAnImageThatIsAbsentSaysNothingOfTheContainer) {
  const StandIn engine(always(404, R"({"message":"No such image: job-1"})"));
  expectFailure(
      [&] { static_cast<void>(Engine(engine.socket()).createContainer(aSpec(), later())); },
      ExitCode::kEngine, Outcome::kRefused, "No such image: job-1");
}

TEST(Create, TakesNothingButAFullId) {
  for (const std::string& id :
       {kId.substr(1), kId + "a", std::string(64, 'A'), std::string(64, 'g'), std::string()}) {
    const StandIn engine(always(201, R"({"Id":")" + id + R"("})"));
    expectFailure(
        [&] { static_cast<void>(Engine(engine.socket()).createContainer(aSpec(), later())); },
        ExitCode::kEngine, Outcome::kUnanswered, "no id of 64 hexadecimal digits");
  }
  const StandIn engine(always(201, R"({"Id":")" + kId + R"(","Warnings":["w"]})"));
  const Created created = Engine(engine.socket()).createContainer(aSpec(), later());
  EXPECT_EQ(created.id, kId);
  EXPECT_THAT(created.warnings, testing::ElementsAre("w"));
  EXPECT_EQ(engine.received().at(0).headers.at("content-type"), "application/json");
  EXPECT_THAT(engine.received().at(0).body, HasSubstr(R"("CapDrop":["ALL"])"));
}

TEST(Inspect, TakesNoAnswerAboutAnotherObject) {
  const StandIn engine(always(200, test::containerText(kId, "job-1")));
  const Engine client(engine.socket());
  EXPECT_EQ(client.findContainer("job-1", later())->id, kId);
  EXPECT_EQ(client.findContainer(kId, later())->name, "job-1");
  for (const std::string& other : {kOtherId, std::string("job-12"), kId.substr(0, 12)}) {
    expectFailure([&] { static_cast<void>(client.findContainer(other, later())); },
                  ExitCode::kEngine, Outcome::kUnanswered, "about another object, \"job-1\"");
  }
  const StandIn networks(always(200, kNetwork));
  EXPECT_TRUE(Engine(networks.socket()).findNetwork(kId, later()).has_value());
  expectFailure([&] { static_cast<void>(Engine(networks.socket()).findNetwork("job", later())); },
                ExitCode::kEngine, Outcome::kUnanswered, "about another object, \"jobs\"");
}

// Whether or not the engine heeds the filter.
TEST(List, PassesOverWhatDoesNotCarryTheLabels) {
  const auto listed = [](const std::string& id, const std::string& labels) {
    return R"({"Id":")" + id + R"(","Names":["/a"],"State":"running","Labels":)" + labels + "}";
  };
  const Labels wanted{{"vethgate.owner", "me"}, {"vethgate.job", "j"}};
  std::string all = "[" + listed(kId, R"({"vethgate.owner":"me","vethgate.job":"j","x":"y"})");
  for (const char* labels : {"null", "{}", R"({"vethgate.owner":"me"})", R"({"x":"me"})",
                             R"({"vethgate.owner":"you","vethgate.job":"j"})"}) {
    all += "," + listed(kOtherId, labels);
  }
  const StandIn engine(always(200, all + "]"));
  const auto found = Engine(engine.socket()).listContainers(wanted, later());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().id, kId);
  EXPECT_EQ(Engine(engine.socket()).listContainers({}, later()).size(), 6U);
}

TEST(Wait, ReadsTheExitStatus) {
  const auto waited = [](const std::string& body) {
    const StandIn engine(always(200, body));
    return Engine(engine.socket()).waitContainer("job-1", later());
  };
  EXPECT_EQ(waited(R"({"StatusCode":0})"), 0);
  EXPECT_EQ(waited(R"({"StatusCode":255,"Error":{"Message":""}})"), 255);
  for (const char* body :
       {R"({"StatusCode":256})", R"({"StatusCode":-1})", R"({"StatusCode":"0"})",
        R"({"StatusCode":0.0})", "{}", R"({"StatusCode":0,"Error":{"Message":"lost"}})"}) {
    EXPECT_TRUE(test::failureOf([&] { static_cast<void>(waited(body)); }).has_value()) << body;
  }
}

class ImageFile {
 public:
  explicit ImageFile(std::size_t bytes) {
    std::ofstream(path_, std::ios::binary) << std::string(bytes, 'i');
  }
  ~ImageFile() { unlink(path_.c_str()); }
  ImageFile(const ImageFile&) = delete;
  ImageFile& operator=(const ImageFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "vethgate-image-" + std::to_string(getpid());
};

TEST(Load, SendsTheWholeFileAndReadsWhatWasLoaded) {
  constexpr std::size_t kBytes = 5'000'001;
  const ImageFile file(kBytes);
  const StandIn engine(always(200,
                              "{\"stream\":\"Loaded image: vethgate:1\\n\"}\r\n"
                              "{\"stream\":\"Loaded image ID: sha256:00\\n\"}\n"));
  EXPECT_THAT(Engine(engine.socket()).loadImage(file.path(), later()),
              testing::ElementsAre("vethgate:1", "sha256:00"));
  const auto received = engine.received();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].target, "/v1.41/images/load?quiet=true");
  EXPECT_EQ(received[0].body, std::string(kBytes, 'i'));
  EXPECT_EQ(received[0].headers.at("content-type"), "application/x-tar");
  EXPECT_EQ(received[0].headers.count("expect"), 0U);
}

TEST(Load, TakesNoErrorForSuccess) {
  const ImageFile file(10);
  for (const char* body : {"{\"errorDetail\":{\"message\":\"no space\"},\"error\":\"no space\"}",
                           "{\"stream\":\"Loaded image: a\"}\n{\"error\":\"late\"}", "",
                           "{\"status\":\"reading\"}", "{\"stream\":\"Loaded image: a\"}\n{"}) {
    const StandIn engine(always(200, body));
    expectFailure(
        [&] { static_cast<void>(Engine(engine.socket()).loadImage(file.path(), later())); },
        ExitCode::kEngine, Outcome::kUnanswered, "the answer is not understood");
  }
}

TEST(Load, RefusesAFileThatIsNoImage) {
  const StandIn engine(always(200, "{\"stream\":\"Loaded image: a\"}"));
  const Engine client(engine.socket());
  const ImageFile empty(0);
  for (const std::string& path : {empty.path(), testing::TempDir(), std::string("/nonexistent")}) {
    try {
      static_cast<void>(client.loadImage(path, later()));
      ADD_FAILURE() << path;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kBadInput) << failure.what();
    }
  }
  EXPECT_TRUE(engine.received().empty());
}

TEST(Threads, MayShareAnEngine) {
  const StandIn engine(always(200, "OK"));
  const Engine client(engine.socket());
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 20; ++call) {
        EXPECT_NO_THROW(client.ping(later()));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(engine.received().size(), 160U);
}

}  // namespace
}  // namespace vethgate::docker
