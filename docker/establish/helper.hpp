// One helper: a container that runs one of vethgate's programs to its end, beside the holder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "docker/custody/custody.hpp"
#include "docker/engine/engine.hpp"

namespace vethgate::docker {

// Of the holder, and of helpers that need no capability.
inline constexpr const char* kNobody = "65532:65532";

struct HelperSpec {
  std::string verb;  // "host", "apply", …: for its name and for messages
  std::vector<std::string> command;
  std::string network;    // "container:<id>", or "host"
  bool netAdmin = false;  // as user 0 with that capability alone, else as nobody with none
  bool takesInput = false;
};

// What all containers of one attempt share.
struct Surrounding {
  std::string job;
  std::string image;
  std::string runtime;  // of the host's own kernel; empty: the engine's default
  std::string seccomp;  // the profile's text; empty: the engine's own
};

// How a program ended.
struct Ended {
  int status = 0;
  Output said;
};

// Throws for the end of a step whose program has failed: with its own exit code, if it is one of
// vethgate's.
[[noreturn]] void refuseEnd(const std::string& verb, const Ended& ended);

// A container for a program that is started later, so that its creation takes no time then.
class Helper {
 public:
  Helper(const Engine& engine, Custody& custody, const Surrounding& surrounding, HelperSpec spec,
         const Deadline& deadline);
  // Starts it, hands it `input`, and returns its stdout once it has ended with exit status 0.
  // Another status of vethgate's is thrown as that exit code, with the program's last words; one
  // that no program of vethgate's has, and a signal, are the engine's failure (kEngine). The
  // container is removed when the answer is complete.
  [[nodiscard]] std::string run(std::string_view input, const Deadline& deadline);
  // The same for a program whose other exit statuses are answers as well.
  [[nodiscard]] Ended complete(std::string_view input, const Deadline& deadline);
  // Throws what run() throws for such an end.
  [[noreturn]] void refuse(const Ended& ended) const { refuseEnd(spec_.verb, ended); }

 private:
  const Engine& engine_;
  Custody& custody_;
  HelperSpec spec_;
  std::string id_;
};

// The engine's runtime for the host's own kernel, under which rules are put into a namespace
// whatever the job will run under: runc, or crun without it; nullopt without either.
[[nodiscard]] std::optional<std::string> hostRuntime(const Info& info);
// What every helper for `job` has in common on this engine. Failure(kUnsupported) when it has no
// runtime for the host's own kernel.
[[nodiscard]] Surrounding surroundingOf(const Engine& engine, bool podman, const std::string& job,
                                        const std::string& image, const Deadline& deadline);
[[nodiscard]] ContainerSpec containerOf(const Surrounding& surrounding, const HelperSpec& spec);

}  // namespace vethgate::docker
