// vethgate-probe: prints the link document of the network namespace that it is in, or, of the
// host's, its addresses. Unprivileged; it reads links and addresses over rtnetlink, and /etc/hosts
// when it is asked for a name.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>

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

constexpr std::size_t kMaxHostsBytes = std::size_t{64} << 10;

// The addresses that /etc/hosts has for `name`, in the file's order (hosts(5)).
Json addressesOf(const std::string& name) {
  Json addresses = Json::array();
  std::istringstream lines(readFile("/etc/hosts", "/etc/hosts", kMaxHostsBytes));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string text;
    words >> text;
    const std::optional<Address> address = Address::parse(text);
    for (std::string word; words >> word;) {
      if (word == name && address) {
        addresses.push_back(address->text());
      }
    }
  }
  return addresses;
}

int probe(const std::string& hostName) {
  Json document;
  if (!hostName.empty()) {
    document["host"] = addressesOf(hostName);
  }
  // What needs the file system or a new socket comes before the lock.
  refuseInitialNamespace();
  const std::uint64_t netns = currentNamespace();
  NetlinkSocket route(NETLINK_ROUTE);
  lockSyscalls(SeccompProfile::kNetlink);

  const Deadline deadline = Deadline::after(kProbeTime);
  Link link = selectLink(decodeLinks(dumpLinks(route, deadline)), netns);
  link.addresses = decodeAddresses(dumpAddresses(route, deadline), link.index);
  document["link"] = linkDocument(link);
  writeAll(STDOUT_FILENO, canonicalText(hostName.empty() ? document["link"] : document) + "\n");
  return static_cast<int>(ExitCode::kDone);
}

int listAddresses() {
  NetlinkSocket route(NETLINK_ROUTE);
  lockSyscalls(SeccompProfile::kNetlink);
  const Surroundings found = decodeSurroundings(dumpAddresses(route, Deadline::after(kProbeTime)));
  Json document = {{"own", Json::array()}, {"onLink", Json::array()}};
  for (const Address& address : found.own) {
    document["own"].push_back(address.text());
  }
  for (const Prefix& prefix : found.onLink) {
    document["onLink"].push_back(prefix.text());
  }
  writeAll(STDOUT_FILENO, canonicalText(document) + "\n");
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace vethgate

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
    return addresses ? vethgate::listAddresses() : vethgate::probe(hostName);
  });
}
