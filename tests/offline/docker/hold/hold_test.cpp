// vethgate-hold as an engine runs it: alone, as the first process of its namespaces.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>

#include "tests/offline/probe/scratch_namespace.hpp"

namespace vethgate {
namespace {

constexpr const char* kProgram = VETHGATE_BIN_DIR "/vethgate-hold";
constexpr int kMostMs = 20'000;

// A child that is waited for; one that still runs at the end of a test is killed.
class Child {
 public:
  explicit Child(pid_t pid) : pid_(pid) {}
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] pid_t pid() const { return pid_; }
  // The wait status; -1 when it still runs after kMostMs.
  int wait() {
    const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
    pollfd ended{fd, POLLIN, 0};
    const bool over = poll(&ended, 1, kMostMs) == 1;
    close(fd);
    int status = -1;
    if (over && waitpid(pid_, &status, 0) == pid_) {
      pid_ = -1;
    }
    return status;
  }

 private:
  pid_t pid_;
};

// Clones with `flags` and executes the program; /proc is this namespace's.
pid_t start(int flags, std::initializer_list<const char*> arguments = {}) {
  const pid_t pid =
      static_cast<pid_t>(syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid == 0) {
    std::array<const char*, 4> argv{kProgram, nullptr, nullptr, nullptr};
    std::copy(arguments.begin(), arguments.end(), argv.begin() + 1);
    execv(kProgram, const_cast<char* const*>(argv.data()));
    _exit(99);
  }
  return pid;
}

std::string field(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(name + ":", 0) == 0) {
      return line.substr(line.find_first_not_of(" \t", name.size() + 1));
    }
  }
  return "";
}

// It has locked itself: from here on it only waits.
bool becomesLocked(pid_t pid) {
  for (int ms = 0; ms < kMostMs; ms += 5) {
    if (field(pid, "Seccomp") == "2") {
      return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return false;
}

// A process of its own pid namespace needs root; of its own user namespace, nobody.
int ownNamespaces() { return CLONE_NEWPID | (geteuid() == 0 ? 0 : CLONE_NEWUSER); }

class Hold : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Signals, Hold, testing::Values(SIGTERM, SIGINT));

TEST_P(Hold, EndsWhenItIsTold) {
  Child child(start(ownNamespaces()));
  ASSERT_TRUE(becomesLocked(child.pid()));
  kill(child.pid(), GetParam());
  const int status = child.wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
}

// The kernel spares the first process of a namespace most signals; anywhere else it is up to
// itself.
TEST(HoldProcess, IsMovedByNoOtherSignal) {
  for (const int flags : {0, ownNamespaces()}) {
    Child child(start(flags));
    ASSERT_TRUE(becomesLocked(child.pid()));
    for (const int signal :
         {SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM, SIGCHLD, SIGQUIT, SIGCONT}) {
      kill(child.pid(), signal);
    }
    EXPECT_EQ(waitpid(child.pid(), nullptr, WNOHANG), 0);
    kill(child.pid(), SIGTERM);
    const int status = child.wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "wait status " << status;
  }
}

TEST(HoldProcess, HoldsNoPower) {
  Child child(start(ownNamespaces()));
  ASSERT_TRUE(becomesLocked(child.pid()));
  for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
    EXPECT_EQ(field(child.pid(), set), "0000000000000000") << set;
  }
  EXPECT_EQ(field(child.pid(), "NoNewPrivs"), "1");
  EXPECT_EQ(field(child.pid(), "Threads"), "1");
}

// The exit code of the program with `arguments`, in the namespace that `prepare` has made; what it
// says on stdout goes to `out`. It is told to end once it has said a line.
int probeAndHold(const std::function<void()>& prepare, std::string& out) {
  std::array<int, 2> pipe{};
  scratch::require(pipe2(pipe.data(), O_CLOEXEC) == 0, "no pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(scratch::kChildSeconds);
    try {
      prepare();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(99);
    }
    dup2(pipe[1], STDOUT_FILENO);
    execl(kProgram, kProgram, "--probe", "localhost", nullptr);
    _exit(98);
  }
  Child child(pid);
  close(pipe[1]);
  std::array<char, 1024> buffer{};
  ssize_t got = 0;
  while (out.find('\n') == std::string::npos &&
         (got = read(pipe[0], buffer.data(), buffer.size())) > 0) {
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  close(pipe[0]);
  if (!out.empty()) {
    EXPECT_EQ(field(pid, "Seccomp"), "2");
    EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), 0) << "it does not hold";
    kill(pid, SIGTERM);
  }
  const int status = child.wait();
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(HoldProcess, SaysFirstWhatItsNamespaceHolds) {
  std::string said;
  EXPECT_EQ(probeAndHold(scratch::becomeAJob, said), 0);
  const auto document = nlohmann::json::parse(said);
  EXPECT_EQ(document.at("link").at("index"), scratch::kIndex);
  EXPECT_THAT(document.at("host"), testing::Contains("127.0.0.1"));
}

TEST(HoldProcess, HoldsNothingThatIsNoJobs) {
  std::string said;
  EXPECT_EQ(probeAndHold(scratch::enterNewNamespace, said), 7);
  EXPECT_EQ(said, "");
}

TEST(HoldProcess, TakesNoOtherArguments) {
  for (const std::initializer_list<const char*> arguments :
       {std::initializer_list<const char*>{"infinity"}, {"--probe"}, {"--probe", ""}}) {
    Child child(start(0, arguments));
    const int status = child.wait();
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << "wait status " << status;
  }
}

}  // namespace
}  // namespace vethgate
