// Each forbidden act is tried in a child of its own: what is given up cannot be had back.
#include "confine/confine.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <ctime>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr int kLived = 42;
constexpr unsigned kChildSeconds = 20;  // SIGALRM ends a child that hangs; its default action kills

// Runs `body` in a child and returns its wait status; the child exits with kLived when body
// returns.
int inChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    try {
      body();
    } catch (const std::exception& error) {
      static_cast<void>(!write(STDERR_FILENO, error.what(), std::string(error.what()).size()));
      _exit(1);
    }
    _exit(kLived);
  }
  int status = 0;
  EXPECT_EQ(child, waitpid(child, &status, 0));
  return status;
}

bool lived(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == kLived; }
bool killedBy(int status, int signal) { return WIFSIGNALED(status) && WTERMSIG(status) == signal; }

struct Act {
  const char* name;
  std::function<void()> perform;
};

void PrintTo(const Act& act, std::ostream* out) { *out << act.name; }

std::string actName(const testing::TestParamInfo<Act>& info) { return info.param.name; }

// Raw calls: no library stands between the act and the filter.
template <class... Arguments>
long call(long number, Arguments... arguments) {
  return syscall(number, arguments...);
}

const std::vector<Act>& forbidden() {
  static const std::vector<Act> acts{
      {"open", [] { call(SYS_open, "/dev/null", O_RDONLY); }},
      {"openat", [] { call(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY); }},
      {"read", [] { call(SYS_read, STDIN_FILENO, nullptr, 0L); }},
      {"socket", [] { call(SYS_socket, AF_NETLINK, SOCK_RAW, NETLINK_ROUTE); }},
      {"connect", [] { call(SYS_connect, -1, nullptr, 0L); }},
      {"setsockopt", [] { call(SYS_setsockopt, -1, SOL_SOCKET, SO_RCVBUF, nullptr, 0L); }},
      {"execve", [] { call(SYS_execve, "/bin/true", nullptr, nullptr); }},
      {"execveat", [] { call(SYS_execveat, AT_FDCWD, "/bin/true", nullptr, nullptr, 0L); }},
      {"fork", [] { call(SYS_fork); }},
      {"clone", [] { call(SYS_clone, 0L, nullptr, nullptr, nullptr, 0L); }},
      {"ptrace", [] { call(SYS_ptrace, PTRACE_TRACEME, 0L, 0L, 0L); }},
      {"setns", [] { call(SYS_setns, -1, 0L); }},
      {"unshare", [] { call(SYS_unshare, 0L); }},
      {"capset", [] { call(SYS_capset, nullptr, nullptr); }},
      {"killOfAnother", [] { call(SYS_kill, getppid(), 0L); }},
      {"abortSignalToAnother", [] { call(SYS_tgkill, 1L, 1L, SIGABRT); }},
      {"otherSignalToSelf", [] { call(SYS_tgkill, getpid(), call(SYS_gettid), SIGURG); }},
      {"mprotectExec", [] { call(SYS_mprotect, nullptr, 4096L, PROT_READ | PROT_EXEC); }},
      {"mmapExec",
       [] {
         call(SYS_mmap, nullptr, 4096L, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1L,
              0L);
       }},
      {"mmapFile",
       [] { call(SYS_mmap, nullptr, 4096L, PROT_READ, MAP_PRIVATE, STDIN_FILENO, 0L); }},
      {"secondFilter", [] { lockSyscalls(SeccompProfile::kParse); }},
  };
  return acts;
}

const std::vector<Act>& allowed() {
  static const std::vector<Act> acts{
      {"write", [] { call(SYS_write, STDERR_FILENO, "", 0L); }},
      {"close", [] { call(SYS_close, -1L); }},
      {"mmapData",
       [] {
         if (call(SYS_mmap, nullptr, 4096L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1L, 0L) == -1) {
           throw std::runtime_error("no memory");
         }
       }},
      {"allocation",
       [] {
         // Small and large, grown and freed: brk, mmap, mremap, munmap and madvise of malloc(3).
         std::vector<std::vector<char>> blocks;
         for (std::size_t size = 16; size < (std::size_t{64} << 20); size *= 2) {
           blocks.emplace_back(size);
         }
         blocks.clear();
       }},
      {"exception",
       [] {
         try {
           throw Failure(ExitCode::kRefused, "text");
         } catch (const Failure&) {
         }
       }},
      {"localTime",
       [] {
         std::tm broken{};
         const std::time_t now = std::time(nullptr);
         localtime_r(&now, &broken);
       }},
  };
  return acts;
}

class Forbidden : public testing::TestWithParam<Act> {};
class Allowed : public testing::TestWithParam<Act> {};

