// vethgate-verify as its caller sees it: exit codes, one line on stdout, a sentence on stderr.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#include "base/json.hpp"
#include "base/program.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class Command : public testing::Test {
 protected:
  Command() {
    std::string pattern = testing::TempDir() + "/vethgate-verify-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Command() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name, const std::string& content) const {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }

  [[nodiscard]] Outcome verify(const std::string& input, const std::string& arguments) const {
    const std::string command = std::string(VETHGATE_BIN_DIR) + "/vethgate-verify " + arguments +
                                " <" + file("in", input) + " >" + folder_ + "/out 2>" + folder_ +
                                "/err";
    const int status = std::system(command.c_str());  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            readFile(folder_ + "/out", "out", 1 << 24), readFile(folder_ + "/err", "err", 1 << 24)};
  }

  std::string folder_;
};

std::string captured(const std::string& name) { return capturesFolder() + "/" + name + ".json"; }

std::string text(const std::string& name) {
  return readFile(capturesFolder() + "/" + name, name, kMaxCaptureBytes);
}

std::string request(const std::string& policy = "small", const std::string& kernel = "6.1") {
  return R"({"policy":)" + text(policy + ".policy.json") + R"(,"link":)" +
         text("link-" + kernel + ".json") + "}";
}

TEST_F(Command, AContainedNamespaceIsExitZero) {
  const Outcome outcome = verify(request(), "--replay " + captured("contained-small-6.1"));
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json verdict = parseDocument(outcome.out, "verdict");
  EXPECT_EQ(verdict["verdict"], "contained");
  EXPECT_EQ(verdict["reasons"], Json::array());
  EXPECT_EQ(verdict["counts"],
            Json::parse(R"({"iptables":{"v4":20,"v6":16},"flower":24,"netdev":0})"));
  EXPECT_EQ(verdict["drops"]["iptables v4 #15 drop 203.0.113.0/24"], 1);
  EXPECT_EQ(verdict["drops"]["flower 104/0x2 drop 203.0.113.0/24"], 0);
  EXPECT_EQ(verdict["link"], parseDocument(text("link-6.1.json"), "link"));
  EXPECT_THAT(verdict["kernel"].get<std::string>(), StartsWith("6.1."));
  EXPECT_TRUE(isSha256Hex(verdict["policy"].get<std::string>()));
  EXPECT_TRUE(isSha256Hex(verdict["readback"].get<std::string>()));
  EXPECT_EQ(verdict["unchecked"], Json::array());
  EXPECT_EQ(verdict["engine"], Json::parse(R"({"resolver":null})"));
  EXPECT_EQ(verdict.size(), 10U);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
  EXPECT_THAT(outcome.err, EndsWith("and nothing else is\n"));
}

TEST_F(Command, ARefusedOneIsExitEightAndStillAnswers) {
  const Outcome outcome =
      verify(request("tiny"), "--replay " + captured("refused-flower-pass-6.1"));
  EXPECT_EQ(outcome.code, 8);
  const Json verdict = parseDocument(outcome.out, "verdict");
  EXPECT_EQ(verdict["verdict"], "refused");
  EXPECT_EQ(verdict["reasons"][0],
            "flower pref 103 handle 0x2: action is pass, expected drop (denied)");
  EXPECT_THAT(outcome.err, StartsWith("vethgate-verify: refused: flower pref 103 handle 0x2"));
}

TEST_F(Command, WhatCouldNotBeDecodedHasNoDigest) {
  const Outcome outcome =
      verify(request("tiny"), "--replay " + captured("refused-nft-comment-6.1"));
  EXPECT_EQ(outcome.code, 8);
  EXPECT_EQ(parseDocument(outcome.out, "verdict")["readback"], Json(nullptr));
}

TEST_F(Command, AnotherLinkIsExitSeven) {
  std::string wrong = request();
  wrong.replace(wrong.find("\"index\":2"), 9, "\"index\":3");
  const Outcome outcome = verify(wrong, "--replay " + captured("contained-small-6.1"));
  EXPECT_EQ(outcome.code, 7);
  EXPECT_THAT(outcome.out, HasSubstr("\"verdict\":\"refused\""));
}

TEST_F(Command, BadInputIsExitTwoAndNoAnswer) {
  const std::string replay = "--replay " + captured("contained-small-6.1");
  const std::string capture = text("contained-small-6.1.json");
  for (const auto& [input, arguments] : std::vector<std::pair<std::string, std::string>>{
           {"", replay},
           {"{}", replay},
           {"{\"policy\":{\"version\":1}}", replay},
           {request() + "x", replay},
           {"{\"extra\":1," + request().substr(1), replay},
           {request(), "--replay " + folder_ + "/absent"},
           {request(), "--replay " + file("cut", capture.substr(0, capture.size() / 2))},
           {request(), "--replay " + file("empty", "")},
           {request(), "--capture " + folder_ + "/absent/file"},
           {request(), "--capture a --replay b"},
           {request(), "--unknown"}}) {
    const Outcome outcome = verify(input, arguments);
    EXPECT_EQ(outcome.code, 2) << arguments << ": " << outcome.err;
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, StartsWith("vethgate-verify: "));
  }
}

TEST_F(Command, ExplainsInsteadOfAnsweringWhenAsked) {
  const std::string replay = "--replay " + captured("contained-small-6.1");
  const Outcome outcome = verify(request(), "--explain " + replay);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("iptables, IPv4"));
  EXPECT_THAT(outcome.out, HasSubstr("flower, IPv6"));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("\"verdict\"")));
  EXPECT_THAT(outcome.err, EndsWith("and nothing else is\n"));
  const Outcome refused =
      verify(request("tiny"), "--explain --replay " + captured("refused-flower-pass-6.1"));
  EXPECT_EQ(refused.code, 8);
  EXPECT_THAT(refused.err, StartsWith("vethgate-verify: refused: "));
}

// Without CAP_NET_ADMIN nothing of nf_tables can be read.
TEST_F(Command, ARunThatFailsLeavesAnOlderCaptureAsItWas) {
  const std::string older = file("older", "an older capture");
  const std::string command = "setpriv --bounding-set=-net_admin " + std::string(VETHGATE_BIN_DIR) +
                              "/vethgate-verify --capture " + older + " <" + file("in", request()) +
                              " >/dev/null 2>" + folder_ + "/err";
  const int status = std::system(command.c_str());  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  EXPECT_EQ(WEXITSTATUS(status), 6) << readFile(folder_ + "/err", "err", 1 << 20);
  EXPECT_EQ(readFile(older, "older", 1 << 20), "an older capture");
}

TEST_F(Command, ReplayOpensNoSocket) {
  if (std::system("strace -V >/dev/null 2>&1") !=
      0) {  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
    FAIL() << "strace is needed";
  }
  const std::string trace = folder_ + "/trace";
  // The leak check of sanitizer builds cannot run under a tracer.
  const std::string command = "ASAN_OPTIONS=detect_leaks=0 strace -f -e trace=%network,execve -o " +
                              trace + " " + std::string(VETHGATE_BIN_DIR) +
                              "/vethgate-verify --replay " + captured("contained-small-6.1") +
                              " <" + file("in", request()) + " >/dev/null 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT(cert-env33-c,concurrency-mt-unsafe)
  const std::string calls = readFile(trace, "trace", 1 << 24);
  EXPECT_THAT(calls, HasSubstr("execve("));  // the control: the trace sees what it looks for
  EXPECT_THAT(calls, testing::Not(HasSubstr("socket(")));
}

}  // namespace
}  // namespace vethgate::test
