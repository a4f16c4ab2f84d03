// The calls to a container engine that vethgate makes: Docker's Engine API v1.41, which docker from
// 20.10 and podman from 4.3 answer on a unix socket. It must not know what the containers are for.
//
// Every call takes the deadline by which its whole answer must be there; the caller starts it
// before the call waits for anything, so that time spent in a queue counts. Nothing is ever sent
// twice. A call that does not succeed throws EngineFailure (exit 9, or 10 when the time ran out)
// and says the call, the object and the engine's own words. Only a 404 that names the object asked
// for means that it is absent; every other answer, and none, leaves that open.
//
// An engine with an interrupt ends every call when that is raised: kUnanswered, exit 10, or
// kNotSent for those that come later. A create that was sent is given kCreateGrace to be answered.
//
// Threads: one Engine may be used by several at once, since each call has a connection of its own.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "docker/engine/attach.hpp"
#include "docker/engine/failure.hpp"
#include "docker/engine/types.hpp"

namespace vethgate::docker {

// Objects and errors: an inspected container takes some 8 KiB, one line of a list 2 KiB.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxListBytes = std::size_t{32} << 20;
inline constexpr std::uint64_t kMaxImageBytes = std::uint64_t{64} << 20;

class Engine {
 public:
  // The socket's path, at most 107 bytes (unix(7)). No environment variable is read. The interrupt,
  // if any, must outlive every call.
  explicit Engine(std::string socket = kDefaultSocket, const Interrupt* interrupt = nullptr);

  [[nodiscard]] const std::string& socket() const noexcept { return peer_.socket; }
  [[nodiscard]] bool interrupted() const noexcept { return isInterrupted(peer_); }

  void ping(const Deadline& deadline) const;
  [[nodiscard]] Version version(const Deadline& deadline) const;
  [[nodiscard]] Info info(const Deadline& deadline) const;

  // nullopt: absent.
  [[nodiscard]] std::optional<Image> findImage(const std::string& name,
                                               const Deadline& deadline) const;
  // Loads what `docker save` writes; returns the names of what was loaded, at least one. A file
  // that cannot be read, is none, or is longer than kMaxImageBytes is Failure(kBadInput).
  [[nodiscard]] std::vector<std::string> loadImage(const std::string& tarFile,
                                                   const Deadline& deadline) const;

  [[nodiscard]] std::optional<Network> findNetwork(const std::string& name,
                                                   const Deadline& deadline) const;
  // Those that carry all of `labels`.
  [[nodiscard]] std::vector<Network> listNetworks(const Labels& labels,
                                                  const Deadline& deadline) const;

  // Unless its outcome is kNotSent, a create that fails may still bring the container about, later.
  [[nodiscard]] Created createContainer(const ContainerSpec& spec, const Deadline& deadline) const;
  // A container that runs already is refused: somebody else started it.
  void startContainer(const std::string& container, const Deadline& deadline) const;
  // Waits until it does not run, and returns its exit status, 0 to 255. One that was never started
  // does not run: docker and podman 4 say 0 of it, podman 5 a status that is none, which is
  // refused.
  [[nodiscard]] int waitContainer(const std::string& container, const Deadline& deadline) const;
  // Sends SIGKILL.
  void killContainer(const std::string& container, const Deadline& deadline) const;
  // With its anonymous volumes, even if it runs.
  [[nodiscard]] Removal removeContainer(const std::string& container,
                                        const Deadline& deadline) const;
  // By id or name; an answer about another container is refused.
  [[nodiscard]] std::optional<Container> findContainer(const std::string& container,
                                                       const Deadline& deadline) const;
  // Those that carry all of `labels`, whatever their state.
  [[nodiscard]] std::vector<ContainerSummary> listContainers(const Labels& labels,
                                                             const Deadline& deadline) const;
  // `withInput`: the container was created with takesInput.
  [[nodiscard]] Attachment attach(const std::string& container, bool withInput,
                                  const Deadline& deadline) const;

 private:
  Peer peer_;
};

}  // namespace vethgate::docker
