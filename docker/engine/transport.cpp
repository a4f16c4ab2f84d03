#include "docker/engine/transport.hpp"

#include <algorithm>
#include <mutex>
#include <new>
#include <optional>
#include <string_view>
#include <utility>

namespace vethgate::docker {
namespace {

struct ListFree {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, ListFree>;

// libcurl copies nothing of the values that options point to, but for strings.
template <class Value>
void set(CURL* handle, CURLoption option, Value value) {
  // A refusal means another libcurl than the one that this was built against.
  if (const CURLcode result = curl_easy_setopt(handle, option, value); result != CURLE_OK) {
    throw Failure(ExitCode::kDefect, "libcurl refuses option " + std::to_string(option) + ": " +
                                         curl_easy_strerror(result));
  }
}

// The answer while it arrives. Called from C: nothing may be thrown.
struct Incoming {
  std::string body;
  std::size_t headBytes = 0;
  std::size_t maxBytes = 0;
  bool tooLong = false;
};

std::size_t takeBody(const char* data, std::size_t /*one*/, std::size_t count,
                     void* self) noexcept {
  auto& incoming = *static_cast<Incoming*>(self);
  if (count > incoming.maxBytes - incoming.body.size()) {
    incoming.tooLong = true;
    return CURL_WRITEFUNC_ERROR;
  }
  try {
    incoming.body.append(data, count);
  } catch (const std::bad_alloc&) {
    return CURL_WRITEFUNC_ERROR;
  }
  return count;
}

std::size_t takeHead(const char* /*data*/, std::size_t /*one*/, std::size_t count,
                     void* self) noexcept {
  auto& incoming = *static_cast<Incoming*>(self);
  incoming.headBytes += count;
  if (incoming.headBytes > kMaxHeadBytes) {
    incoming.tooLong = true;
    return CURL_WRITEFUNC_ERROR;
  }
  return count;
}

HeaderList requestHeaders(const Request& request) {
  // Of a large body libcurl would ask first whether it may be sent, and then wait.
  HeaderList headers(curl_slist_append(nullptr, "Expect:"));
  const char* type = request.upload == nullptr ? "Content-Type: application/json"
                                               : "Content-Type: application/x-tar";
  if (headers == nullptr || curl_slist_append(headers.get(), type) == nullptr) {
    throw std::bad_alloc();
  }
  return headers;
}

void setBody(CURL* handle, const Request& request) {
  if (std::string_view(request.method) != "POST") {
    set(handle, CURLOPT_CUSTOMREQUEST, request.method);
    return;
  }
  set(handle, CURLOPT_POST, 1L);
  if (request.upload != nullptr) {
    set(handle, CURLOPT_READDATA, request.upload);
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.uploadBytes));
  } else {
    set(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.json.size()));
    set(handle, CURLOPT_POSTFIELDS, request.json.c_str());
  }
}

long sentBytes(CURL* handle) {
  long sent = 0;
  curl_easy_getinfo(handle, CURLINFO_REQUEST_SIZE, &sent);
  return sent;
}

[[noreturn]] void throwMulti(CURLMcode code) {
  throw Failure(ExitCode::kDefect, std::string("libcurl: ") + curl_multi_strerror(code));
}

