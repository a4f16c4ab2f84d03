// The client of container engines, call by call, against each engine that it is written for. What
// an engine answers to the same question differs; what the client makes of it must not.
#include <gmock/gmock.h>
#include <sys/utsname.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "docker/engine/engine.hpp"
#include "tests/live/fixture/temporary_file.hpp"
#include "tests/live/on_engine.hpp"

namespace vethgate::live {
namespace {

using docker::ContainerSpec;
using docker::EngineFailure;
using docker::Labels;
using docker::Removal;
using testing::Contains;
using testing::HasSubstr;
using testing::StartsWith;

using Answer = docker::Outcome;

constexpr const char* kAbsentName = "vethgate-absent";
constexpr const char* kAbsentImage = "vethgate:absent";
constexpr int kKilled = 128 + SIGKILL;

Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }
Deadline atOnce() { return Deadline::after(std::chrono::seconds(2)); }

std::string absentId() { return std::string(64, 'a'); }

// How `call` failed; nullopt when it did not.
template <class Call>
std::optional<EngineFailure> failureOf(const Call& call) {
  try {
    call();
  } catch (const EngineFailure& failure) {
    return failure;
  }
  return std::nullopt;
}

template <class Call>
void expectFailure(Answer outcome, ExitCode code, const Call& call) {
  const std::optional<EngineFailure> failure = failureOf(call);
  ASSERT_TRUE(failure) << "it did not fail";
  EXPECT_EQ(failure->outcome(), outcome) << failure->what();
  EXPECT_EQ(failure->code(), code) << failure->what();
}

template <class Call>
void expectRefused(const Call& call) {
  expectFailure(Answer::kRefused, ExitCode::kEngine, call);
}

ContainerSpec containerSpec(const std::string& name, const std::vector<std::string>& command) {
  ContainerSpec spec;
  spec.name = name;
  spec.image = kJobImage;
  spec.command = command;
  spec.labels = {{"conformance.container", name}, {"conformance.other", "x y=z\"{}"}};
  spec.network = "none";
  spec.user = "65534:65534";
  spec.capabilities = {"NET_ADMIN"};
  return spec;
}

TEST_P(OnEngine, ClientKnowsTheEngine) {
  const docker::Engine client(site().engine().socket());
  utsname machine{};
  uname(&machine);
  EXPECT_NO_THROW(client.ping(soon()));
  const docker::Version version = client.version(soon());
  const std::string full(name(GetParam()));  // "docker-20.10"
  EXPECT_THAT(version.engine, StartsWith(full.substr(full.find('-') + 1) + "."));
  EXPECT_EQ(version.podman, isPodman(GetParam()));
  EXPECT_EQ(version.kernel, machine.release);
  const docker::Info info = client.info(soon());
  EXPECT_EQ(info.kernel, machine.release);
  EXPECT_EQ(info.version, version.engine);
  EXPECT_EQ(info.cgroupVersion, "2");
  EXPECT_EQ(info.defaultRuntime, site().engine().defaultRuntime());
  for (const char* wanted : {kRunscBookwormName, kRunscBackportsName}) {
    const auto found = std::find_if(info.runtimes.begin(), info.runtimes.end(),
                                    [&](const docker::Runtime& one) { return one.name == wanted; });
    ASSERT_NE(found, info.runtimes.end()) << wanted;
    if (isPodman(GetParam())) {
      EXPECT_THAT(found->arguments, testing::IsEmpty());
    } else {
      EXPECT_THAT(found->arguments, Contains("--network=sandbox"));
    }
  }
}

TEST_P(OnEngine, ClientLoadsAndFindsImages) {
  const docker::Engine client(site().engine().socket());
  const std::string product = "vethgate:" VETHGATE_VERSION;
  EXPECT_THAT(client.loadImage(VETHGATE_IMAGE, soon()), Contains(testing::EndsWith(product)));
  const std::optional<docker::Image> found = client.findImage(product, soon());
  ASSERT_TRUE(found);
  std::string digest;
  std::ifstream(std::filesystem::path(VETHGATE_IMAGE).replace_extension("digest")) >> digest >>
      digest;
  EXPECT_EQ(found->id, digest);
  EXPECT_THAT(found->tags, Contains(testing::EndsWith(product)));
  EXPECT_FALSE(client.findImage(kAbsentImage, soon()));

  const TemporaryFile garbage("this is no image");
  const std::optional<EngineFailure> failure =
      failureOf([&] { (void)client.loadImage(garbage.path(), soon()); });
  ASSERT_TRUE(failure) << "it was loaded";
  EXPECT_NE(failure->outcome(), Answer::kAbsent) << failure->what();
  EXPECT_NE(failure->outcome(), Answer::kNotSent) << failure->what();
}

TEST_P(OnEngine, ClientFindsNetworks) {
  const docker::Engine client(site().engine().socket());
  const std::optional<docker::Network> usual = client.findNetwork(site().network(), soon());
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->name, site().network());
  EXPECT_EQ(usual->driver, "bridge");
  ASSERT_EQ(usual->subnets.size(), 1U);
  EXPECT_EQ(usual->subnets.front().subnet, isPodman(GetParam()) ? "10.88.0.0/16" : "172.17.0.0/16");
  EXPECT_FALSE(usual->ipv6);
  const std::optional<docker::Network> again = client.findNetwork(usual->id, soon());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->name, usual->name);
  for (const std::string& absent : {std::string(kAbsentName), absentId()}) {
    EXPECT_FALSE(client.findNetwork(absent, soon())) << absent;
  }

  const auto named = [&](const Labels& labels) {
    std::vector<std::string> names;
    for (const docker::Network& network : client.listNetworks(labels, soon())) {
      names.push_back(network.name);
    }
    return names;
  };
  site().engine().need({"network", "create", "--internal", "--subnet", "10.211.0.0/24", "--label",
                        "conformance.network=one", "conformance-one"});
  EXPECT_THAT(named({{"conformance.network", "one"}}), testing::ElementsAre("conformance-one"));
  EXPECT_THAT(named({{"conformance.network", "on"}}), testing::IsEmpty());
  const docker::Network made = client.findNetwork("conformance-one", soon()).value();
  EXPECT_TRUE(made.internal);
  EXPECT_EQ(made.labels.at("conformance.network"), "one");
  EXPECT_EQ(made.subnets.front().subnet, "10.211.0.0/24");
  site().engine().need({"network", "rm", "conformance-one"});
  EXPECT_FALSE(client.findNetwork("conformance-one", soon()));
}

