// Answers of real engines, read back, and damaged ones refused.
#include "docker/engine/answers.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "docker/engine/requests.hpp"

namespace vethgate::docker {
namespace {

std::string recorded(const std::string& engine, const std::string& answer) {
  std::ifstream file(VETHGATE_SOURCE_DIR "/tests/offline/docker/engine/data/" + engine + "/" +
                     answer + ".json");
  EXPECT_TRUE(file.good()) << engine << "/" << answer;
  return {std::istreambuf_iterator<char>(file), {}};
}

class Recorded : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string answer(const std::string& name) {
    return recorded(GetParam(), name);
  }
  [[nodiscard]] static bool podman() { return std::string(GetParam()) == "podman-4.3"; }
};

INSTANTIATE_TEST_SUITE_P(Engines, Recorded, testing::Values("docker-20.10", "podman-4.3"),
                         [](const auto& row) { return std::string(row.param).substr(0, 6); });

TEST_P(Recorded, Version) {
  const Version version = readVersion(answer("version"));
  EXPECT_EQ(version.podman, podman());
  EXPECT_EQ(version.api, "1.41");
  EXPECT_EQ(version.engine, podman() ? "4.3.1" : "20.10.24+dfsg1");
  EXPECT_EQ(version.minimumApi, podman() ? "1.24" : "1.12");
  EXPECT_EQ(version.kernel, "6.1.0-50-amd64");
  EXPECT_EQ(version.architecture, "amd64");
}

TEST_P(Recorded, Info) {
  const Info info = readInfo(answer("info"));
  EXPECT_EQ(info.defaultRuntime, "runc");
  EXPECT_EQ(info.cgroupVersion, "1");
  EXPECT_THAT(info.securityOptions, testing::ElementsAre("name=seccomp,profile=default"));
  const auto runc = std::find_if(info.runtimes.begin(), info.runtimes.end(),
                                 [](const Runtime& runtime) { return runtime.name == "runc"; });
  ASSERT_NE(runc, info.runtimes.end());
  EXPECT_EQ(runc->path, podman() ? "/usr/bin/runc" : "runc");
}

TEST_P(Recorded, Container) {
  const Container container = readContainer(answer("container"));
  EXPECT_EQ(container.id, readCreated(answer("created")).id);
  EXPECT_EQ(container.name, "holder-1");
  EXPECT_EQ(container.status, "running");
  EXPECT_TRUE(container.running);
  EXPECT_EQ(container.started.substr(0, 17), "2026-11-29T20:54:");
  EXPECT_GT(container.pid, 0U);
  EXPECT_EQ(container.exitCode, 0U);
  EXPECT_EQ(container.networkMode, "bridge");
  EXPECT_EQ(container.runtime, podman() ? "oci" : "runc");
  EXPECT_EQ(container.user, "65532:65532");
  EXPECT_TRUE(container.readOnlyRoot);
  EXPECT_FALSE(container.privileged);
  EXPECT_THAT(container.capAdd, testing::IsEmpty());
  // Podman spells out what "ALL" stood for.
  EXPECT_THAT(container.capDrop, testing::Contains(podman() ? "NET_RAW" : "ALL"));
  EXPECT_THAT(container.securityOptions, testing::ElementsAre("no-new-privileges"));
  EXPECT_THAT(container.resolvConf, testing::EndsWith("/resolv.conf"));
  EXPECT_EQ(container.labels.at("vethgate.role"), "holder");
  ASSERT_EQ(container.networks.size(), 1U);
  const Endpoint& endpoint = container.networks.begin()->second;
  EXPECT_EQ(container.networks.begin()->first, podman() ? "podman" : "bridge");
  EXPECT_EQ(endpoint.gateway, podman() ? "10.88.0.1" : "172.17.0.1");
  EXPECT_EQ(endpoint.mac.size(), 17U);
}

TEST_P(Recorded, Lists) {
  const auto containers = readContainers(answer("containers"));
  ASSERT_EQ(containers.size(), 1U);
  EXPECT_EQ(containers[0].id, readCreated(answer("created")).id);
  EXPECT_THAT(containers[0].names, testing::ElementsAre("holder-1"));
  EXPECT_EQ(containers[0].state, "running");
  EXPECT_EQ(containers[0].created, podman() ? 1795985674U : 1795985673U);
  EXPECT_EQ(containers[0].labels.at("vethgate.owner"), "tests");
  const auto networks = readNetworks(answer("networks"));
  const auto bridge = std::find_if(networks.begin(), networks.end(),
                                   [](const Network& network) { return network.name == "bridge"; });
  ASSERT_NE(bridge, networks.end());
  EXPECT_EQ(bridge->driver, "bridge");
  ASSERT_EQ(bridge->subnets.size(), 1U);
  EXPECT_EQ(bridge->subnets[0].subnet, podman() ? "10.88.0.0/16" : "172.17.0.0/16");
}

TEST_P(Recorded, Image) {
  const Image image = readImage(answer("image"));
  EXPECT_EQ(image.id.substr(0, 7), "sha256:");
  EXPECT_THAT(image.tags,
              testing::Contains(podman() ? "localhost/vethgate:0.1.0" : "vethgate:0.1.0"));
}

TEST_P(Recorded, Absence) {
  EXPECT_TRUE(namesObject(readMessage(answer("absent-container")), "holder-1"));
  EXPECT_TRUE(namesObject(readMessage(answer("absent-network")), "holder-1"));
  EXPECT_TRUE(namesObject(readMessage(answer("absent-image")), "holder-1:1"));
  EXPECT_FALSE(namesObject(readMessage(answer("absent-container")), "holder"));
}

// Cut anywhere, a document is none.
TEST_P(Recorded, IsRefusedWhenItIsCut) {
  const std::string whole = answer("container");
  const std::size_t end = whole.find_last_of('}');
  EXPECT_NO_THROW(static_cast<void>(readContainer(whole.substr(0, end + 1))));
  for (std::size_t length = 0; length <= end; length += 97) {
    EXPECT_THROW(static_cast<void>(readContainer(whole.substr(0, length))), Failure) << length;
  }
  EXPECT_THROW(static_cast<void>(readContainer(whole.substr(0, end))), Failure);
}

// Each field that is read, without it or with another type.
TEST_P(Recorded, IsRefusedWhenAFieldIsOfAnotherType) {
  const std::string whole = answer("container");
  for (const char* field : {"\"Id\":\"", "\"Name\":\"/", "\"Running\":true", "\"Pid\":",
                            "\"ExitCode\":0", "\"OOMKilled\":false", "\"NetworkMode\":\"",
                            "\"ReadonlyRootfs\":true", "\"Privileged\":false"}) {
    std::string damaged = whole;
    const std::size_t at = damaged.find(field);
    ASSERT_NE(at, std::string::npos) << field;
    const std::size_t colon = damaged.find(':', at);
    damaged.insert(colon + 1, "[],\"Another\":");
    EXPECT_THROW(static_cast<void>(readContainer(damaged)), Failure) << field;
    damaged = whole;
    damaged.insert(at + 1, "Not");
    EXPECT_THROW(static_cast<void>(readContainer(damaged)), Failure) << field;
  }
}

TEST(Message, IsEmptyForWhatIsNone) {
  EXPECT_EQ(readMessage(R"({"message":"text"})"), "text");
  for (const char* text : {"", "null", "[]", "{}", R"({"message":7})", "page not found",
                           R"({"message":"a","message":"b"})"}) {
    EXPECT_EQ(readMessage(text), "") << text;
  }
}

}  // namespace
}  // namespace vethgate::docker
