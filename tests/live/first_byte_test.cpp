// The verifier at the moment when it looks at the first byte of its request, and at the first one
// that the kernel, or a capture, said: stopped there by a breakpoint, it holds no capability, at
// the request still the one that collecting takes, no new privileges can be gained, and it is made
// to try what an attacker would try. Each system call is made by the process itself, in its own
// state; the same call before the lock is the control.
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/temporary_file.hpp"

namespace vethgate::live {
namespace {

// Where something is looked at for the first time, by what the symbol begins with.
const std::vector<std::string> kFirstLooks = {
    "vethgate::AttributeReader::AttributeReader(vethgate::AttributeTable const&",
    "vethgate::judge(", "vethgate::readCapture(", "vethgate::decodeLinks("};
const std::vector<std::string> kRequest = {"vethgate::parseDocument("};
const std::vector<std::string> kCollecting = {"vethgate::collect("};
// Before the first lock, which is yet to be made.
const std::vector<std::string> kLocking = {"vethgate::lockSyscalls("};

// Offsets in the program's file of all functions that begin so; each pattern must name one.
std::vector<std::uint64_t> offsetsOf(const std::vector<std::string>& beginnings) {
  static const std::string symbols = runOrThrow({.argv = {"nm", "-C", program("verify")}}).out;
  std::vector<std::uint64_t> offsets;
  for (const std::string& beginning : beginnings) {
    const std::size_t before = offsets.size();
    std::istringstream lines(symbols);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t name = line.find(" T ");
      if (name != std::string::npos && line.compare(name + 3, beginning.size(), beginning) == 0) {
        offsets.push_back(std::stoull(line.substr(0, name), nullptr, 16));
      }
    }
    if (offsets.size() == before) {
      throw std::runtime_error("vethgate-verify has no function " + beginning);
    }
  }
  return offsets;
}

// A vethgate-verify that runs until it first calls one of the functions.
class Stopped {
 public:
  Stopped(const Job& job, const std::vector<std::string>& argv, const std::string& input,
          const std::vector<std::string>& functions) {
    std::ofstream(input_.path()) << input;
    start(job, argv);
    const std::uint64_t base = loadAddress();
    for (const std::uint64_t offset : offsetsOf(functions)) {
      const std::uint64_t at = base + offset;
      const long word = ptrace(PTRACE_PEEKTEXT, pid_, at, nullptr);
      constexpr long kBreakpoint = 0xcc;  // int3
      check(ptrace(PTRACE_POKETEXT, pid_, at, (word & ~0xffL) | kBreakpoint), "a breakpoint");
      places_.push_back(at);
    }
    check(ptrace(PTRACE_CONT, pid_, nullptr, nullptr), "going on");
    const int status = wait();
    check(ptrace(PTRACE_GETREGS, pid_, nullptr, &registers_), "the registers");
    registers_.rip -= 1;
    if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
        std::ranges::find(places_, registers_.rip) == places_.end()) {
      throw std::runtime_error("vethgate-verify did not come to the place");
    }
  }
  ~Stopped() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, __WALL);
    }
  }
  Stopped(const Stopped&) = delete;
  Stopped& operator=(const Stopped&) = delete;

  // A line of /proc/PID/status, without its name and blanks.
  [[nodiscard]] std::string status(const std::string& name) const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with(name + ":")) {
        return line.substr(line.find_first_not_of(" \t", name.size() + 1));
      }
    }
    return "";
  }

  // Makes the process do this call, here and now. Returns the signal that killed it, or 0.
  int call(long number, std::array<std::uint64_t, 3> arguments) {
    constexpr long kSyscall = 0x050f;  // the instruction, low byte first
    const long word = ptrace(PTRACE_PEEKTEXT, pid_, registers_.rip, nullptr);
    check(ptrace(PTRACE_POKETEXT, pid_, registers_.rip, (word & ~0xffffL) | kSyscall), "a call");
    user_regs_struct registers = registers_;
    registers.rax = static_cast<std::uint64_t>(number);
    registers.rdi = arguments[0];
    registers.rsi = arguments[1];
    registers.rdx = arguments[2];
    check(ptrace(PTRACE_SETREGS, pid_, nullptr, &registers), "the registers");
    check(ptrace(PTRACE_SINGLESTEP, pid_, nullptr, nullptr), "one step");
    const int status = wait();
    if (WIFSIGNALED(status)) {
      pid_ = -1;
      return WTERMSIG(status);
    }
    if (status >> 16 == PTRACE_EVENT_FORK) {
      unsigned long child = 0;
      check(ptrace(PTRACE_GETEVENTMSG, pid_, nullptr, &child), "the child");
      kill(static_cast<pid_t>(child), SIGKILL);
      waitpid(static_cast<pid_t>(child), nullptr, __WALL);
    }
    return 0;
  }

  // The address of "/" in the memory of the process, below its stack.
  std::uint64_t root() {
    constexpr std::uint64_t kBelowTheRedZone = 512;
    const std::uint64_t at = (registers_.rsp - kBelowTheRedZone) & ~std::uint64_t{7};
    check(ptrace(PTRACE_POKEDATA, pid_, at, static_cast<long>('/')), "a text");
    return at;
  }

 private:
  static void check(long result, const char* what) {
    if (result < 0) {
      throw std::runtime_error(std::string("ptrace: ") + what + ": " + std::strerror(errno));
    }
  }

  int wait() const {
    int status = 0;
    if (waitpid(pid_, &status, __WALL) != pid_) {
      throw std::runtime_error("waiting for vethgate-verify failed");
    }
    return status;
  }

  void start(const Job& job, const std::vector<std::string>& argv) {
    const NamespaceScope scope(job.netns());
    std::vector<char*> raw;
    for (const std::string& word : argv) {
      raw.push_back(const_cast<char*>(word.c_str()));
    }
    raw.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int in = open(input_.path().c_str(), O_RDONLY);
      const int out = open("/dev/null", O_WRONLY);
      if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
          dup2(out, STDERR_FILENO) < 0 || ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) < 0) {
        _exit(127);
      }
      execv(raw[0], raw.data());
      _exit(127);
    }
    const int status = wait();
    if (!WIFSTOPPED(status)) {
      pid_ = -1;
      throw std::runtime_error("vethgate-verify did not start");
    }
    check(ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK),
          "the options");
  }

  // Of a position-independent program; 0 for one that is not.
  [[nodiscard]] std::uint64_t loadAddress() const {
    Elf64_Ehdr header{};
    std::ifstream(program("verify"), std::ios::binary)
        .read(reinterpret_cast<char*>(&header), sizeof header);
    if (header.e_type == ET_EXEC) {
      return 0;
    }
    std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.ends_with("/vethgate-verify")) {
        return std::stoull(line, nullptr, 16);
      }
    }
    throw std::runtime_error("vethgate-verify is not in its own memory map");
  }

  const TemporaryFile input_;
  pid_t pid_ = -1;
  std::vector<std::uint64_t> places_;
  user_regs_struct registers_{};
};

