// The streams of one container: the connection that an attach turns into. It must not know which
// program runs in it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "docker/engine/transport.hpp"
#include "docker/engine/types.hpp"

namespace vethgate::docker {

// What a helper may say. A verdict over 10,000 rules is below 1 MiB; stderr is a few log lines.
inline constexpr std::size_t kMaxStdoutBytes = std::size_t{8} << 20;
inline constexpr std::size_t kMaxStderrBytes = std::size_t{1} << 20;

// Attach before the container is started, or its first words are lost. Move-only; closing it does
// not end the container.
class Attachment {
 public:
  enum class Until {
    kEnd,   // both streams are closed
    kLine,  // stdout has said a line, or both are closed
  };

  // Throws EngineFailure; kAbsent when the engine has no such container.
  Attachment(Peer peer, const std::string& container, bool withInput, const Deadline& deadline);

  // Writes `input`, closes the container's stdin, and reads both streams to their end, which is
  // when the container has closed them: at the latest when it has exited. A container that ends
  // before it has read all of its input is no failure here; its exit status says what it made of
  // that. Once per attachment. Throws EngineFailure. An engine that dies ends the streams as well:
  // only with an exit status is what was read all that was said. With kLine a container that goes
  // on is left as it is.
  [[nodiscard]] Output converse(std::string_view input, const Deadline& deadline,
                                Until until = Until::kEnd);

 private:
  void request(const std::string& container, const Deadline& deadline);
  [[noreturn]] void refuse(const std::string& head, const std::string& container,
                           const Deadline& deadline);
  // Waits for `events` of the socket.
  short await(short events, const Deadline& deadline);
  // Reads what is there, waiting for it; empty at the end of the stream, or at a reset.
  std::string_view receive(const Deadline& deadline);
  // Sends what fits now, and returns what is left.
  std::string_view send(std::string_view bytes);

  Peer peer_;
  std::string call_;
  bool withInput_;
  CurlHandle handle_;
  int fd_ = -1;  // handle_'s
  std::string buffer_;
  std::string early_;  // arrived behind the head of the answer
};

}  // namespace vethgate::docker
