// What the network namespace of this process looks like, as the documents that a job's plan is made
// of. It must not know who asks.
#pragma once

#include <string>

#include "confine/confine.hpp"

namespace vethgate {

// The link document (docs/documents.md) on one line; with `hostName`, {"host", "link"}: also the
// addresses that /etc/hosts has for that name. Locks this process with `lock`, which must let
// netlink through, before the first answer is read: once per process. Failure(kWrongNamespace)
// unless the namespace is a job's.
[[nodiscard]] std::string linkReport(const std::string& hostName, SeccompProfile lock);

// {"own", "onLink"} on one line: the addresses of whatever namespace this is, and the prefixes on
// its links. Locks as the other does.
[[nodiscard]] std::string addressReport(SeccompProfile lock);

}  // namespace vethgate
