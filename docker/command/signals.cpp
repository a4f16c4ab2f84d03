#include "docker/command/signals.hpp"

#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/error.hpp"

namespace vethgate::docker {
namespace {

Signals* signals = nullptr;  // for the handler; set before that is

void handle(int /*signal*/) {
  (signals->first.raised() ? signals->second : signals->first).raise();
}

void refuse() {
  throw Failure(ExitCode::kDefect,
                "the signals cannot be handled: " + std::generic_category().message(errno));
}

}  // namespace

const Signals& takeSignals() {
  static Signals taken;
  signals = &taken;
  struct sigaction action {};
  action.sa_handler = handle;
  // One at a time, or two that come together would both be the first.
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    sigaddset(&action.sa_mask, signal);
  }
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction before {};
    if (sigaction(signal, nullptr, &before) != 0) {
      refuse();
    }
    if (before.sa_handler != SIG_IGN && sigaction(signal, &action, nullptr) != 0) {
      refuse();
    }
  }
  return taken;
}

}  // namespace vethgate::docker
