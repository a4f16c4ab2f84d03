// Which network namespace this process is in.
#pragma once

#include <cstdint>

#include "base/deadline.hpp"
#include "netlink/socket.hpp"
#include "render/link.hpp"

namespace vethgate {

// Inode number of the calling process's network namespace.
[[nodiscard]] std::uint64_t currentNamespace();
// Throws Failure(kWrongNamespace) in the initial namespace, and when it cannot be told.
void refuseInitialNamespace();
// A full RTM_GETLINK dump, as the kernel sent it.
[[nodiscard]] std::vector<RawMessage> dumpLinks(NetlinkSocket& route, const Deadline& deadline);
// The three above and selectLink(): the job's link in this process's namespace.
[[nodiscard]] Link measureLink(NetlinkSocket& route, const Deadline& deadline);

}  // namespace vethgate
