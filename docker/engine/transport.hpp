// One HTTP exchange with the engine over its unix socket: the part that knows libcurl. It must not
// know what the calls mean.
//
// Every exchange has a connection of its own: on one that was kept, libcurl would send a request a
// second time when the engine had closed it meanwhile, and a create must never be sent twice.
// Neither the environment nor the user's files can redirect an exchange: no proxy, no netrc, no
// redirection followed, plain HTTP over this one socket.
#pragma once

#include <curl/curl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "base/deadline.hpp"
#include "docker/engine/failure.hpp"
#include "docker/engine/interrupt.hpp"

namespace vethgate::docker {

inline constexpr const char* kDefaultSocket = "/var/run/docker.sock";
inline constexpr const char* kApiPrefix = "/v1.41";
// All header fields of one answer together; engines send below 1 KiB.
inline constexpr std::size_t kMaxHeadBytes = std::size_t{64} << 10;

// Who is asked, and what ends the asking.
struct Peer {
  std::string socket;
  const Interrupt* interrupt = nullptr;
};
[[nodiscard]] bool isInterrupted(const Peer& peer) noexcept;
// For poll(2); -1 without an interrupt.
[[nodiscard]] int interruptFd(const Peer& peer) noexcept;

struct Request {
  std::string call;            // for people: `inspect container "x"`
  const char* method = "GET";  // GET, POST or DELETE
  std::string path;            // below kApiPrefix, with its query, percent-encoded where it must be
  std::string json;            // the body, unless `upload` is set
  std::FILE* upload = nullptr;
  std::uint64_t uploadBytes = 0;
  std::size_t maxAnswerBytes = 0;
  // For how long an interrupt leaves an exchange that has begun.
  std::chrono::milliseconds afterInterrupt{0};
};

struct Response {
  int status = 0;
  std::string body;
};

struct CurlCleanup {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using CurlHandle = std::unique_ptr<CURL, CurlCleanup>;

// A handle with every option set that keeps an exchange on the peer's socket and before `deadline`.
// Throws EngineFailure(kDeadline, kNotSent) when that has passed, or when it is interrupted.
[[nodiscard]] CurlHandle openHandle(const Peer& peer, const std::string& call,
                                    const Deadline& deadline);

// The whole answer, whatever its status. Throws EngineFailure when there is none by the deadline or
// at an interrupt, or when it is cut off or longer than the request's limit.
[[nodiscard]] Response exchange(const Peer& peer, const Request& request, const Deadline& deadline);

// What every sentence about a call begins with.
[[nodiscard]] std::string sentence(const Peer& peer, const std::string& call);

// Throws for a transfer that libcurl ended with `result`.
[[noreturn]] void throwTransfer(CURL* handle, CURLcode result, const Peer& peer,
                                const std::string& call);
[[noreturn]] void throwInterrupted(Outcome outcome, const Peer& peer, const std::string& call);

}  // namespace vethgate::docker
