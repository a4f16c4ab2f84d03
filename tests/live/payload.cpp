// The program that test containers run: says which kernel it is on, tries every target that it is
// given at once, and reports each result. Statically linked, and alone in its root file system.
// It must not know what a test expects of a target. With --hold alone it does nothing until it is
// told to end: the holder of a namespace. With --echo alone it says on stdout what it reads on
// stdin, on stderr how much that was, and exits 7.
//
// Output, one line each:
//   started
//   kernel RELEASE VERSION        uname(2)
//   log FIRST-LINE                the kernel's log, as far as it may be read
//   result TARGET connected       TCP handshake done, or the UDP echo came back
//   result TARGET refused         silence until the deadline, or the local filter's EPERM
//   result TARGET failed:ERRNO    anything else: a reset, no route, no address. Not containment.
//   done
// TARGET: see target.hpp.
#include <poll.h>
#include <sys/klog.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/live/target.hpp"

namespace vethgate::live {
namespace {

using Clock = std::chrono::steady_clock;

// Long enough for a connect through an emulated CPU and gVisor's stack several times over.
constexpr auto kDeadline = std::chrono::seconds{4};
// Packets go out one by one, this far apart; datagrams in turn until each is answered. gVisor hands
// frames over in batches and gives up the rest of one when the kernel refuses a frame of it: what
// is sent together with a packet that is denied is lost with it, and its retransmissions in step as
// well.
constexpr std::chrono::milliseconds kPause{50};
constexpr std::chrono::milliseconds kLookAgain{20};
constexpr std::string_view kProbe = "vethgate payload";
constexpr int kReadAllOfTheLog = 3;  // SYSLOG_ACTION_READ_ALL of syslog(2)

class Attempt {
 public:
  explicit Attempt(std::string target)
      : target_(std::move(target)), endpoint_(parseTarget(target_)) {}

  void start() {
    fd_ = socket(endpoint_.family(), endpoint_.type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || (connect(fd_, endpoint_.raw(), endpoint_.length) != 0 && errno != EINPROGRESS)) {
      settle(errno);
    } else if (isDatagram()) {
      sendProbe();
    }
  }

  [[nodiscard]] bool isDatagram() const { return endpoint_.type == SOCK_DGRAM; }
  [[nodiscard]] bool pending() const { return outcome_.empty(); }
  [[nodiscard]] pollfd pollEntry() const {
    return {.fd = fd_, .events = static_cast<short>(isDatagram() ? POLLIN : POLLOUT), .revents = 0};
  }

  void onReady() {
    if (!isDatagram()) {
      int error = 0;
      socklen_t size = sizeof error;
      getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
      settle(error);
      return;
    }
    std::array<char, 64> reply{};
    const ssize_t got = recv(fd_, reply.data(), reply.size(), 0);
    if (got < 0) {
      if (errno != EAGAIN) {
        settle(errno);
      }
    } else if (std::string_view(reply.data(), static_cast<std::size_t>(got)) == kProbe) {
      settle(0);
    }
  }

  void sendProbe() {
    if (send(fd_, kProbe.data(), kProbe.size(), 0) < 0 && errno != EAGAIN) {
      settle(errno);
    }
  }

  void onDeadline() { outcome_ = "refused"; }
  void report() const { std::printf("result %s %s\n", target_.c_str(), outcome_.c_str()); }

 private:
  void settle(int error) {
    if (error == 0) {
      outcome_ = "connected";
    } else if (error == EPERM || error == ETIMEDOUT) {
      outcome_ = "refused";
    } else {
      const char* name = strerrorname_np(error);
      outcome_ = std::string("failed:") + (name != nullptr ? name : std::to_string(error));
    }
  }

