// Prints the link dump of the namespace that it is in, one message a line, as hex: what
// data/capture.sh records.
#include <chrono>

#include "base/program.hpp"
#include "probe/namespace.hpp"

int main() {
  return vethgate::runMain("link-dump", [] {
    vethgate::NetlinkSocket route(NETLINK_ROUTE);
    const auto deadline = vethgate::Deadline::after(std::chrono::seconds(10));
    for (const vethgate::RawMessage& message : vethgate::dumpLinks(route, deadline)) {
      vethgate::writeAll(1, vethgate::toHex(message) + "\n");
    }
    return 0;
  });
}
