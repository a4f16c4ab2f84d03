// vethgate-probe as its callers see it: arguments in; exit code, answer and reason out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

TEST(ProbeCommand, TakesNoArguments) {
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