  std::string target_;
  Endpoint endpoint_;
  std::string outcome_;
  int fd_ = -1;
};

void printIdentity() {
  utsname name{};
  uname(&name);
  std::printf("kernel %s %s\n", name.release, name.version);
  std::array<char, 1 << 16> log{};
  const int size = klogctl(kReadAllOfTheLog, log.data(), static_cast<int>(log.size()) - 1);
  if (size < 0) {
    std::printf("log unreadable: %s\n", strerrorname_np(errno));
  } else {
    const std::string_view text(log.data(), static_cast<std::size_t>(size));
    std::printf("log %s\n", std::string(text.substr(0, text.find('\n'))).c_str());
  }
}

// The next in turn, if any is pending.
void sendOneDatagram(std::vector<Attempt>& attempts, std::size_t& turn) {
  for (std::size_t tried = 0; tried < attempts.size(); ++tried) {
    Attempt& attempt = attempts[turn++ % attempts.size()];
    if (attempt.isDatagram() && attempt.pending()) {
      attempt.sendProbe();
      return;
    }
  }
}

void waitForAnswers(std::vector<Attempt*>& waiting) {
  std::vector<pollfd> entries;
  for (const Attempt* attempt : waiting) {
    entries.push_back(attempt->pollEntry());
  }
  poll(entries.data(), entries.size(), static_cast<int>(kLookAgain.count()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (entries[i].revents != 0) {
      waiting[i]->onReady();
    }
  }
}

void probeAll(std::vector<Attempt>& attempts) {
  std::size_t started = 0;
  std::size_t turn = 0;
  auto end = Clock::now() + kDeadline;
  auto nextSend = Clock::now();
  while (true) {
    if (Clock::now() >= nextSend) {
      nextSend = Clock::now() + kPause;
      if (started < attempts.size()) {
        attempts[started++].start();
        end = nextSend + kDeadline;
      } else {
        sendOneDatagram(attempts, turn);
      }
    }
    std::vector<Attempt*> waiting;
    for (std::size_t i = 0; i < started; ++i) {
      if (attempts[i].pending()) {
        waiting.push_back(&attempts[i]);
      }
    }
    if (started == attempts.size() && waiting.empty()) {
      return;
    }
    if (Clock::now() >= end) {
      for (Attempt* attempt : waiting) {
        attempt->onDeadline();
      }
      return;
    }
    waitForAnswers(waiting);
  }
}

int probe(int argc, char** argv) {
  std::vector<Attempt> attempts;
  for (int i = 1; i < argc; ++i) {
    attempts.emplace_back(argv[i]);
  }
  std::printf("started\n");
  printIdentity();
  std::fflush(stdout);
  probeAll(attempts);
  for (const Attempt& attempt : attempts) {
    attempt.report();
  }
  std::printf("done\n");
  return std::fflush(stdout) == 0 ? 0 : 1;
}

// As the first process of a container it must ask for the signals that end it: none has an effect
// on such a process by default.
int hold() {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  sigaddset(&ends, SIGINT);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  std::printf("holding\n");
  std::fflush(stdout);
  int signal = 0;
  return sigwait(&ends, &signal);
}

int echo() {
  constexpr int kEchoed = 7;
  std::array<char, 1 << 16> chunk{};
  std::size_t total = 0;
  while (true) {
    const ssize_t got = read(STDIN_FILENO, chunk.data(), chunk.size());
    if (got <= 0) {
      std::fprintf(stderr, "echoed %zu bytes\n", total);
      return got == 0 ? kEchoed : 1;
    }
    const auto size = static_cast<std::size_t>(got);
    if (std::fwrite(chunk.data(), 1, size, stdout) != size || std::fflush(stdout) != 0) {
      return 1;
    }
    total += size;
  }
}

}  // namespace
}  // namespace vethgate::live

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == "--hold") {
    return vethgate::live::hold();
  }
  if (argc == 2 && std::string_view(argv[1]) == "--echo") {
    return vethgate::live::echo();
  }
  try {
    return vethgate::live::probe(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "payload: %s\n", error.what());
    return 2;
  }
}
