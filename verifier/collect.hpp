// Reading a namespace: sockets in, raw bytes out. Nothing is parsed here beyond what tells whether
// the namespace stood still meanwhile, since this runs while the process still holds CAP_NET_ADMIN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "verifier/capture.hpp"

namespace vethgate {

// How often a namespace that changes under the reader is read again before it is refused.
inline constexpr int kCollectAttempts = 5;

// Everything that the contract's capture holds, of the calling process's namespace; `job` is the
// index of the link whose filters are asked for, `sets` the names of those in `netdev vethgate`
// whose elements are. A set that is not there leaves nft.elements short, for the judgement to find.
// Throws Failure: kUnsupported when the kernel lacks a mechanism or the process the capability,
// kRefused when the namespace kept changing, kDeadline.
[[nodiscard]] Capture collect(std::uint32_t job, const std::vector<std::string>& sets,
                              const Deadline& deadline);

}  // namespace vethgate
