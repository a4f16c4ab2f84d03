#include "probe/report.hpp"

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "base/json.hpp"
#include "base/program.hpp"
#include "probe/link_selection.hpp"
#include "probe/namespace.hpp"
#include "render/link.hpp"

namespace vethgate {
namespace {

constexpr std::chrono::seconds kProbeTime{30};
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

}  // namespace

std::string linkReport(const std::string& hostName, SeccompProfile lock) {
  Json document;
  if (!hostName.empty()) {
    document["host"] = addressesOf(hostName);
  }
  // What needs the file system or a new socket comes before the lock.
  refuseInitialNamespace();
  const std::uint64_t netns = currentNamespace();
  NetlinkSocket route(NETLINK_ROUTE);
  lockSyscalls(lock);

  const Deadline deadline = Deadline::after(kProbeTime);
  Link link = selectLink(decodeLinks(dumpLinks(route, deadline)), netns);
  link.addresses = decodeAddresses(dumpAddresses(route, deadline), link.index);
  document["link"] = linkDocument(link);
  return canonicalText(hostName.empty() ? document["link"] : document) + "\n";
}

std::string addressReport(SeccompProfile lock) {
  NetlinkSocket route(NETLINK_ROUTE);
  lockSyscalls(lock);
  const Surroundings found = decodeSurroundings(dumpAddresses(route, Deadline::after(kProbeTime)));
  Json document = {{"own", Json::array()}, {"onLink", Json::array()}};
  for (const Address& address : found.own) {
    document["own"].push_back(address.text());
  }
  for (const Prefix& prefix : found.onLink) {
    document["onLink"].push_back(prefix.text());
  }
  return canonicalText(document) + "\n";
}

}  // namespace vethgate
