// The network that the demonstration speaks of: a machine that runs jobs, and behind it, one hop
// away, the hosts that a job may or may not reach. All of it is alive, and none of it is the
// machine's own.
#pragma once

#include <string_view>

#include "tests/live/fixture/namespace.hpp"
#include "tests/live/fixture/services.hpp"

namespace vethgate::live {

inline constexpr std::string_view kPublicHost = "tcp:203.0.113.2:443";
inline constexpr std::string_view kPublicHostV6 = "tcp:[2001:db8:ff::2]:443";
inline constexpr std::string_view kPrivateHost = "tcp:10.9.8.7:9999";
inline constexpr std::string_view kPrivateHostUdp = "udp:10.9.8.7:9999";
inline constexpr std::string_view kPrivateHostV6 = "tcp:[fd00:dead:beef::2]:9999";
inline constexpr std::string_view kMetadataService = "tcp:169.254.169.254:80";
inline constexpr std::string_view kResolver = "udp:192.0.2.53:53";
// The machine itself, as a job on docker's own network finds it, and its address towards the rest.
inline constexpr std::string_view kProxy = "tcp:172.17.0.1:49200";
inline constexpr std::string_view kMachine = "tcp:172.17.0.1:22";
inline constexpr std::string_view kMachineOutside = "tcp:198.51.100.1:22";
// Given to docker's own network; what lies outside knows the way there.
inline constexpr const char* kJobsV6 = "2001:db8:1::/64";

class World {
 public:
  World();

  // Where the container engine runs.
  [[nodiscard]] const Namespace& machine() const noexcept { return machine_; }

 private:
  Namespace machine_;
  Namespace outside_;
  Services own_;
  Services others_;
};

}  // namespace vethgate::live
