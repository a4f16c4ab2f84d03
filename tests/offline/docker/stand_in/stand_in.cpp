#include "tests/offline/docker/stand_in/stand_in.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace vethgate::docker::test {
namespace {

constexpr std::size_t kChunk = 65536;

void require(bool holds, const char* what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

// Waits for either; true when it is `fd`.
bool readable(int fd, int stop) {
  std::array<pollfd, 2> waiting{{{stop, POLLIN, 0}, {fd, POLLIN, 0}}};
  return poll(waiting.data(), waiting.size(), -1) > 0 && waiting[0].revents == 0;
}

}  // namespace

bool Connection::waitReadable() const { return readable(fd_, stop_); }

bool Connection::stopping() const {
  pollfd waiting{stop_, POLLIN, 0};
  return poll(&waiting, 1, 0) > 0;
}

void Connection::holdForever() const {
  pollfd waiting{stop_, POLLIN, 0};
  poll(&waiting, 1, -1);
}

std::string Connection::receive(std::size_t atMost) const {
  std::string bytes(std::min(atMost, kChunk), '\0');
  const ssize_t got = waitReadable() ? recv(fd_, bytes.data(), bytes.size(), 0) : 0;
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes;
}

bool Connection::readRequest() {
  std::string text;
  std::size_t end = std::string::npos;
  while ((end = text.find("\r\n\r\n")) == std::string::npos) {
    const std::string more = receive(kChunk);
    if (more.empty()) {
      return false;
    }
    text += more;
  }
  const std::size_t line = text.find("\r\n");
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  request_.method = text.substr(0, first);
  request_.target = text.substr(first + 1, second - first - 1);
  for (std::size_t at = line + 2; at < end + 2;) {
    const std::size_t stop = text.find("\r\n", at);
    const std::size_t colon = text.find(": ", at);
    std::string name = text.substr(at, std::min(colon, stop) - at);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    request_.headers[name] = colon < stop ? text.substr(colon + 2, stop - colon - 2) : "";
    at = stop + 2;
  }
  request_.body = text.substr(end + 4);
  const auto length = request_.headers.find("content-length");
  const std::size_t expected = length == request_.headers.end() ? 0 : std::stoul(length->second);
  while (request_.body.size() < expected) {
    const std::string more = receive(expected - request_.body.size());
    if (more.empty()) {
      return false;
    }
    request_.body += more;
  }
  return true;
}

void Connection::send(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void Connection::head(int status, std::size_t contentLength) const {
  send("HTTP/1.1 " + std::to_string(status) +
       " Word\r\nContent-Type: application/json\r\nContent-Length: " +
       std::to_string(contentLength) + "\r\n\r\n");
}

void Connection::answer(int status, std::string_view body) const {
  if (status == 204) {
    send("HTTP/1.1 204 No Content\r\n\r\n");
    return;
  }
  head(status, body.size());
  send(body);
}

std::string Connection::receiveToEnd() const {
  std::string all;
  for (std::string more = receive(kChunk); !more.empty(); more = receive(kChunk)) {
    all += more;
  }
  return all;
}

void Connection::holdUntilClientLeaves() const { static_cast<void>(receiveToEnd()); }

void Connection::drop() const { shutdown(fd_, SHUT_RDWR); }

StandIn::StandIn(Handler handler) : handler_(std::move(handler)) {
  std::string folder = "/tmp/vethgate-engine-XXXXXX";
  require(mkdtemp(folder.data()) != nullptr, "no folder for the socket");
  folder_ = folder;
  socket_ = folder_ + "/socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_.copy(address.sun_path, sizeof address.sun_path - 1);
  stop_ = eventfd(0, EFD_CLOEXEC);
  require(stop_ >= 0, "no eventfd");
  listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(listener_ >= 0 &&
              bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
              listen(listener_, 128) == 0,
          "the socket cannot be opened");
  server_ = std::thread([this] { serve(); });
}

StandIn::~StandIn() {
  static_cast<void>(eventfd_write(stop_, 1));
  server_.join();
  for (std::thread& conversation : conversations_) {
    conversation.join();
  }
  close(listener_);
  close(stop_);
  unlink(socket_.c_str());
  rmdir(folder_.c_str());
}

void StandIn::serve() {
  while (readable(listener_, stop_)) {
    const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      conversations_.emplace_back([this, fd] { converse(fd); });
    }
  }
}

void StandIn::converse(int fd) {
  Connection connection(fd, stop_);
  if (connection.readRequest()) {
    {
      const std::lock_guard lock(mutex_);
      received_.push_back(connection.request());
    }
    handler_(connection);
  }
  close(fd);
}

std::vector<Request> StandIn::received() const {
  const std::lock_guard lock(mutex_);
  return received_;
}

StandIn::Handler always(int status, std::string body) {
  return
      [status, body = std::move(body)](Connection& connection) { connection.answer(status, body); };
}

}  // namespace vethgate::docker::test
