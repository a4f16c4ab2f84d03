// What a plan costs a packet: how many a sender inside the job's namespace gets through its veth.
#pragma once

#include <chrono>
#include <string>

#include "tests/live/fixture/topology.hpp"

namespace vethgate::bench {

enum class Sender {
  kRaw,  // AF_PACKET, the way gVisor's sentry sends
  kUdp,  // an ordinary socket
};

// Nanoseconds of one send call that the plan lets pass, to an allowed address, over `span`. The
// frames carry a MAC that the host side does not own, so that its stack adds as little as it can.
[[nodiscard]] double nanosecondsPerPacket(const live::Job& job, Sender sender,
                                          std::chrono::milliseconds span);

}  // namespace vethgate::bench