TEST_P(Forbidden, LivesWithoutTheFilterAndDiesWithEither) {
  // Of its own accord: an execve that succeeds exits as the other program does.
  EXPECT_TRUE(WIFEXITED(inChild(GetParam().perform))) << "the control died";
  for (const SeccompProfile profile : {SeccompProfile::kParse, SeccompProfile::kNetlink}) {
    const int status = inChild([&] {
      lockSyscalls(profile);
      GetParam().perform();
    });
    EXPECT_TRUE(killedBy(status, SIGSYS)) << "wait status " << status;
  }
}

TEST_P(Allowed, LivesUnderBoth) {
  for (const SeccompProfile profile : {SeccompProfile::kParse, SeccompProfile::kNetlink}) {
    const int status = inChild([&] {
      lockSyscalls(profile);
      GetParam().perform();
    });
    EXPECT_TRUE(lived(status)) << "wait status " << status;
  }
}

INSTANTIATE_TEST_SUITE_P(Confine, Forbidden, testing::ValuesIn(forbidden()), actName);
INSTANTIATE_TEST_SUITE_P(Confine, Allowed, testing::ValuesIn(allowed()), actName);

// What separates the two profiles: traffic on a socket that was opened before.
TEST(Profiles, OnlyNetlinkSendsAndReceives) {
  const auto traffic = [](SeccompProfile profile) {
    return inChild([profile] {
      std::array<int, 2> pair{};
      if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair.data()) != 0) {
        throw std::runtime_error("no socket pair");
      }
      lockSyscalls(profile);
      char byte = 'x';
      iovec vector{&byte, 1};
      msghdr message{};
      message.msg_iov = &vector;
      message.msg_iovlen = 1;
      pollfd waiting{pair[1], POLLIN, 0};
      if (sendmsg(pair[0], &message, 0) != 1 || poll(&waiting, 1, 1000) != 1 ||
          recvmsg(pair[1], &message, 0) != 1) {
        throw std::runtime_error("the byte did not arrive");
      }
    });
  };
  EXPECT_TRUE(lived(traffic(SeccompProfile::kNetlink)));
  EXPECT_TRUE(killedBy(traffic(SeccompProfile::kParse), SIGSYS));
}

// What collecting takes, and nothing of the rest.
TEST(Profiles, OneThatCollectsMayAskTheKernelAndNarrowItself) {
  const auto collecting = [](const std::function<void()>& act) {
    return inChild([&act] {
      lockSyscalls(SeccompProfile::kCollect);
      act();
    });
  };
  for (const Act& act : forbidden()) {
    const std::string name = act.name;
    const bool needed =
        name == "socket" || name == "setsockopt" || name == "capset" || name == "secondFilter";
    const int status = collecting(act.perform);
    EXPECT_TRUE(needed ? lived(status) : killedBy(status, SIGSYS)) << name << ": " << status;
  }
  for (const Act& act : allowed()) {
    EXPECT_TRUE(lived(collecting(act.perform))) << act.name;
  }
  const auto internet = [] { call(SYS_socket, AF_INET, SOCK_STREAM, 0L); };
  EXPECT_TRUE(lived(inChild(internet)));
  EXPECT_TRUE(killedBy(collecting(internet), SIGSYS));
  const auto program = [] { call(SYS_bpf, 5L /* BPF_PROG_LOAD */, nullptr, 0L); };
  EXPECT_TRUE(lived(inChild(program)));
  EXPECT_TRUE(killedBy(collecting(program), SIGSYS));

  // Narrowed, it is as if it had never been wider.
  for (const Act& act : forbidden()) {
    EXPECT_TRUE(killedBy(collecting([&act] {
                           lockSyscalls(SeccompProfile::kParse);
                           act.perform();
                         }),
                         SIGSYS))
        << act.name;
  }
}

TEST(Profiles, OneThatWaitsMayDoNothingElse) {
  // The control: a signal that is pending already ends the wait.
  const auto waiting = [](const std::function<void()>& act) {
    return inChild([&act] {
      sigset_t wanted;
      sigemptyset(&wanted);
      sigaddset(&wanted, SIGTERM);
      sigprocmask(SIG_BLOCK, &wanted, nullptr);
      raise(SIGTERM);
      lockSyscalls(SeccompProfile::kWait);
      act();
      int signal = 0;
      _exit(sigwait(&wanted, &signal) == 0 && signal == SIGTERM ? kLived : 1);
    });
  };
  EXPECT_TRUE(lived(waiting([] {})));
  for (const Act& act : forbidden()) {
    EXPECT_TRUE(killedBy(waiting(act.perform), SIGSYS)) << act.name;
  }
  for (const Act& act : allowed()) {
    const std::string name = act.name;
    if (name == "write" || name == "close" || name == "mmapData") {
      EXPECT_TRUE(killedBy(waiting(act.perform), SIGSYS)) << act.name;
    }
  }
}

