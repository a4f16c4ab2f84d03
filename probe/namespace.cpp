// The namespace this process is in.
#include "probe/namespace.hpp"

#include <linux/magic.h>
#include <linux/rtnetlink.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "netlink/message.hpp"
#include "probe/link_selection.hpp"

namespace vethgate {
namespace {

constexpr const char* kCoreSysctls = "/proc/sys/net/core";
constexpr const char* kNamespaceLink = "/proc/thread-self/ns/net";

[[noreturn]] void cannotTell(const std::string& path, const std::string& found) {
  throw Failure(ExitCode::kWrongNamespace,
                "which network namespace this is cannot be told: " + path + ": " + found);
}

std::string lastError() { return std::generic_category().message(errno); }

// Something else may be mounted over /proc or a part of it.
void requireFileSystem(const std::string& path, long magic, const char* name) {
  struct statfs found {};
  if (statfs(path.c_str(), &found) != 0) {
    cannotTell(path, lastError());
  }
  if (found.f_type != magic) {
    cannotTell(path, std::string("is not on ") + name);
  }
}

}  // namespace

std::uint64_t currentNamespace() {
  requireFileSystem(kNamespaceLink, NSFS_MAGIC, "nsfs");
  struct stat found {};
  if (stat(kNamespaceLink, &found) != 0) {
    cannotTell(kNamespaceLink, lastError());
  }
  return found.st_ino;
}

void refuseInitialNamespace() {
  requireFileSystem(kCoreSysctls, PROC_SUPER_MAGIC, "procfs");
  refuseInitialNamespaceBy(kCoreSysctls);
}

void refuseInitialNamespaceBy(const std::string& folder) {
  struct stat found {};
  const std::string everywhere = folder + "/somaxconn";
  if (stat(everywhere.c_str(), &found) != 0) {
    cannotTell(everywhere, lastError());
  }
  const std::string initialOnly = folder + "/netdev_max_backlog";
  if (stat(initialOnly.c_str(), &found) == 0) {
    throw Failure(ExitCode::kWrongNamespace, "this is the machine's initial network namespace (" +
                                                 initialOnly + " exists), not a job's own");
  }
  if (errno != ENOENT) {
    cannotTell(initialOnly, lastError());
  }
}

std::vector<RawMessage> dumpLinks(NetlinkSocket& route, const Deadline& deadline) {
  MessageBuilder request(RTM_GETLINK, NLM_F_DUMP);
  request.header(ifinfomsg{});
  // Fewer counters; what else the kernel sends stays as it is.
  request.putU32(IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
  try {
    return dump(route, std::move(request).finish(), deadline);
  } catch (const KernelError& error) {
    throw Failure(ExitCode::kRefused, std::string("the links cannot be read: ") + error.what());
  }
}

std::vector<RawMessage> dumpAddresses(NetlinkSocket& route, const Deadline& deadline) {
  MessageBuilder request(RTM_GETADDR, NLM_F_DUMP);
  request.header(ifaddrmsg{});  // family AF_UNSPEC, every link
  try {
    return dump(route, std::move(request).finish(), deadline);
  } catch (const KernelError& error) {
    throw Failure(ExitCode::kRefused, std::string("the addresses cannot be read: ") + error.what());
  }
}

Link measureLink(NetlinkSocket& route, const Deadline& deadline) {
  refuseInitialNamespace();
  const std::uint64_t netns = currentNamespace();
  Link link = selectLink(decodeLinks(dumpLinks(route, deadline)), netns);
  link.addresses = decodeAddresses(dumpAddresses(route, deadline), link.index);
  return link;
}

}  // namespace vethgate
