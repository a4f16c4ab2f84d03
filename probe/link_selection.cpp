// The choice of the job's link, and the refusals. It must not know how a link was read.
#include "probe/link_selection.hpp"

#include <linux/if.h>
#include <linux/if_arp.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.hpp"
#include "base/json.hpp"

namespace vethgate {
namespace {

[[noreturn]] void refuse(const std::string& problem) {
  throw Failure(ExitCode::kWrongNamespace, problem);
}

// A name may hold any byte but white space, '/' and ':'; a message may not.
std::string printable(const std::string& name) {
  std::string text = name;
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~' || c == '"'; }, '?');
  return text;
}

std::string describe(const LinkState& link) {
  return "link " + std::to_string(link.index) + " \"" + printable(link.name) + "\" (" +
         (link.kind.empty() ? "of no kind" : printable(link.kind)) + ")";
}

std::string describe(const std::vector<const LinkState*>& links) {
  constexpr std::size_t kNamed = 8;  // a host may have hundreds
  std::string text;
  for (std::size_t i = 0; i < links.size() && i < kNamed; ++i) {
    text += (i == 0 ? "" : ", ") + describe(*links[i]);
  }
  return links.size() > kNamed ? text + ", …" : text;
}

bool isLoopback(const LinkState& link) {
  return link.hardwareType == ARPHRD_LOOPBACK && (link.flags & IFF_LOOPBACK) != 0 &&
         link.kind.empty();
}

// The kernel puts one device of each loaded tunnel module into every new namespace
// (net.core.fb_tunnels_only_for_init_net). Down and bound to nothing, they carry no packet.
bool isDormantFallbackTunnel(const LinkState& link) {
  constexpr std::array<std::string_view, 9> kKinds{"ipip", "gre", "gretap", "erspan", "vti",
                                                   "vti6", "sit", "ip6tnl", "ip6gre"};
  return std::find(kKinds.begin(), kKinds.end(), link.kind) != kKinds.end() &&
         (link.flags & IFF_UP) == 0 && link.operState == IF_OPER_DOWN && link.peer == 0 &&
         !link.peerElsewhere && link.master == 0;
}

// Of the one candidate, everything that the plan will rely on.
void checkVeth(const LinkState& link) {
  const std::string what = describe(link);
  if (link.kind != "veth") {
    refuse(what + ": the job's link must be a veth");
  }
  if (link.peer == 0) {
    refuse(what + ": has no peer");
  }
  // Across two namespaces equal indexes are a coincidence, and a common one: both count from 1.
  if (link.peer == link.index && !link.peerElsewhere) {
    refuse(what + ": names itself as its peer");
  }
  if ((link.flags & IFF_UP) == 0) {
    refuse(what + ": is not UP");
  }
  if (!link.peerElsewhere) {
    refuse(what + ": its peer, link " + std::to_string(link.peer) +
           ", is in the same namespace, so it leads nowhere");
  }
  if (link.master != 0) {
    refuse(what + ": is enslaved to link " + std::to_string(link.master) +
           ", so packets may leave past it");
  }
  if (link.hardwareType != ARPHRD_ETHER || !link.hasMac) {
    refuse(what + ": is of hardware type " + std::to_string(link.hardwareType) +
           " where Ethernet with an address of 6 bytes is expected");
  }
}

}  // namespace

Link selectLink(std::span<const LinkState> links, std::uint64_t netns) {
  if (links.empty()) {
    refuse("the namespace has no links, not even a loopback");
  }
  const LinkState* loopback = nullptr;
  std::size_t tunnels = 0;
  std::vector<const LinkState*> candidates;
  for (const LinkState& link : links) {
    if (link.kind == "bridge") {
      refuse(describe(link) +
             ": a bridge stands in the namespace, which a job's own does not have");
    }
    if (loopback == nullptr && isLoopback(link)) {
      loopback = &link;
    } else if (isDormantFallbackTunnel(link)) {
      ++tunnels;
    } else {
      candidates.push_back(&link);
    }
  }
  if (loopback == nullptr) {
    refuse("the namespace has no loopback; it has " + describe(candidates));
  }
  const std::string aside =
      tunnels == 0 ? "" : " beside " + std::to_string(tunnels) + " dormant fallback tunnels";
  if (candidates.empty()) {
    refuse("the namespace has no link but its loopback" + aside + " where one veth is expected");
  }
  if (candidates.size() != 1) {
    refuse("the namespace has " + std::to_string(candidates.size()) + " links" + aside +
           " where one veth is expected: " + describe(candidates));
  }
  checkVeth(*candidates.front());
  for (const LinkState& link : links) {
    if (link.xdp) {
      refuse(describe(link) + ": an XDP program is attached, which acts before every filter");
    }
  }
  const LinkState& chosen = *candidates.front();
  Link link{chosen.index, chosen.name, chosen.mac, chosen.peer, netns};
  try {
    // A name that the readers of the document refuse must not leave as a good answer.
    link = readLink(linkDocument(link), "link");
  } catch (const Failure& failure) {
    refuse(describe(chosen) + ": cannot be written as a link document: " + failure.what());
  }
  return link;
}

}  // namespace vethgate