TEST(Profiles, AbortShowsAsAbort) {
  for (const SeccompProfile profile : {SeccompProfile::kParse, SeccompProfile::kNetlink}) {
    const int status = inChild([&] {
      lockSyscalls(profile);
      std::abort();
    });
    EXPECT_TRUE(killedBy(status, SIGABRT)) << "wait status " << status;
  }
}

// Hexadecimal fields of /proc/self/status, the kernel's own word.
std::uint64_t statusField(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(field + ":", 0) == 0) {
      return std::stoull(line.substr(field.size() + 1), nullptr, 16);
    }
  }
  throw std::runtime_error("no field " + field);
}

constexpr std::uint64_t kNetAdmin = std::uint64_t{1} << CAP_NET_ADMIN;

void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

// Something to give up, for a test run without root too: root of a user namespace of one's own.
void becomePrivileged() {
  if (const uid_t user = geteuid(); user != 0) {
    require(unshare(CLONE_NEWUSER) == 0, "no user namespace");
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    require(geteuid() == 0, "not root of the user namespace");
  }
  require((statusField("CapPrm") & kNetAdmin) != 0, "the control holds no capability");
}

TEST(Capabilities, AreGoneFromEverySet) {
  const int status = inChild([] {
    becomePrivileged();
    keepOnlyCapabilities({});
    for (const char* set : {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}) {
      require(statusField(set) == 0, set);
    }
    require(statusField("NoNewPrivs") == 1, "NoNewPrivs");
  });
  EXPECT_TRUE(lived(status)) << "wait status " << status;
}

TEST(Capabilities, KeepsExactlyTheListedOnes) {
  const int status = inChild([] {
    becomePrivileged();
    keepOnlyCapabilities({CAP_NET_ADMIN});
    require(statusField("CapPrm") == kNetAdmin, "CapPrm");
    require(statusField("CapEff") == kNetAdmin, "CapEff");
    require(statusField("CapInh") == 0 && statusField("CapAmb") == 0, "CapInh, CapAmb");
    require(statusField("CapBnd") == 0, "CapBnd");
    // And once more, to nothing.
    keepOnlyCapabilities({});
    require(statusField("CapPrm") == 0 && statusField("CapEff") == 0, "CapPrm, CapEff");
  });
  EXPECT_TRUE(lived(status)) << "wait status " << status;
}

// As the verifier does once it has read the namespace.
TEST(Capabilities, TheLastOneGoesWhereNoFileCanBeOpened) {
  const int status = inChild([] {
    becomePrivileged();
    keepOnlyCapabilities({CAP_NET_ADMIN});
    lockSyscalls(SeccompProfile::kCollect);
    const auto held = [] {
      __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
      std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> sets{};
      require(call(SYS_capget, &header, sets.data()) == 0, "capget");
      return sets[0].permitted;
    };
    require(held() == kNetAdmin, "the control");
    dropLastCapabilities();
    require(held() == 0, "the last capability");
  });
  EXPECT_TRUE(lived(status)) << "wait status " << status;
}

TEST(Capabilities, AnUnprivilegedProcessHasNothingToGiveUp) {
  const int status = inChild([] {
    keepOnlyCapabilities({});
    keepOnlyCapabilities({CAP_NET_ADMIN});  // not held: the operation that needs it will say so
    require(statusField("CapPrm") == 0, "CapPrm");
  });
  EXPECT_TRUE(lived(status)) << "wait status " << status;
}

TEST(Capabilities, AnExecutedProgramGetsNoneBack) {
  // Root's execve would fill the permitted set again, were it not for no_new_privs.
  const auto permittedAfterExec = [](bool giveUp) {
    std::array<int, 2> ends{};
    EXPECT_EQ(0, pipe(ends.data()));
    const int status = inChild([&] {
      becomePrivileged();
      if (giveUp) {
        keepOnlyCapabilities({});
      }
      dup2(ends[1], STDOUT_FILENO);
      execl("/bin/grep", "grep", "-c", "^CapPrm:.*[1-9a-f]", "/proc/self/status", nullptr);
    });
    EXPECT_TRUE(WIFEXITED(status));
    // Before the read: a child that failed leaves the pipe empty, and must not leave it open.
    close(ends[1]);
    char answer = 0;
    EXPECT_EQ(1, read(ends[0], &answer, 1));
    close(ends[0]);
    return answer == '1';
  };
  EXPECT_TRUE(permittedAfterExec(false)) << "the control lost its capabilities";
  EXPECT_FALSE(permittedAfterExec(true));
}

}  // namespace
}  // namespace vethgate
