// `vethgate establish` as a process: what its signals and its standard streams do to it.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>

#include "base/program.hpp"
#include "tests/offline/docker/establish/support.hpp"

namespace vethgate::docker {
namespace {

using test::Fault;
using test::kImageName;
using test::kJob;
using test::ScriptedEngine;
using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { reset(); }
  void reset() {
    if (fd_ >= 0) {
      close(std::exchange(fd_, -1));
    }
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

struct Pipe {
  Descriptor read{-1};
  Descriptor write{-1};
  Pipe() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) == 0) {
      read = Descriptor(ends[0]);
      write = Descriptor(ends[1]);
    }
  }
};

// The process, until it was waited for.
class Establishing {
 public:
  explicit Establishing(const std::string& socket, bool withStdout = true) {
    const std::string program = std::string(VETHGATE_BIN_DIR) + "/vethgate";
    pid_ = fork();
    if (pid_ == 0) {
      dup2(in.read.get(), STDIN_FILENO);
      dup2(err.write.get(), STDERR_FILENO);
      if (withStdout) {
        dup2(out.write.get(), STDOUT_FILENO);
      } else {
        close(STDOUT_FILENO);
      }
      // What a shell in the background (SIGINT) or nohup(1) ignores, the program ignores as well.
      for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
        std::signal(signal, SIG_DFL);
      }
      execl(program.c_str(), program.c_str(), "establish", "--engine", socket.c_str(), nullptr);
      _exit(127);
    }
    in.read.reset();
    out.write.reset();
    err.write.reset();
  }
  ~Establishing() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
  }
  Establishing(const Establishing&) = delete;
  Establishing& operator=(const Establishing&) = delete;

  void give(const std::string& text) {
    writeAll(in.write.get(), text);
    in.write.reset();
  }
  void signal(int number) const { kill(pid_, number); }
  // The exit status, or minus the signal that ended it.
  int wait() {
    complaint = readAll(err.read.get(), "stderr", 1U << 20U);
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  Pipe in;
  Pipe out;
  Pipe err;
  std::string complaint;

 private:
  pid_t pid_ = -1;
};

std::string request(std::size_t denied = 0) {
  Json document = test::requestDocument();
  document["deadline"] = std::chrono::duration_cast<std::chrono::seconds>(
                             std::chrono::system_clock::now().time_since_epoch())
                             .count() +
                         3'600;
  document["images"] = {{"holder", kImageName}, {"helper", kImageName}};
  for (std::size_t i = 0; i < denied; ++i) {
    document["policy"]["deny"].push_back("203.0." + std::to_string(i / 250) + "." +
                                         std::to_string(i % 250) + "/32");
  }
  return document.dump();
}

class Command : public testing::Test {
 protected:
  // Waits for an event of the engine's, never for a time.
  void until(const std::string& call) const {
    const Deadline patience = Deadline::after(std::chrono::seconds(30));
    while (!testing::Value(engine_.calls(), Contains(call))) {
      ASSERT_FALSE(patience.passed()) << "no " << call;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ScriptedEngine engine_;
};

TEST_F(Command, AnswersWhenNothingDisturbsIt) {
  Establishing process(engine_.socket());
  process.give(request());
  const Json answer = Json::parse(readAll(process.out.read.get(), "answer", 1U << 20U));
  EXPECT_EQ(process.wait(), 0) << process.complaint;
  EXPECT_EQ(answer.at("id"), engine_.idOf("vethgate-" + kJob));
}

// When the namespace is gone, so is every other way to learn what was found in it.
TEST_F(Command, SaysAllThatTheVerifierFound) {
  const Json verdict{{"verdict", "refused"}, {"reasons", {"one", "two", "th\xC3\xBCird"}}};
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']') + "\n";
  for (const std::string& said : {verdict.dump() + "\n", std::string("\xFF no verdict\n"), deep}) {
    ScriptedEngine engine;
    engine.program("verify", [said](const std::string&) {
      return test::Said{8, said, "vethgate-verify: refused: one, and 2 more reasons\n"};
    });
    Establishing process(engine.socket());
    process.give(request());
    EXPECT_EQ(process.wait(), 8) << process.complaint;
    EXPECT_THAT(process.complaint,
                EndsWith("vethgate: job " + kJob +
                         " of worker-1: step verify: exit 8, vethgate-verify: "
                         "refused: one, and 2 more reasons; nothing of the attempt is left\n"));
    const Json event = Json::parse(process.complaint.substr(0, process.complaint.find('\n')));
    EXPECT_EQ(event.at("event"), "establish.refused");
    EXPECT_EQ(event.at("job"), kJob);
    EXPECT_EQ(event.at("verdict"), said[0] == '{' ? verdict : Json());
    EXPECT_THAT(engine.names(), IsEmpty());
  }
}

// What is left to do at the end is part of the attempt.
TEST_F(Command, AnswersInTimeOrNotAtAll) {
  constexpr std::chrono::seconds kWithin{4};
  for (const bool slow : {false, true}) {
    ScriptedEngine engine;
    std::atomic<bool> came{false};
    if (slow) {
      engine.delay("list", kWithin * 2, came);
    }
    Json document = Json::parse(request());
    document["within"] = kWithin.count();
    const auto begun = std::chrono::steady_clock::now();
    Establishing process(engine.socket());
    process.give(document.dump());
    const int status = process.wait();
    const bool answered = status == 0 && std::chrono::steady_clock::now() - begun < kWithin;
    const bool ended = slow && (status == 9 || status == 10) && engine.names().empty();
    EXPECT_TRUE(answered || ended) << "exit " << status << ": " << process.complaint;
    EXPECT_EQ(came, slow);
  }
}

TEST_F(Command, AnySignalEndsIt) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    ScriptedEngine engine;
    engine.fail("run verify", Fault::kSilence);
    Establishing process(engine.socket());
    process.give(request());
    const Deadline patience = Deadline::after(std::chrono::seconds(30));
    while (!testing::Value(engine.calls(), Contains("run verify")) && !patience.passed()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    process.signal(signal);
    EXPECT_EQ(process.wait(), 10) << process.complaint;
    EXPECT_THAT(process.complaint, EndsWith("vethgate: job " + kJob +
                                            " of worker-1: a signal ended the attempt; nothing "
                                            "of the attempt is left\n"));
    EXPECT_THAT(engine.names(), IsEmpty());
  }
}

