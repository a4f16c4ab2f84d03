// Failures to exit codes, bounded reading, and answers that must arrive.
#include "base/program.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "base/error.hpp"

namespace vethgate {
namespace {

// Both ends of a pipe, closed with it.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_.data(), O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe");
    }
  }
  ~Pipe() {
    closeRead();
    closeWrite();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] int readEnd() const { return ends_[0]; }
  [[nodiscard]] int writeEnd() const { return ends_[1]; }
  void closeRead() { closeOnce(ends_[0]); }
  void closeWrite() { closeOnce(ends_[1]); }

 private:
  static void closeOnce(int& fd) {
    if (fd >= 0) {
      close(fd);
      fd = -1;
    }
  }
  std::array<int, 2> ends_{-1, -1};
};

ExitCode codeOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure.code();
  }
  return ExitCode::kDone;
}

TEST(RunMain, turnsWhatIsThrownIntoTheContractsCodes) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(runMain("vethgate-x", [] { return 0; }), 0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");

  for (int code = 1; code <= 10; ++code) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(
        runMain("vethgate-x",
                [&]() -> int { throw Failure(static_cast<ExitCode>(code), "what was wrong"); }),
        code);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "vethgate-x: what was wrong\n");
  }
}

TEST(RunMain, callsEverythingElseADefect) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(runMain("vethgate-x", []() -> int { throw std::logic_error("odd"); }), 1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("defect in vethgate: odd"),
            std::string::npos);
}

TEST(ReadAll, readsToTheEndWithinItsLimit) {
  Pipe pipe;
  writeAll(pipe.writeEnd(), "12345");
  pipe.closeWrite();
  EXPECT_EQ(readAll(pipe.readEnd(), "policy", 5), "12345");
}

TEST(ReadAll, refusesOneByteMore) {
  Pipe pipe;
  writeAll(pipe.writeEnd(), "123456");
  pipe.closeWrite();
  EXPECT_EQ(codeOf([&] { static_cast<void>(readAll(pipe.readEnd(), "policy", 5)); }),
            ExitCode::kBadInput);
}

TEST(ReadAll, refusesADescriptorThatCannotBeRead) {
  EXPECT_EQ(codeOf([] { static_cast<void>(readAll(-1, "policy", 5)); }), ExitCode::kBadInput);
}

TEST(ReadAll, refusesAnEndThatDoesNotComeIsADeadline) {
  using std::chrono::milliseconds;
  const auto readWithin = [](int fd, milliseconds span) {
    return codeOf([&] { static_cast<void>(readAll(fd, "policy", 5, Deadline::after(span))); });
  };
  Pipe pipe;
  EXPECT_EQ(readWithin(pipe.readEnd(), milliseconds(20)), ExitCode::kDeadline) << "nothing came";
  ASSERT_EQ(write(pipe.writeEnd(), "123", 3), 3);
  EXPECT_EQ(readWithin(pipe.readEnd(), milliseconds(20)), ExitCode::kDeadline) << "no end came";
  ASSERT_EQ(write(pipe.writeEnd(), "123", 3), 3);
  pipe.closeWrite();
  EXPECT_EQ(readWithin(pipe.readEnd(), milliseconds(60'000)), ExitCode::kDone) << "all there";
}

TEST(ReadFile, readsAFileAndRefusesWhatIsNone) {
  const std::string path = testing::TempDir() + "vethgate-read-file-test";
  std::ofstream(path, std::ios::binary) << std::string("a\0b", 3);
  EXPECT_EQ(readFile(path, "link", 3), std::string("a\0b", 3));
  EXPECT_EQ(codeOf([&] { static_cast<void>(readFile(path, "link", 2)); }), ExitCode::kBadInput);
  std::remove(path.c_str());
  EXPECT_EQ(codeOf([&] { static_cast<void>(readFile(path, "link", 3)); }), ExitCode::kBadInput);
  EXPECT_EQ(codeOf([] { static_cast<void>(readFile(testing::TempDir(), "link", 3)); }),
            ExitCode::kBadInput);
}

TEST(WriteAll, saysWhenNobodyGotTheAnswer) {
  Pipe pipe;
  pipe.closeRead();
  const auto previous = std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(codeOf([&] { writeAll(pipe.writeEnd(), "answer"); }), ExitCode::kDefect);
  static_cast<void>(std::signal(SIGPIPE, previous));
}

TEST(RunMain, anAnswerWithoutAStdoutIsADefect) {
  const auto exitOf = [](bool closed) {
    const pid_t child = fork();
    if (child == 0) {
      if (closed) {
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
      }
      _exit(runMain("program", [] {
        // What a program opens next must not become its standard output.
        const int next = open("/dev/null", O_WRONLY);
        writeAll(STDOUT_FILENO, "");
        writeAll(next, "x");
        writeAll(STDOUT_FILENO, "\n");
        return 0;
      }));
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  EXPECT_EQ(exitOf(false), 0);
  EXPECT_EQ(exitOf(true), static_cast<int>(ExitCode::kDefect));
}

TEST(Printable, leavesNoByteThatCouldEndALine) {
  EXPECT_EQ(printable("a\nb\x1b\xff~ "), "a?b??~ ");
}

TEST(RunMain, keepsItsExitCodeWhenTheReaderIsGone) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    static_cast<void>(std::signal(SIGPIPE, SIG_DFL));
    Pipe pipe;
    dup2(pipe.writeEnd(), STDERR_FILENO);
    pipe.closeRead();
    _exit(runMain("program", []() -> int { throw Failure(ExitCode::kRefused, "refused"); }));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "ended by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::kRefused));
}

}  // namespace
}  // namespace vethgate
