#include "docker/engine/attach.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "docker/engine/answers.hpp"
#include "docker/engine/frames.hpp"
#include "docker/engine/requests.hpp"

namespace vethgate::docker {
namespace {

constexpr std::size_t kChunk = std::size_t{64} << 10;
constexpr std::size_t kMaxRefusalBytes = std::size_t{64} << 10;
constexpr std::string_view kHeadEnd = "\r\n\r\n";
constexpr int kSwitchingProtocols = 101;
constexpr int kNotFound = 404;

// "HTTP/1.1 101 UPGRADED" → 101; 0 for what is no status line.
int statusOf(std::string_view head) {
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  int status = 0;
  if (head.substr(0, kVersion.size()) == kVersion) {
    const char* digits = head.data() + kVersion.size();
    static_cast<void>(std::from_chars(digits, head.data() + head.size(), status));
  }
  return status;
}

}  // namespace

Attachment::Attachment(Peer peer, const std::string& container, bool withInput,
                       const Deadline& deadline)
    : peer_(std::move(peer)),
      call_("attach to container \"" + container + "\""),
      withInput_(withInput),
      buffer_(kChunk, '\0') {
  static_cast<void>(checkedName(container, "container"));
  handle_ = openHandle(peer_, call_, deadline);
  CURL* handle = handle_.get();
  // libcurl has no notion of a body in both directions at once, so it only connects; a connection
  // that may not be reused would be closed at once. A unix socket is connected at once or not at
  // all.
  if (curl_easy_setopt(handle, CURLOPT_URL, "http://engine/") != CURLE_OK ||
      curl_easy_setopt(handle, CURLOPT_FORBID_REUSE, 0L) != CURLE_OK ||
      curl_easy_setopt(handle, CURLOPT_CONNECT_ONLY, 1L) != CURLE_OK) {
    throw Failure(ExitCode::kDefect, "libcurl refuses to only connect");
  }
  if (const CURLcode result = curl_easy_perform(handle); result != CURLE_OK) {
    throwTransfer(handle, result, peer_, call_);
  }
  curl_socket_t fd = CURL_SOCKET_BAD;
  if (curl_easy_getinfo(handle, CURLINFO_ACTIVESOCKET, &fd) != CURLE_OK || fd < 0) {
    throw Failure(ExitCode::kDefect, "libcurl does not name the socket that it connected");
  }
  fd_ = fd;
  request(container, deadline);
}

void Attachment::request(const std::string& container, const Deadline& deadline) {
  const std::string text =
      "POST " + std::string(kApiPrefix) + containerPath(container, "/attach") +
      "?stream=true&stdout=true&stderr=true&stdin=" + (withInput_ ? "true" : "false") +
      " HTTP/1.1\r\nHost: engine\r\nUser-Agent: vethgate/" VETHGATE_VERSION
      "\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n";
  for (std::string_view left = text; !left.empty(); left = send(left)) {
    if ((await(POLLOUT, deadline) & POLLERR) != 0) {
      throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0,
                          sentence(peer_, call_) + "the engine closed the connection");
    }
  }
  std::string head;
  std::size_t end = std::string::npos;
  while ((end = head.find(kHeadEnd)) == std::string::npos) {
    if (head.size() > kMaxHeadBytes) {
      throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0,
                          sentence(peer_, call_) + "the head of the answer is longer than the " +
                              std::to_string(kMaxHeadBytes) + " bytes that are accepted");
    }
    const std::string_view more = receive(deadline);
    if (more.empty()) {
      throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0,
                          sentence(peer_, call_) + "no whole answer: the connection ended");
    }
    head += more;
  }
  early_ = head.substr(end + kHeadEnd.size());
  head.resize(end);
  if (statusOf(head) != kSwitchingProtocols) {
    refuse(head, container, deadline);
  }
}

