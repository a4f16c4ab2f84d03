// Policy to the one ordered list. It must not know how any layer writes it.
#include "render/rules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "render/known_prefixes.hpp"
#include "render/prefix_set.hpp"

namespace vethgate {
namespace {

constexpr std::string_view kConnectionPrefix = "vethgate-conn:";
constexpr std::string_view kDnsPrefix = "vethgate-dns:";
constexpr std::string_view kMetadataPrefix = "vethgate-metadata:";
constexpr std::string_view kDenyPrefix = "vethgate-deny:";
constexpr std::string_view kDefaultPrefix = "vethgate-default:";

const PortRange kDnsPorts(kDnsPort, kDnsPort);

std::uint8_t icmpOf(Family family) {
  return family == Family::kV4 ? kProtocolIcmp : kProtocolIcmpV6;
}

// The list of one family under construction.
class FamilyRules {
 public:
  FamilyRules(const Policy& policy, Family family, std::vector<Rule>& out)
      : policy_(policy), family_(family), out_(out) {}

  void build() {
    if (policy_.log) {
      logs();
    }
    metadata();
    exceptions();
    resolvers();
    if (family_ == Family::kV6) {
      neighbours();
    }
    out_.push_back({.family = family_,
                    .role = Role::kLoopback,
                    .action = Action::kAccept,
                    .to = loopbackOf(family_),
                    .why = "loopback never leaves the namespace"});
    denied();
    fallback();
  }

 private:
  void logs() {
    out_.push_back({.family = family_,
                    .role = Role::kConnection,
                    .action = Action::kLog,
                    .protocol = kProtocolTcp,
                    .syn = true,
                    .logPrefix = kConnectionPrefix,
                    .why = "new TCP connections, refused ones included"});
    out_.push_back({.family = family_,
                    .role = Role::kDns,
                    .action = Action::kLog,
                    .protocol = kProtocolUdp,
                    .ports = kDnsPorts,
                    .logPrefix = kDnsPrefix,
                    .why = "DNS queries, refused ones included"});
    for (const Prefix& host : metadataHosts()) {
      log(Role::kMetadata, host, kMetadataPrefix, "cloud metadata");
    }
  }

  void metadata() {
    for (const Prefix& host : metadataHosts()) {
      drop(Role::kMetadata, host, "cloud metadata");
    }
  }

  void exceptions() {
    for (const Exception& exception : policy_.allow) {
      if (exception.to.family() == family_) {
        out_.push_back({.family = family_,
                        .role = Role::kAllow,
                        .action = Action::kAccept,
                        .to = exception.to,
                        .protocol = static_cast<std::uint8_t>(exception.protocol),
                        .ports = exception.ports,
                        .why = exception.why.empty() ? "allowed" : exception.why});
      }
    }
  }

  void resolvers() {
    for (const Address& resolver : policy_.resolvers) {
      if (resolver.family() != family_) {
        continue;
      }
      // A truncated answer over udp is asked for again over tcp.
      for (const std::uint8_t protocol : {kProtocolUdp, kProtocolTcp}) {
        out_.push_back({.family = family_,
                        .role = Role::kResolver,
                        .action = Action::kAccept,
                        .to = Prefix::host(resolver),
                        .protocol = protocol,
                        .ports = kDnsPorts,
                        .why = "resolver"});
      }
    }
  }

  // With multicast denied no IPv6 address could be resolved at all, and every denial would be
  // measured on a dead stack. Solicitations go to the solicited-node group, advertisements to
  // whoever asked.
  void neighbours() {
    static const Prefix solicitedNode =
        Prefix::parse("ff02::1:ff00:0/104", "solicited-node prefix");
    out_.push_back({.family = family_,
                    .role = Role::kNeighbour,
                    .action = Action::kAccept,
                    .to = solicitedNode,
                    .protocol = kProtocolIcmpV6,
                    .icmpType = kNeighbourSolicitation,
                    .hopLimit = kOnLinkHopLimit,
                    .why = "neighbour solicitation, on link"});
    out_.push_back({.family = family_,
                    .role = Role::kNeighbour,
                    .action = Action::kAccept,
                    .protocol = kProtocolIcmpV6,
                    .icmpType = kNeighbourAdvertisement,
                    .hopLimit = kOnLinkHopLimit,
                    .why = "neighbour advertisement, on link"});
  }

