// Which network namespace this process is in, and its links. It only reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "netlink/socket.hpp"
#include "render/link.hpp"

namespace vethgate {

// Inode number (nsfs) of the calling thread's network namespace; Failure(kWrongNamespace) when
// /proc does not tell. Opens nothing, but needs the file system: call it before lockSyscalls().
[[nodiscard]] std::uint64_t currentNamespace();

// Throws Failure(kWrongNamespace) in the initial namespace, and when it cannot be told. Needs the
// file system as well. Told by net.core.netdev_max_backlog, which the kernel registers for the
// initial namespace alone (net/core/sysctl_net_core.c; 6.1, 6.12, 6.18); net.core.somaxconn, which
// every namespace has, proves that the folder could be read.
void refuseInitialNamespace();
// The same judgement of a folder that stands for /proc/sys/net/core.
void refuseInitialNamespaceBy(const std::string& folder);

// A full RTM_GETLINK dump, as the kernel sent it. Failure(kRefused) when the kernel answers with an
// error, and as dump() throws.
[[nodiscard]] std::vector<RawMessage> dumpLinks(NetlinkSocket& route, const Deadline& deadline);

// A full RTM_GETADDR dump of both families, as the kernel sent it. Errors as for dumpLinks().
[[nodiscard]] std::vector<RawMessage> dumpAddresses(NetlinkSocket& route, const Deadline& deadline);

// currentNamespace(), refuseInitialNamespace(), the dumps, and what is chosen from them: the job's
// link in this process's namespace.
[[nodiscard]] Link measureLink(NetlinkSocket& route, const Deadline& deadline);

}  // namespace vethgate
