#include "docker/establish/establish.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <exception>

#include "base/error.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"
#include "docker/command/signals.hpp"

namespace vethgate::docker {
namespace {

// A reader that does not read must not keep a signal waiting.
void writeAnswer(std::string_view text, const Interrupt& interrupt) {
  // What a pipe takes at once when it polls as writable, pipe(7).
  constexpr std::size_t kChunk = PIPE_BUF;
  while (!text.empty()) {
    std::array<pollfd, 2> waiting{{{STDOUT_FILENO, POLLOUT, 0}, {interrupt.fd(), POLLIN, 0}}};
    const int ready = poll(waiting.data(), waiting.size(), -1);
    if (interrupt.raised()) {
      throw Failure(ExitCode::kDeadline, "a signal ended the attempt before its answer was read");
    }
    if (ready > 0) {
      writeAll(STDOUT_FILENO, text.substr(0, kChunk));
      text.remove_prefix(std::min(text.size(), kChunk));
    }
  }
}

// Nobody learned of the namespace, so nobody will release it.
[[noreturn]] void takeBack(const Engine& engine, const EstablishRequest& request,
                           const Failure& reason) {
  try {
    static_cast<void>(release(engine, request.owner, request.job));
  } catch (const Failure& failure) {
    throw Failure(failure.code(), std::string(reason.what()) + "; " + failure.what());
  }
  throw Failure(reason.code(), std::string(reason.what()) + "; nothing of the attempt is left");
}

}  // namespace

int runEstablish(const std::string& socket, const std::string& image) {
  // Until it is whole nothing exists, and a signal may end the process where it is.
  const EstablishRequest request =
      readRequest(readAll(STDIN_FILENO, "request", kMaxDocumentBytes), image);
  const Signals& signals = takeSignals();
  const Engine removing(socket, &signals.second);
  // What is late with making is as late with removing: docker keeps a container's lock while it
  // starts it, and answers nothing about it before.
  const TimeLimits limits{
      .attempt = request.within,
      .removal = std::max<std::chrono::milliseconds>(kRemovalTime, request.within)};
  const Established made =
      establish(Engine(socket, &signals.first), removing, request, unixNow(), limits);
  try {
    writeAnswer(answerText(request, made), signals.first);
  } catch (const Failure& failure) {
    takeBack(removing, request, failure);
  } catch (const std::exception& error) {
    takeBack(removing, request, Failure(ExitCode::kDefect, error.what()));
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace vethgate::docker