constexpr const char* kNoCapability = "0000000000000000";
constexpr const char* kNetAdmin = "0000000000001000";  // number 12

struct Attempt {
  const char* name;
  long number;
  bool path;  // the first argument is one; of openat(2), the second
};
constexpr std::array kAttempts = {
    Attempt{"open", SYS_open, true},      Attempt{"openat", SYS_openat, true},
    Attempt{"socket", SYS_socket, false}, Attempt{"connect", SYS_connect, false},
    Attempt{"execve", SYS_execve, true},  Attempt{"fork", SYS_fork, false},
    Attempt{"clone", SYS_clone, false},   Attempt{"ptrace", SYS_ptrace, false}};

int attempt(Stopped& process, const Attempt& what) {
  std::array<std::uint64_t, 3> arguments{};
  if (what.number == SYS_openat) {
    arguments = {static_cast<std::uint64_t>(AT_FDCWD), process.root(), O_RDONLY};
  } else if (what.path) {
    arguments[0] = process.root();
  } else if (what.number == SYS_socket) {
    arguments = {AF_INET, SOCK_STREAM, 0};
  } else if (what.number == SYS_clone) {
    arguments[0] = SIGCHLD;
  }
  return process.call(what.number, arguments);
}

class FirstByte : public testing::Test {
 protected:
  FirstByte() : job_(host_), rendered_(contain(job_, kReferencePolicy)) {
    EXPECT_TRUE(
        verify(job_.netns(), rendered_.policy, rendered_.link, capture_.path()).contained());
  }

  // `options` behind the program's name.
  [[nodiscard]] Stopped stoppedAt(const std::vector<std::string>& functions,
                                  const std::vector<std::string>& options = {}) const {
    std::vector<std::string> argv{program("verify")};
    argv.insert(argv.end(), options.begin(), options.end());
    return {job_, argv, R"({"policy":)" + rendered_.policy + R"(,"link":)" + rendered_.link + "}",
            functions};
  }

  // `capabilities`: what it holds, in hexadecimal; nothing of it can be passed on.
  static void expectPower(const Stopped& process, const std::string& capabilities) {
    for (const char* set : {"CapPrm", "CapEff"}) {
      EXPECT_EQ(process.status(set), capabilities) << set;
    }
    for (const char* set : {"CapInh", "CapBnd", "CapAmb"}) {
      EXPECT_EQ(process.status(set), kNoCapability) << set;
    }
    EXPECT_EQ(process.status("NoNewPrivs"), "1");
    EXPECT_EQ(process.status("Seccomp"), "2");  // SECCOMP_MODE_FILTER
  }

  Host host_;
  Job job_;
  const TemporaryFile capture_;
  Rendered rendered_;
};

TEST_F(FirstByte, OfTheKernelIsSeenWithoutPower) {
  expectPower(stoppedAt(kFirstLooks), kNoCapability);
}

TEST_F(FirstByte, OfACaptureIsSeenWithoutPower) {
  expectPower(stoppedAt(kFirstLooks, {"--replay", capture_.path()}), kNoCapability);
}

TEST_F(FirstByte, OfTheRequestIsSeenWithWhatCollectingTakes) {
  expectPower(stoppedAt(kRequest), kNetAdmin);
  expectPower(stoppedAt(kRequest, {"--replay", capture_.path()}), kNoCapability);
}

// The check itself: while it collects, the process holds what it needs.
TEST_F(FirstByte, CollectingComesBefore) {
  expectPower(stoppedAt(kCollecting), kNetAdmin);
  EXPECT_EQ(stoppedAt(kLocking).status("Seccomp"), "0");
}

TEST_F(FirstByte, WhoeverTakesOverThereIsKilledAtItsFirstCall) {
  for (const Attempt& what : kAttempts) {
    Stopped before = stoppedAt(kLocking);
    EXPECT_EQ(attempt(before, what), 0) << what.name << " before the lock";
    for (const auto& place : {kRequest, kFirstLooks}) {
      Stopped process = stoppedAt(place);
      EXPECT_EQ(attempt(process, what), SIGSYS) << what.name << " at " << place.front();
    }
  }
}

}  // namespace
}  // namespace vethgate::live
