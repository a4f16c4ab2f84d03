// vethgate-probe: prints the link document of the network namespace that it is in. Unprivileged; it
// reads links and addresses over rtnetlink and nothing else.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"
#include "confine/confine.hpp"
#include "probe/link_selection.hpp"
#include "probe/namespace.hpp"
#include "render/link.hpp"

namespace vethgate {
namespace {

constexpr std::chrono::seconds kProbeTime{10};

int probe() {
  // What needs the file system or a new socket comes before the lock.
  refuseInitialNamespace();
  const std::uint64_t netns = currentNamespace();
  NetlinkSocket route(NETLINK_ROUTE);
  lockSyscalls(SeccompProfile::kNetlink);

  const Deadline deadline = Deadline::after(kProbeTime);
  Link link = selectLink(decodeLinks(dumpLinks(route, deadline)), netns);
  link.addresses = decodeAddresses(dumpAddresses(route, deadline), link.index);
  writeAll(STDOUT_FILENO, canonicalText(linkDocument(link)) + "\n");
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace vethgate

int main(int argc, char** argv) {
  return vethgate::runMain("vethgate-probe", [&] {
    vethgate::keepOnlyCapabilities({});
    CLI::App app("Prints the job's link: the one veth of the network namespace that this runs in.");
    app.set_version_flag("--version", VETHGATE_VERSION);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      return app.exit(asked);
    } catch (const CLI::ParseError& error) {
      vethgate::badInput(error.what());
    }
    return vethgate::probe();
  });
}
