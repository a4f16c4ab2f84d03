// A stand-in for a container engine: a real server on a unix socket of its own, which does to each
// connection what the test's handler says. It must not know the Engine API: what an engine would
// answer, and when, and what it leaves out, is the handler's.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace vethgate::docker::test {

struct Request {
  std::string method;
  std::string target;                          // path and query, as sent
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // as long as Content-Length says
};

// One connection, as its handler sees it. Writes to a client that went away are passed over.
class Connection {
 public:
  // `stop` becomes readable when the stand-in ends.
  Connection(int fd, int stop) : fd_(fd), stop_(stop) {}

  [[nodiscard]] const Request& request() const noexcept { return request_; }

  void send(std::string_view bytes) const;
  // A whole answer, Content-Length and all.
  void answer(int status, std::string_view body) const;
  // Its head alone: `contentLength` may promise more than is ever sent.
  void head(int status, std::size_t contentLength) const;
  // What the client sends from here on, to its half-close: input on an upgraded connection.
  [[nodiscard]] std::string receiveToEnd() const;
  // Blocks until the client has sent something, which is left unread.
  void awaitUnread() const { static_cast<void>(waitReadable()); }
  // Blocks until the client has closed its end, or the stand-in ends.
  void holdUntilClientLeaves() const;
  // Blocks until the stand-in ends, whatever the client does.
  void holdForever() const;
  // Ends the connection at once. What the client sent and nobody read makes it a reset (unix(7)),
  // else the client reads an end.
  void drop() const;
  [[nodiscard]] bool stopping() const;

 private:
  friend class StandIn;
  bool readRequest();  // false when the client left before it had sent one
  [[nodiscard]] std::string receive(std::size_t atMost) const;  // empty at the end
  [[nodiscard]] bool waitReadable() const;                      // false when the stand-in ends

  int fd_;
  int stop_;
  Request request_;
};

class StandIn {
 public:
  // Called on a thread of its own for every connection that sent a request; the connection is
  // closed when it returns. It must return soon once stopping() is true.
  using Handler = std::function<void(Connection&)>;

  explicit StandIn(Handler handler);
  ~StandIn();
  StandIn(const StandIn&) = delete;
  StandIn& operator=(const StandIn&) = delete;

  [[nodiscard]] const std::string& socket() const noexcept { return socket_; }
  // What was asked so far, in the order in which the requests were complete.
  [[nodiscard]] std::vector<Request> received() const;

 private:
  void serve();
  void converse(int fd);

  Handler handler_;
  std::string folder_;
  std::string socket_;
  int listener_ = -1;
  int stop_ = -1;
  mutable std::mutex mutex_;
  std::vector<Request> received_;
  std::list<std::thread> conversations_;  // of serve()'s thread alone, until that has ended
  std::thread server_;
};

// A handler that gives every connection the same whole answer.
[[nodiscard]] StandIn::Handler always(int status, std::string body);

}  // namespace vethgate::docker::test