TEST_F(Command, ASecondSignalEndsTheRemoval) {
  engine_.fail("run probe", Fault::kSilence);
  engine_.fail("remove *", Fault::kSilence, ScriptedEngine::kAlways);
  Establishing process(engine_.socket());
  process.give(request());
  until("run probe");
  process.signal(SIGTERM);
  until("list");
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 10) << process.complaint;
  EXPECT_THAT(process.complaint,
              HasSubstr("a signal ended the attempt; these may still exist, and a sweep removes "
                        "them: "));
  for (const std::string& name : engine_.names()) {
    EXPECT_THAT(process.complaint, HasSubstr(" " + name));
  }
}

// And not the time that is taken where a request names none, which is longer than this patience.
TEST_F(Command, TheRequestsOwnTimeEndsIt) {
  engine_.fail("run verify", Fault::kSilence);
  Json document = Json::parse(request());
  document["within"] = 2;
  const Deadline patience = Deadline::after(kAttemptTime / 2);
  Establishing process(engine_.socket());
  process.give(document.dump());
  EXPECT_EQ(process.wait(), 10) << process.complaint;
  EXPECT_FALSE(patience.passed());
  EXPECT_THAT(process.complaint, HasSubstr("the deadline passed"));
  EXPECT_THAT(engine_.names(), IsEmpty());
}

// Until the request is complete nothing exists that would have to be removed first.
TEST_F(Command, ASignalBeforeTheRequestIsCompleteEndsItAtOnce) {
  Establishing process(engine_.socket());
  writeAll(process.in.write.get(), request().substr(0, 20));
  // Whether it reads already or is still being started, the signal has its default effect.
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), -SIGTERM) << process.complaint;
  EXPECT_THAT(engine_.calls(), IsEmpty());
}

TEST_F(Command, ARequestThatIsCutOffIsRefused) {
  const std::string whole = request();
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() - 1}) {
    Establishing process(engine_.socket());
    process.give(whole.substr(0, length));
    EXPECT_EQ(process.wait(), 2) << process.complaint;
  }
  EXPECT_THAT(engine_.calls(), IsEmpty());
}

TEST_F(Command, AnAnswerThatNobodyReadsIsTakenBack) {
  for (const bool open : {true, false}) {
    Establishing process(engine_.socket(), open);
    process.out.read.reset();
    process.give(request());
    EXPECT_EQ(process.wait(), 1) << process.complaint;
    EXPECT_THAT(process.complaint, HasSubstr("the answer cannot be written"));
    EXPECT_THAT(process.complaint, EndsWith("; nothing of the attempt is left\n"));
    EXPECT_THAT(engine_.calls(), Contains("run verify"));
    EXPECT_THAT(engine_.names(), IsEmpty());
  }
}

TEST_F(Command, AReaderThatDoesNotReadDoesNotKeepASignalWaiting) {
  Establishing process(engine_.socket());
  const int room = fcntl(process.out.read.get(), F_SETPIPE_SZ, 4096);
  ASSERT_GT(room, 0);
  process.give(request(2'000));
  // All of what the pipe holds: the rest waits.
  for (int held = 0; held < room - 1;) {
    ASSERT_EQ(ioctl(process.out.read.get(), FIONREAD, &held), 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 10) << process.complaint;
  EXPECT_THAT(process.complaint,
              HasSubstr("before its answer was read; nothing of the attempt is left"));
  EXPECT_THAT(engine_.names(), IsEmpty());
}

}  // namespace
}  // namespace vethgate::docker