std::vector<std::string> idsOf(const docker::Engine& client, const Labels& labels) {
  std::vector<std::string> ids;
  for (const docker::ContainerSummary& one : client.listContainers(labels, soon())) {
    ids.push_back(one.id);
  }
  return ids;
}

TEST_P(OnEngine, ClientLeadsAContainerFromItsCreationToItsRemoval) {
  const docker::Engine client(site().engine().socket());
  const ContainerSpec spec = containerSpec("conformance", {"/payload", "--hold"});
  const std::string id = client.createContainer(spec, soon()).id;
  const docker::Container created = client.findContainer("conformance", soon()).value();
  EXPECT_EQ(created.id, id);
  EXPECT_EQ(created.name, "conformance");
  EXPECT_EQ(created.status, "created");
  EXPECT_FALSE(created.running);
  EXPECT_EQ(created.networkMode, "none");
  EXPECT_EQ(created.user, spec.user);
  EXPECT_TRUE(created.readOnlyRoot);
  EXPECT_FALSE(created.privileged);
  for (const auto& [key, value] : spec.labels) {
    EXPECT_EQ(created.labels.at(key), value);
  }
  EXPECT_THAT(idsOf(client, spec.labels), testing::ElementsAre(id));
  EXPECT_THAT(idsOf(client, {{"conformance.container", "conformanc"}}), testing::IsEmpty());
  // The name is taken, and stays with whom it belongs to.
  expectRefused([&] { (void)client.createContainer(spec, soon()); });
  EXPECT_THAT(idsOf(client, spec.labels), testing::ElementsAre(id));

  client.startContainer(id, soon());
  expectRefused([&] { client.startContainer(id, soon()); });
  const docker::Container running = client.findContainer(id, soon()).value();
  EXPECT_TRUE(running.running);
  EXPECT_EQ(running.status, "running");
  EXPECT_GT(running.pid, 1U);
  EXPECT_EQ(kill(static_cast<pid_t>(running.pid), 0), 0);
  EXPECT_EQ(client.listContainers(spec.labels, soon()).at(0).state, "running");
  expectFailure(Answer::kUnanswered, ExitCode::kDeadline,
                [&] { (void)client.waitContainer(id, atOnce()); });

  client.killContainer("conformance", soon());
  EXPECT_EQ(client.waitContainer(id, soon()), kKilled);
  const docker::Container ended = client.findContainer(id, soon()).value();
  EXPECT_FALSE(ended.running);
  // Podman 5 says "stopped" until it has tidied up behind it.
  EXPECT_THAT(ended.status, testing::AnyOf("exited", "stopped"));
  EXPECT_EQ(ended.exitCode, static_cast<std::uint64_t>(kKilled));
  EXPECT_EQ(ended.pid, 0U);
  expectRefused([&] { client.killContainer(id, soon()); });

  EXPECT_EQ(client.removeContainer(id, soon()), Removal::kRemoved);
  EXPECT_EQ(client.removeContainer(id, soon()), Removal::kAbsent);
  EXPECT_FALSE(client.findContainer(id, soon()));
  EXPECT_FALSE(client.findContainer("conformance", soon()));
  EXPECT_THAT(idsOf(client, spec.labels), testing::IsEmpty());
}