  void denied() {
    for (const DeniedPrefix& entry : policy_.deny) {
      if (policy_.log) {
        log(Role::kDenied, entry.prefix, kDenyPrefix, entry.why);
      }
      drop(Role::kDenied, entry.prefix, entry.why);
    }
  }

  void fallback() {
    if (policy_.fallback == Policy::Default::kPass) {
      protocols();
    }
    for (const DefaultPass& entry : policy_.defaultPasses) {
      out_.push_back({.family = family_,
                      .role = Role::kDefault,
                      .action = Action::kAccept,
                      .protocol = static_cast<std::uint8_t>(entry.protocol),
                      .ports = entry.ports,
                      .why = entry.why.empty() ? "default" : entry.why});
    }
    if (policy_.log) {
      out_.push_back({.family = family_,
                      .role = Role::kDefault,
                      .action = Action::kLog,
                      .logPrefix = kDefaultPrefix,
                      .why = "default"});
    }
    out_.push_back(
        {.family = family_, .role = Role::kDefault, .action = Action::kDrop, .why = "default"});
  }

  // What is none of these may be a tunnel: behind an outer address that nobody denies, the host
  // would unpack a packet for one that is denied.
  void protocols() {
    for (const std::uint8_t protocol : {kProtocolTcp, kProtocolUdp, icmpOf(family_)}) {
      accept(Role::kOrdinary, protocol, "default");
    }
    for (const std::uint8_t protocol : policy_.protocols) {
      accept(Role::kDefault, protocol, "protocols");
    }
  }

  void accept(Role role, std::uint8_t protocol, const char* why) {
    out_.push_back({.family = family_,
                    .role = role,
                    .action = Action::kAccept,
                    .protocol = protocol,
                    .why = why});
  }

  void log(Role role, const Prefix& to, std::string_view logPrefix, const std::string& why) {
    if (to.family() == family_) {
      out_.push_back({.family = family_,
                      .role = role,
                      .action = Action::kLog,
                      .to = to,
                      .logPrefix = logPrefix,
                      .why = why});
    }
  }

  void drop(Role role, const Prefix& to, const std::string& why) {
    if (to.family() == family_) {
      out_.push_back(
          {.family = family_, .role = role, .action = Action::kDrop, .to = to, .why = why});
    }
  }

  const Policy& policy_;
  Family family_;
  std::vector<Rule>& out_;
};

Prefix everything(Family family) { return {Address(family, {}), 0}; }

std::string describe(const Rule& rule) {
  return (rule.to ? rule.to->text() : std::string("any destination")) + " (" + rule.why + ")";
}

}  // namespace

std::vector<Rule> orderedRules(const Policy& policy) {
  std::vector<Rule> rules;
  rules.reserve(2 * policy.deny.size() + policy.allow.size() + 2 * policy.resolvers.size() +
                2 * policy.defaultPasses.size() + 2 * policy.protocols.size() + 48);
  for (const Family family : {Family::kV4, Family::kV6}) {
    FamilyRules(policy, family, rules).build();
  }
  return rules;
}

void refuseShadowedExceptions(const std::vector<Rule>& rules) {
  PrefixSet dropped;  // a prefix covers nothing of the other family
  for (const Rule& rule : rules) {
    const Prefix to = rule.to.value_or(everything(rule.family));
    if (rule.action == Action::kDrop) {
      dropped.insert(to);
    } else if (rule.action == Action::kAccept && rule.role != Role::kOrdinary) {
      if (const auto cover = dropped.covering(to)) {
        badInput("the exception for " + describe(rule) +
                 " would never be reached: " + cover->text() + " is denied above it");
      }
    }
  }
}

}  // namespace vethgate
