// vethgate-probe as its callers see it: arguments in; exit code, answer and reason out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <sys/mount.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/program.hpp"
#include "probe/namespace.hpp"
#include "tests/offline/probe/scratch_namespace.hpp"

namespace vethgate {
namespace {

using testing::HasSubstr;

struct Outcome {
  int code = -1;  // -1: ended by a signal
  std::string out, err;
};

class Pipe {
 public:
  Pipe() { scratch::require(pipe2(ends_.data(), O_CLOEXEC) == 0, "no pipe"); }
  ~Pipe() {
    close(ends_[0]);
    closeWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int writer() const { return ends_[1]; }
  void closeWriter() {
    if (ends_[1] >= 0) {
      close(ends_[1]);
      ends_[1] = -1;
    }
  }
  [[nodiscard]] std::string drain() { return readAll(ends_[0], "output", 1 << 20); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// Runs the probe in a child that has prepared itself with `prepare`.
Outcome probe(const std::function<void()>& prepare, std::vector<std::string> arguments = {}) {
  Pipe out;
  Pipe err;
  const pid_t child = fork();
  if (child == 0) {
    alarm(scratch::kChildSeconds);
    try {
      prepare();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(99);
    }
    dup2(out.writer(), STDOUT_FILENO);
    dup2(err.writer(), STDERR_FILENO);
    arguments.insert(arguments.begin(), "vethgate-probe");
    std::vector<char*> argv;
    for (std::string& argument : arguments) {
      argv.push_back(argument.data());
    }
    argv.push_back(nullptr);
    execv(VETHGATE_BIN_DIR "/vethgate-probe", argv.data());
    _exit(98);
  }
  out.closeWriter();
  err.closeWriter();
  Outcome outcome;
  outcome.out = out.drain();
  outcome.err = err.drain();
  int status = 0;
  waitpid(child, &status, 0);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

TEST(ProbeCommand, PrintsTheLinkOfAJob) {
  const Outcome outcome = probe(scratch::becomeAJob);
  EXPECT_EQ(0, outcome.code) << outcome.err;
  EXPECT_EQ("", outcome.err);
  ASSERT_THAT(outcome.out, testing::EndsWith("}\n"));
  EXPECT_EQ(1, std::count(outcome.out.begin(), outcome.out.end(), '\n'));
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(6U, document.size());
  EXPECT_TRUE(document.at("addresses").is_array());
  EXPECT_EQ(scratch::kIndex, document.at("index"));
  EXPECT_EQ(scratch::kPeer, document.at("peer"));
  EXPECT_EQ("eth0", document.at("name"));
  EXPECT_NE(currentNamespace(), document.at("netns"));
  EXPECT_EQ(17U, document.at("mac").get<std::string>().size());
}

TEST(ProbeCommand, NeedsNoPrivilege) {
  const bool root = geteuid() == 0;  // else there is nothing to give up
  const Outcome outcome = probe([root] {
    scratch::becomeAJob();
    if (root) {
      scratch::require(setresuid(65534, 65534, 65534) == 0, "cannot become nobody");
    }
  });
  EXPECT_EQ(0, outcome.code) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"eth0\""));
}

TEST(ProbeCommand, RefusesANamespaceThatIsNoJobs) {
  const Outcome outcome = probe(scratch::enterNewNamespace);
  EXPECT_EQ(7, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_EQ(
      "vethgate-probe: the namespace has no link but its loopback where one veth is expected\n",
      outcome.err);
}

void write(const std::string& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  scratch::require(out.flush().good(), "a file cannot be written");
}

// A job whose /etc/hosts says `text`.
std::function<void()> jobWithHosts(const std::string& text) {
  return [text] {
    scratch::becomeAJob();
    scratch::require(
        unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0,
        "no mount namespace");
    const std::string folder = "/tmp";
    scratch::require(mount("none", folder.c_str(), "tmpfs", 0, nullptr) == 0, "no tmpfs");
    write(folder + "/hosts", text);
    scratch::require(
        mount((folder + "/hosts").c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0,
        "/etc/hosts cannot be replaced");
  };
}

TEST(ProbeCommand, PrintsWhatTheHostsFileHasForAName) {
  const std::string hosts =
      "# gate 192.0.2.1\n"
      "127.0.0.1\tlocalhost\n"
      "172.17.0.1\tother gate\tmore # 192.0.2.2 gate\n"
      "192.0.2.3 gate.example gateway agate\n"
      "fd00::1 gate\n"
      "fe80::1%eth0 gate\n"
      "nowhere gate\n"
      "gate\n"
      "\n"
      "10.0.0.1 gate";
  const Outcome outcome = probe(jobWithHosts(hosts), {"--host", "gate"});
  ASSERT_EQ(0, outcome.code) << outcome.err;
  EXPECT_EQ("", outcome.err);
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(2U, document.size());
  EXPECT_EQ((nlohmann::json{"172.17.0.1", "fd00::1", "10.0.0.1"}), document.at("host"));
  EXPECT_EQ("eth0", document.at("link").at("name"));
  EXPECT_EQ(6U, document.at("link").size());

  const Outcome none = probe(jobWithHosts(hosts), {"--host", "absent"});
  ASSERT_EQ(0, none.code) << none.err;
  EXPECT_EQ(nlohmann::json::array(), nlohmann::json::parse(none.out).at("host"));
}

TEST(ProbeCommand, RefusesAHostsFileOfAnySize) {
  const std::string line = "10.0.0.1 gate\n";
  const std::string most = line + std::string((64U << 10U) - line.size(), '#');
  EXPECT_EQ(0, probe(jobWithHosts(most), {"--host", "gate"}).code);
  const Outcome outcome = probe(jobWithHosts(most + "#"), {"--host", "gate"});
  EXPECT_NE(0, outcome.code);
  EXPECT_EQ("", outcome.out);
  EXPECT_THAT(outcome.err, HasSubstr("/etc/hosts"));
}

TEST(ProbeCommand, PrintsTheAddressesOfAnyNamespace) {
  const Outcome outcome = probe(
      [] {
        scratch::becomeAJob();
        MessageBuilder builder(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE);
        ifaddrmsg info{};
        info.ifa_family = AF_INET;
        info.ifa_prefixlen = 24;
        info.ifa_index = scratch::kIndex;
        builder.header(info);
        builder.put(IFA_LOCAL, std::vector<std::uint8_t>{192, 0, 2, 7});
        builder.put(IFA_ADDRESS, std::vector<std::uint8_t>{192, 0, 2, 7});
        scratch::change(builder);
      },
      {"--addresses"});
  ASSERT_EQ(0, outcome.code) << outcome.err;
  EXPECT_EQ("", outcome.err);
  const auto document = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(2U, document.size());
  EXPECT_EQ("192.0.2.7", document.at("own").at(0));  // the loopback's is none of them
  EXPECT_EQ("192.0.2.0/24", document.at("onLink").at(0));

  // Neither a link nor a namespace of a job is needed.
  const Outcome empty = probe(scratch::enterNewNamespace, {"--addresses"});
  EXPECT_EQ(0, empty.code) << empty.err;
  EXPECT_EQ("{\"onLink\":[],\"own\":[]}\n", empty.out);
  EXPECT_EQ(0, probe([] {}, {"--addresses"}).code);
}

TEST(ProbeCommand, TakesOneQuestion) {
  const std::vector<std::vector<std::string>> refused{
      {"--host", "gate", "--addresses"}, {"--host"}, {"--host", ""}, {"--addresses", "eth0"}};
  for (const auto& arguments : refused) {
    const Outcome outcome = probe([] {}, arguments);
    EXPECT_EQ(2, outcome.code) << testing::PrintToString(arguments);
    EXPECT_EQ("", outcome.out);
    EXPECT_NE("", outcome.err);
  }
}

TEST(ProbeCommand, TakesNoOtherArguments) {
  const auto nothing = [] {};
  for (const char* argument : {"eth0", "--link", "-x"}) {
    const Outcome outcome = probe(nothing, {argument});
    EXPECT_EQ(2, outcome.code);
    EXPECT_EQ("", outcome.out);
    EXPECT_NE("", outcome.err);
  }
  const Outcome version = probe(nothing, {"--version"});
  EXPECT_EQ(0, version.code);
  EXPECT_EQ(VETHGATE_VERSION "\n", version.out);
  const Outcome help = probe(nothing, {"--help"});
  EXPECT_EQ(0, help.code);
  EXPECT_THAT(help.out, HasSubstr("Usage:"));
}

}  // namespace
}  // namespace vethgate
