// vethgate-probe: prints the link document of the network namespace that it is in, or, of the
// host's, its addresses. Unprivileged; it reads links and addresses over rtnetlink, and /etc/hosts
// when it is asked for a name.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/error.hpp"
#include "base/program.hpp"
#include "confine/confine.hpp"
#include "probe/report.hpp"

int main(int argc, char** argv) {
  return vethgate::runMain("vethgate-probe", [&] {
    vethgate::keepOnlyCapabilities({});
    CLI::App app("Prints the job's link: the one veth of the network namespace that this runs in.",
                 "vethgate-probe");
    app.set_version_flag("--version", VETHGATE_VERSION);
    std::string hostName;
    auto* const host = app.add_option(
        "--host", hostName, R"(print {"host", "link"}: also what /etc/hosts has for this name)");
    bool addresses = false;
    app.add_flag(
           "--addresses", addresses,
           R"(print {"own", "onLink"} instead: the addresses of whatever namespace this is, and the )"
           "prefixes on its links")
        ->excludes(host);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      return app.exit(asked);
    } catch (const CLI::ParseError& error) {
      vethgate::badInput(error.what());
    }
    if (host->count() != 0 && hostName.empty()) {
      vethgate::badInput("--host is empty, expected a name of /etc/hosts");
    }
    constexpr auto kLock = vethgate::SeccompProfile::kNetlink;
    vethgate::writeAll(STDOUT_FILENO, addresses ? vethgate::addressReport(kLock)
                                                : vethgate::linkReport(hostName, kLock));
    return static_cast<int>(vethgate::ExitCode::kDone);
  });
}