void Attachment::refuse(const std::string& head, const std::string& container,
                        const Deadline& deadline) {
  const int status = statusOf(head);
  if (status == 0) {
    throw EngineFailure(
        ExitCode::kEngine, Outcome::kUnanswered, 0,
        sentence(peer_, call_) + "what answers is no HTTP/1.1 server: \"" + quoted(head) + "\"");
  }
  // The engine keeps the connection open behind a refusal: nothing more will be asked on it.
  static_cast<void>(shutdown(fd_, SHUT_WR));
  std::string body = std::move(early_);
  while (readMessage(body).empty() && body.size() < kMaxRefusalBytes) {
    const std::string_view more = receive(deadline);
    if (more.empty()) {
      break;
    }
    body += more;
  }
  std::string message = readMessage(body);
  if (message.empty()) {
    // Docker 20.10 refuses an upgrade in plain text.
    message = body.substr(0, body.find_last_not_of("\r\n") + 1);
  }
  const bool absent = status == kNotFound && namesObject(message, container);
  throw EngineFailure(ExitCode::kEngine, absent ? Outcome::kAbsent : Outcome::kRefused, status,
                      sentence(peer_, call_) + "status " + std::to_string(status) + " where " +
                          std::to_string(kSwitchingProtocols) + " is expected: \"" +
                          quoted(message) + "\"");
}

short Attachment::await(short events, const Deadline& deadline) {
  // The deadline and the interrupt come first: an engine that never falls silent must not outrun
  // them.
  while (!deadline.passed()) {
    // poll(2) passes over a negative descriptor.
    std::array<pollfd, 2> waiting{{{fd_, events, 0}, {interruptFd(peer_), POLLIN, 0}}};
    const int ready = poll(waiting.data(), waiting.size(), deadline.remainingMs());
    if (ready > 0 && waiting[1].revents != 0) {
      throwInterrupted(Outcome::kUnanswered, peer_, call_);
    }
    if (ready > 0) {
      return waiting[0].revents;
    }
    if (ready < 0 && errno != EINTR) {
      throw Failure(ExitCode::kDefect,
                    "poll of the engine's socket: " + std::generic_category().message(errno));
    }
  }
  throw EngineFailure(ExitCode::kDeadline, Outcome::kUnanswered, 0,
                      sentence(peer_, call_) + "the deadline passed before its end");
}

std::string_view Attachment::receive(const Deadline& deadline) {
  for (;;) {
    std::size_t got = 0;
    const CURLcode result = curl_easy_recv(handle_.get(), buffer_.data(), buffer_.size(), &got);
    if (result == CURLE_OK) {
      return {buffer_.data(), got};
    }
    if (result != CURLE_AGAIN) {
      // A reset: whoever was at the other end went without reading all of the input. What it said
      // before has been received already.
      return {};
    }
    await(POLLIN, deadline);
  }
}

std::string_view Attachment::send(std::string_view bytes) {
  std::size_t sent = 0;
  const CURLcode result = curl_easy_send(handle_.get(), bytes.data(), bytes.size(), &sent);
  if (result != CURLE_OK && result != CURLE_AGAIN) {
    throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0,
                        sentence(peer_, call_) + "it ended early: " + curl_easy_strerror(result));
  }
  bytes.remove_prefix(sent);
  return bytes;
}

Output Attachment::converse(std::string_view input, const Deadline& deadline, Until until) {
  FrameReader frames(kMaxStdoutBytes, kMaxStderrBytes);
  bool writing = withInput_;
  try {
    frames.take(early_);
    for (;;) {
      if (until == Until::kLine && frames.hasLine()) {
        return frames.soFar();
      }
      if (writing && input.empty()) {
        static_cast<void>(shutdown(fd_, SHUT_WR));
        writing = false;
      }
      const short ready = await(static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), deadline);
      if (writing && (ready & POLLOUT) != 0) {
        try {
          input = send(input);
        } catch (const EngineFailure&) {
          // The container is gone, or its stdin is; what it said is still to be read.
          writing = false;
        }
      }
      if ((ready & (POLLIN | POLLHUP | POLLERR)) != 0) {
        const std::string_view more = receive(deadline);
        if (more.empty()) {
          return frames.finish();
        }
        frames.take(more);
      }
    }
  } catch (const EngineFailure&) {
    throw;
  } catch (const Failure& failure) {
    throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0,
                        sentence(peer_, call_) + quoted(failure.what()));
  }
}

}  // namespace vethgate::docker
