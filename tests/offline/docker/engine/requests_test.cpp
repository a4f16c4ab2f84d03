// What is asked, and which names may stand in it.
#include "docker/engine/requests.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "base/json.hpp"

namespace vethgate::docker {
namespace {

bool accepted(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kBadInput);
    return false;
  }
  return true;
}

bool isName(const std::string& name) {
  return accepted([&] { static_cast<void>(checkedName(name, "container")); });
}

bool isImage(const std::string& name) {
  return accepted([&] { static_cast<void>(checkedImage(name)); });
}

TEST(Names, AreThoseOfAnEngine) {
  for (const char* name : {"a", "vethgate-job.1_x", "0123456789abcdef", "A-"}) {
    EXPECT_TRUE(isName(name)) << name;
  }
  EXPECT_TRUE(isName(std::string(128, 'x')));
  EXPECT_FALSE(isName(std::string(129, 'x')));
  for (const char* name : {"", "-a", ".a", "_a", "a/b", "a b", "a?b", "a%2fb", "..", "a\n", "a#b",
                           "\xc3\xa4", "a&force=1"}) {
    EXPECT_FALSE(isName(name)) << name;
  }
}

TEST(Names, OfImagesLeadNowhereElse) {
  for (const char* name :
       {"vethgate:0.1.0", "registry.example/library/vethgate:1", "localhost:5000/a/b@sha256:00"}) {
    EXPECT_TRUE(isImage(name)) << name;
  }
  for (const char* name :
       {"", "/a", "a//b", "a/../b", "a/./b", "..", "a/", "a?b", "a b", "a%2e", "a/.."}) {
    EXPECT_FALSE(isImage(name)) << name;
  }
}

TEST(Absence, IsA404ThatNamesTheObject) {
  const std::string id(64, 'a');
  // docker 20.10 and podman 4.3.
  EXPECT_TRUE(namesObject("No such container: job-1", "job-1"));
  EXPECT_TRUE(namesObject("No such container: " + id, id));
  EXPECT_TRUE(namesObject("network job-1 not found", "job-1"));
  EXPECT_TRUE(namesObject("no such image: vethgate:1: No such image: vethgate:1", "vethgate:1"));
  EXPECT_TRUE(
      namesObject("no container with name or ID \"job-1\" found: no such container", "job-1"));
  EXPECT_TRUE(
      namesObject("unable to find network with name or ID job-1: network not found", "job-1"));
  EXPECT_TRUE(namesObject(
      "failed to find image vethgate:1: registry.example/library/vethgate:1: No such image",
      "vethgate:1"));

  for (const char* message :
       {"", "page not found", "No such container: job-12", "No such container: my-job-1",
        "No such container: job-1.old", "No such container: job-1_", "No such container: Job-1"}) {
    EXPECT_FALSE(namesObject(message, "job-1")) << message;
  }
  EXPECT_TRUE(namesObject("No such container: job-12 (job-1)", "job-1"));
  EXPECT_FALSE(namesObject("No such container: " + id.substr(1), id));
}

TEST(Absence, IsNotShownByAWordOfTheSentence) {
  EXPECT_FALSE(namesObject("No such container: other", "container"));
  EXPECT_FALSE(namesObject("No such container: other", "No"));
  EXPECT_FALSE(namesObject("network other not found", "network"));
  EXPECT_FALSE(namesObject("anything", ""));
}

TEST(Filters, AreEncodedToTheLastByte) {
  EXPECT_EQ(labelFilter({{"vethgate.owner", "a b&c"}}),
            "filters=%7B%22label%22%3A%5B%22vethgate.owner%3Da%20b%26c%22%5D%7D");
  EXPECT_EQ(labelFilter({}), "filters=%7B%22label%22%3A%5B%5D%7D");
  EXPECT_EQ(percentEncoded("aZ0_.-%\xff"), "aZ0_.-%25%FF");
}

TEST(Create, GrantsNothingThatIsNotAskedFor) {
  ContainerSpec spec;
  spec.name = "holder";
  spec.image = "vethgate:1";
  spec.command = {"/vethgate-hold"};
  spec.labels = {{"vethgate.role", "holder"}};
  spec.network = "jobs";
  EXPECT_EQ(
      createBody(spec),
      R"({"AttachStderr":true,"AttachStdin":false,"AttachStdout":true,"Cmd":[],)"
      R"("Entrypoint":["/vethgate-hold"],"HostConfig":{"CapDrop":["ALL"],)"
      R"("LogConfig":{"Config":{},"Type":"none"},"NetworkMode":"jobs","Privileged":false,)"
      R"("ReadonlyRootfs":true,"RestartPolicy":{"Name":"no"},)"
      R"("SecurityOpt":["no-new-privileges"]},"Image":"vethgate:1",)"
      R"("Labels":{"vethgate.role":"holder"},"OpenStdin":false,"StdinOnce":false,"Tty":false})");
}

TEST(Create, SaysAllThatIsAskedFor) {
  ContainerSpec spec;
  spec.name = "helper";
  spec.image = "vethgate:1";
  spec.command = {"/vethgate-apply", "--dry-run"};
  spec.network = "container:" + std::string(64, 'a');
  spec.user = "0:0";
  spec.capabilities = {"NET_ADMIN"};
  spec.seccomp = "{}";
  spec.extraHosts = {"proxy:host-gateway"};
  spec.takesInput = true;
  spec.runtime = "runc";
  spec.memoryBytes = 1 << 20;
  spec.processes = 8;
  const Json body = parseDocument(createBody(spec), "body");
  const Json& host = body.at("HostConfig");
  EXPECT_EQ(body.at("Entrypoint"), Json({"/vethgate-apply", "--dry-run"}));
  EXPECT_EQ(body.at("User"), "0:0");
  EXPECT_TRUE(body.at("OpenStdin") && body.at("StdinOnce") && body.at("AttachStdin"));
  EXPECT_EQ(host.at("CapAdd"), Json({"NET_ADMIN"}));
  EXPECT_EQ(host.at("CapDrop"), Json({"ALL"}));
  EXPECT_EQ(host.at("SecurityOpt"), Json({"no-new-privileges", "seccomp={}"}));
  EXPECT_EQ(host.at("ExtraHosts"), Json({"proxy:host-gateway"}));
  EXPECT_EQ(host.at("Runtime"), "runc");
  EXPECT_EQ(host.at("Memory"), 1 << 20);
  EXPECT_EQ(host.at("PidsLimit"), 8);
  EXPECT_EQ(host.at("NetworkMode"), spec.network);
}

}  // namespace
}  // namespace vethgate::docker