// One transfer by libcurl's multi interface, the one that can watch a descriptor besides.
class Transfer {
 public:
  explicit Transfer(CURL* handle) : handle_(handle), multi_(curl_multi_init()) {
    if (multi_ == nullptr) {
      throw std::bad_alloc();
    }
    if (const CURLMcode code = curl_multi_add_handle(multi_, handle_); code != CURLM_OK) {
      curl_multi_cleanup(multi_);
      throwMulti(code);
    }
  }
  ~Transfer() {
    curl_multi_remove_handle(multi_, handle_);
    curl_multi_cleanup(multi_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // To its end, which may be that of its time; nullopt when `peer` was interrupted first, and
  // `patience` later it still went on.
  std::optional<CURLcode> perform(const Peer& peer, std::chrono::milliseconds patience) {
    // libcurl wakes at its own deadlines.
    constexpr int kLook = 60'000;
    std::optional<Deadline> grace;
    for (;;) {
      int running = 0;
      if (const CURLMcode code = curl_multi_perform(multi_, &running); code != CURLM_OK) {
        throwMulti(code);
      }
      if (running == 0) {
        return result();
      }
      if (!grace && isInterrupted(peer)) {
        grace = Deadline::after(patience);
      }
      if (grace && grace->passed()) {
        return std::nullopt;
      }
      // Once it was raised it is readable for good, and no news any more.
      curl_waitfd interrupt{interruptFd(peer), CURL_WAIT_POLLIN, 0};
      const unsigned extra = interrupt.fd >= 0 && !grace ? 1 : 0;
      const int wait = grace ? std::min(kLook, grace->remainingMs() + 1) : kLook;
      if (const CURLMcode code = curl_multi_poll(multi_, &interrupt, extra, wait, nullptr);
          code != CURLM_OK) {
        throwMulti(code);
      }
    }
  }

 private:
  CURLcode result() {
    int left = 0;
    const CURLMsg* const message = curl_multi_info_read(multi_, &left);
    if (message == nullptr || message->msg != CURLMSG_DONE) {
      throw Failure(ExitCode::kDefect, "libcurl ended a transfer and does not say how");
    }
    return message->data.result;
  }

  CURL* handle_;
  CURLM* multi_;
};

}  // namespace

CurlHandle openHandle(const Peer& peer, const std::string& call, const Deadline& deadline) {
  static std::once_flag initialised;
  std::call_once(initialised, [] {
    // No TLS: nothing here speaks it.
    if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK) {
      throw Failure(ExitCode::kDefect, "libcurl cannot be initialised");
    }
  });
  if (deadline.passed()) {
    throw EngineFailure(ExitCode::kDeadline, Outcome::kNotSent, 0,
                        sentence(peer, call) + "the deadline had passed before it was sent");
  }
  if (isInterrupted(peer)) {
    throwInterrupted(Outcome::kNotSent, peer, call);
  }
  CurlHandle owner(curl_easy_init());
  CURL* handle = owner.get();
  if (handle == nullptr) {
    throw std::bad_alloc();
  }
  set(handle, CURLOPT_UNIX_SOCKET_PATH, peer.socket.c_str());
  set(handle, CURLOPT_PROXY, "");
  set(handle, CURLOPT_NOPROXY, "*");
  set(handle, CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(handle, CURLOPT_PROTOCOLS_STR, "http");
  set(handle, CURLOPT_FOLLOWLOCATION, 0L);
  set(handle, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(handle, CURLOPT_HTTP09_ALLOWED, 0L);
  set(handle, CURLOPT_PATH_AS_IS, 1L);
  set(handle, CURLOPT_FRESH_CONNECT, 1L);
  set(handle, CURLOPT_FORBID_REUSE, 1L);
  set(handle, CURLOPT_NOSIGNAL, 1L);
  set(handle, CURLOPT_USERAGENT, "vethgate/" VETHGATE_VERSION);
  // 0 would mean that there is no limit.
  const long remaining = std::max(1, deadline.remainingMs());
  set(handle, CURLOPT_TIMEOUT_MS, remaining);
  set(handle, CURLOPT_CONNECTTIMEOUT_MS, remaining);
  return owner;
}

Response exchange(const Peer& peer, const Request& request, const Deadline& deadline) {
  const CurlHandle owner = openHandle(peer, request.call, deadline);
  CURL* handle = owner.get();
  const std::string url = "http://engine" + std::string(kApiPrefix) + request.path;
  const HeaderList headers = requestHeaders(request);
  Incoming incoming;
  incoming.maxBytes = request.maxAnswerBytes;
  set(handle, CURLOPT_URL, url.c_str());
  set(handle, CURLOPT_HTTPHEADER, headers.get());
  set(handle, CURLOPT_WRITEFUNCTION, takeBody);
  set(handle, CURLOPT_WRITEDATA, &incoming);
  set(handle, CURLOPT_HEADERFUNCTION, takeHead);
  set(handle, CURLOPT_HEADERDATA, &incoming);
  setBody(handle, request);

  const std::optional<CURLcode> result = Transfer(handle).perform(peer, request.afterInterrupt);
  if (incoming.tooLong) {
    throw EngineFailure(
        ExitCode::kEngine, Outcome::kUnanswered, 0,
        sentence(peer, request.call) + "the answer is longer than the " +
            std::to_string(incoming.headBytes > kMaxHeadBytes ? kMaxHeadBytes : incoming.maxBytes) +
            " bytes that are accepted");
  }
  if (!result) {
    throwInterrupted(sentBytes(handle) == 0 ? Outcome::kNotSent : Outcome::kUnanswered, peer,
                     request.call);
  }
  if (*result != CURLE_OK) {
    throwTransfer(handle, *result, peer, request.call);
  }
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
  return {static_cast<int>(status), std::move(incoming.body)};
}

bool isInterrupted(const Peer& peer) noexcept {
  return peer.interrupt != nullptr && peer.interrupt->raised();
}

int interruptFd(const Peer& peer) noexcept {
  return peer.interrupt == nullptr ? -1 : peer.interrupt->fd();
}

std::string sentence(const Peer& peer, const std::string& call) {
  return "the container engine at " + peer.socket + ": " + call + ": ";
}

void throwInterrupted(Outcome outcome, const Peer& peer, const std::string& call) {
  throw EngineFailure(ExitCode::kDeadline, outcome, 0,
                      sentence(peer, call) + "interrupted before " +
                          (outcome == Outcome::kNotSent ? "it was sent" : "its end"));
}

void throwTransfer(CURL* handle, CURLcode result, const Peer& peer, const std::string& call) {
  const Outcome outcome = result == CURLE_COULDNT_CONNECT || sentBytes(handle) == 0
                              ? Outcome::kNotSent
                              : Outcome::kUnanswered;
  const std::string start = sentence(peer, call);
  if (result == CURLE_OPERATION_TIMEDOUT) {
    throw EngineFailure(
        ExitCode::kDeadline, outcome, 0,
        start + (outcome == Outcome::kNotSent ? "the deadline passed before it was sent"
                                              : "the deadline passed without a whole answer"));
  }
  if (outcome == Outcome::kNotSent) {
    throw EngineFailure(ExitCode::kEngine, outcome, 0,
                        start + "it cannot be reached: " + curl_easy_strerror(result));
  }
  throw EngineFailure(ExitCode::kEngine, outcome, 0,
                      start + "no whole answer: " + curl_easy_strerror(result));
}

}  // namespace vethgate::docker
