// Tables of the legacy iptables modules, which no netlink dump shows. It only reads /proc.
#pragma once

#include <string>
#include <vector>

namespace vethgate {

// Those of the calling process's namespace: "ip filter", "ip6 nat", "arp filter". Needs the file
// system: call it before lockSyscalls(). Failure(kUnsupported) when /proc does not tell.
[[nodiscard]] std::vector<std::string> legacyTables();

}  // namespace vethgate