TEST_P(OnEngine, ClientRemovesAContainerThatRunsAndOneThatNeverDid) {
  const docker::Engine client(site().engine().socket());
  const std::string running =
      client.createContainer(containerSpec("conformance", {"/payload", "--hold"}), soon()).id;
  client.startContainer(running, soon());
  ContainerSpec joined = containerSpec("conformance-joined", {"/payload"});
  joined.network = "container:" + running;
  const std::string never = client.createContainer(joined, soon()).id;
  EXPECT_EQ(client.findContainer(never, soon()).value().networkMode, "container:" + running);
  try {
    EXPECT_EQ(client.waitContainer(never, soon()), 0);
  } catch (const docker::EngineFailure& failure) {
    // Podman may say -1, which is no exit status: 5.4 does, 4.3 now and then.
    EXPECT_TRUE(isPodman(GetParam())) << failure.what();
    EXPECT_EQ(failure.outcome(), Answer::kUnanswered) << failure.what();
  }
  EXPECT_EQ(client.removeContainer(never, soon()), Removal::kRemoved);
  EXPECT_EQ(client.removeContainer(running, soon()), Removal::kRemoved);
  EXPECT_FALSE(client.findContainer(running, soon()));
}

TEST_P(OnEngine, ClientTakesOnlyTheEnginesWordForAbsence) {
  const docker::Engine client(site().engine().socket());
  for (const std::string& absent : {std::string(kAbsentName), absentId()}) {
    EXPECT_FALSE(client.findContainer(absent, soon())) << absent;
    EXPECT_EQ(client.removeContainer(absent, soon()), Removal::kAbsent) << absent;
    const auto expectAbsent = [&](const auto& call) {
      expectFailure(Answer::kAbsent, ExitCode::kEngine, call);
    };
    expectAbsent([&] { client.startContainer(absent, soon()); });
    expectAbsent([&] { client.killContainer(absent, soon()); });
    expectAbsent([&] { (void)client.attach(absent, false, soon()); });
    // Podman's 404 to this does not name the container, and so is a refusal like any other.
    expectFailure(isPodman(GetParam()) ? Answer::kRefused : Answer::kAbsent, ExitCode::kEngine,
                  [&] { (void)client.waitContainer(absent, soon()); });
  }
  // A create that lacks something else says nothing about the container.
  ContainerSpec spec = containerSpec("conformance", {"/payload"});
  spec.image = kAbsentImage;
  expectRefused([&] { (void)client.createContainer(spec, soon()); });
  EXPECT_FALSE(client.findContainer("conformance", soon()));
  // A program that is not there: the start is refused, and the container is still one to remove.
  const std::string id =
      client.createContainer(containerSpec("conformance", {"/absent"}), soon()).id;
  expectRefused([&] { client.startContainer(id, soon()); });
  EXPECT_EQ(client.removeContainer(id, soon()), Removal::kRemoved);
}

TEST_P(OnEngine, ClientSpeaksWithAContainer) {
  const docker::Engine client(site().engine().socket());
  std::string input;
  for (std::size_t i = 0; input.size() < (std::size_t{1} << 20); ++i) {
    input += std::to_string(i) + std::string(1, static_cast<char>(i));  // every byte there is
  }
  ContainerSpec spec = containerSpec("conformance", {"/payload", "--echo"});
  spec.takesInput = true;
  const std::string talking = client.createContainer(spec, soon()).id;
  docker::Attachment streams = client.attach(talking, true, soon());
  client.startContainer(talking, soon());
  const docker::Output said = streams.converse(input, soon());
  EXPECT_EQ(client.waitContainer(talking, soon()), 7);
  EXPECT_TRUE(said.out == input) << said.out.size() << " bytes of " << input.size();
  EXPECT_EQ(said.err, "echoed " + std::to_string(input.size()) + " bytes\n");
  EXPECT_EQ(client.removeContainer(talking, soon()), Removal::kRemoved);

  const std::string quiet =
      client.createContainer(containerSpec("conformance", {"/payload", "--echo"}), soon()).id;
  docker::Attachment heard = client.attach(quiet, false, soon());
  client.startContainer(quiet, soon());
  const docker::Output without = heard.converse("", soon());
  EXPECT_EQ(without.out, "");
  EXPECT_EQ(without.err, "echoed 0 bytes\n");
  EXPECT_EQ(client.waitContainer(quiet, soon()), 7);
  EXPECT_EQ(client.removeContainer(quiet, soon()), Removal::kRemoved);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(EngineDocker20, OnEngine, testing::Values(EngineKind::kDocker20));
INSTANTIATE_TEST_SUITE_P(EngineDocker26, OnEngine, testing::Values(EngineKind::kDocker26));
INSTANTIATE_TEST_SUITE_P(EnginePodman4, OnEngine, testing::Values(EngineKind::kPodman4));
INSTANTIATE_TEST_SUITE_P(EnginePodman5, OnEngine, testing::Values(EngineKind::kPodman5));

}  // namespace vethgate::live
