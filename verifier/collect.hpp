// Reading a namespace: sockets in, raw bytes out. Nothing is parsed here beyond what tells whether
// the namespace stood still meanwhile, since this runs while the process still holds CAP_NET_ADMIN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "probe/legacy_tables.hpp"
#include "verifier/capture.hpp"

namespace vethgate {

// How often a namespace that changes under the reader is read again before it is refused.
inline constexpr int kCollectAttempts = 5;

// What only the file system tells of the calling process's namespace; made before lockSyscalls().
struct Surroundings {
  Surroundings();  // Failure(kUnsupported), Failure(kWrongNamespace) when /proc does not tell
  std::string kernel;
  std::uint64_t netns = 0;
  LegacyTableFiles legacy;
};

// One pass over the namespace.
struct Reading {
  Capture capture;
  // Nothing announced a change meanwhile: no notification of links or traffic control, the same
  // generation of nf_tables before and after, no dump that had to be asked for twice.
  bool still = false;
};

// Everything that a capture holds (docs/documents.md), of the calling process's namespace: links
// and traffic control, nf_tables, then links and traffic control once more. `job` is the index of
// the link whose filters are asked for, `sets` the names of those in `netdev vethgate` whose
// elements are. A set that is not there leaves nft.elements short, for the judgement to find. Works
// under SeccompProfile::kCollect. Throws Failure: kUnsupported when the kernel lacks a mechanism or
// the process the capability, kRefused when an answer is doubtful, kDeadline.
[[nodiscard]] Reading readNamespace(std::uint32_t job, const std::vector<std::string>& sets,
                                    const Surroundings& surroundings, const Deadline& deadline);

// The same, read again until nothing changed meanwhile; kRefused when the namespace kept changing.
[[nodiscard]] Capture collect(std::uint32_t job, const std::vector<std::string>& sets,
                              const Surroundings& surroundings, const Deadline& deadline);

}  // namespace vethgate
