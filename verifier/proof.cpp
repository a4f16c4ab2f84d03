#include "verifier/proof.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "verifier/named_sets.hpp"

namespace vethgate {
namespace {

FieldRange one(std::uint16_t value) { return {value, value}; }

// What every policy holds without saying so, stated here a second time on purpose, as the sets are
// in named_sets.hpp. Of the renderer's room this judgement shares the reading of the document and
// of addresses, and nothing that rules are made from. Sources: RFC 4291 2.7.1, RFC 4861 4.3, 4.4,
// 7.1.
constexpr std::string_view kSolicitedNodes = "ff02::1:ff00:0/104";
constexpr std::uint8_t kNeighbourSolicitation = 135;
constexpr std::uint8_t kNeighbourAdvertisement = 136;
constexpr std::uint8_t kOnLinkHopLimit = 255;
constexpr std::uint16_t kDnsPort = 53;

Service serviceOf(std::optional<std::uint8_t> protocol, const std::optional<PortRange>& ports,
                  std::optional<std::uint8_t> icmpType, std::optional<std::uint8_t> hopLimit) {
  Service service;
  if (protocol) {
    service.protocol = one(*protocol);
  }
  if (ports) {
    service.port = {ports->first(), ports->last()};
  }
  if (icmpType) {
    service.icmpType = one(*icmpType);
  }
  if (hopLimit) {
    service.hopLimit = one(*hopLimit);
  }
  return service;
}

// What leaves by a `default` of pass.
std::vector<Service> ordinaryServices(Family family) {
  std::vector<Service> services;
  for (const std::uint8_t protocol :
       {kProtocolTcp, kProtocolUdp, family == Family::kV4 ? kProtocolIcmp : kProtocolIcmpV6}) {
    services.push_back(serviceOf(protocol, std::nullopt, std::nullopt, std::nullopt));
  }
  return services;
}

Interval destination(Family family, const std::optional<Prefix>& to) {
  return to ? intervalOf(*to) : Interval{0, lastNumber(family)};
}

AddressSet prefixesOf(Family family, std::span<const std::string_view> texts) {
  std::vector<Interval> intervals;
  for (const std::string_view text : texts) {
    const Prefix prefix = Prefix::parse(text, "built-in prefix");
    if (prefix.family() == family) {
      intervals.push_back(intervalOf(prefix));
    }
  }
  return AddressSet(std::move(intervals));
}

// By the words of the document, never by what its reader made of them for the renderer.
AddressSet deniedBy(const DenyWords& words, Family family) {
  std::vector<Interval> written;
  for (const Prefix& prefix : words.prefixes) {
    if (prefix.family() == family) {
      written.push_back(intervalOf(prefix));
    }
  }
  AddressSet denied(std::move(written));
  // Without a word of its own a policy denies both.
  if (words.privateSet || !words.given) {
    denied = denied.unite(prefixesOf(family, kMeaningOfPrivate));
  }
  if (words.transitionSet || !words.given) {
    denied = denied.unite(prefixesOf(family, kMeaningOfTransition));
  }
  return denied;
}

Reach iptablesFamily(Family family, const std::vector<IptablesRule>& rules) {
  std::vector<TerminalRule> terminal;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const IptablesRule& rule = rules[i];
    if (rule.target == Target::kLog) {
      continue;
    }
    const std::string place = std::string("iptables ") + (family == Family::kV4 ? "v4" : "v6") +
                              " #" + std::to_string(i + 1);
    if (rule.syn || rule.limit) {
      throw Failure(ExitCode::kRefused,
                    place + ": a verdict that depends on TCP flags or a rate has no fixed meaning");
    }
    terminal.push_back({destination(family, rule.to),
                        serviceOf(rule.protocol, rule.ports, rule.icmpType, rule.hopLimit),
                        rule.target == Target::kAccept, place});
  }
  // The chain's policy is ACCEPT; the reader refuses a readback that says otherwise.
  return {family, std::move(terminal), true};
}

std::string hexText(std::uint32_t value) {
  std::string digits;
  do {
    digits.insert(digits.begin(), "0123456789abcdef"[value & 0xf]);
    value >>= 4;
  } while (value != 0);
  return "0x" + digits;
}

Reach flowerFamily(Family family, const std::vector<FlowerFilter>& filters) {
  const EtherType own = family == Family::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
  std::vector<TerminalRule> terminal;
  for (const FlowerFilter& filter : filters) {
    if (filter.protocol == own || filter.protocol == EtherType::kAll) {
      terminal.push_back(
          {destination(family, filter.to),
           serviceOf(filter.ipProtocol, filter.ports, filter.icmpType, filter.hopLimit),
           filter.action == FilterAction::kPass,
           "flower pref " + std::to_string(filter.pref) + " handle " + hexText(filter.handle)});
    }
  }
  // What no filter matches passes clsact.
  return {family, std::move(terminal), true};
}

// What happens to frames of an ethertype, by the filters that are asked for it.
bool frameLeaves(const std::vector<FlowerFilter>& filters, std::optional<EtherType> type) {
  const auto decides = std::find_if(filters.begin(), filters.end(), [&](const FlowerFilter& f) {
    return f.protocol == EtherType::kAll || (type && f.protocol == *type);
  });
  return decides == filters.end() || decides->action == FilterAction::kPass;
}

std::string placeOf(std::size_t index) { return "netdev #" + std::to_string(index + 1); }

Reach netdevFamily(Family family, const std::vector<NetdevRule>& rules) {
  const EtherType own = family == Family::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
  std::vector<TerminalRule> terminal;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const NetdevRule& rule = rules[i];
    if (rule.protocol != own && rule.protocol != EtherType::kAll) {
      continue;
    }
    const Service service = serviceOf(rule.ipProtocol, rule.ports, rule.icmpType, rule.hopLimit);
    const bool pass = rule.action == FilterAction::kPass;
    if (rule.to.empty()) {
      terminal.push_back({destination(family, std::nullopt), service, pass, placeOf(i)});
    }
    for (const Prefix& prefix : rule.to) {
      terminal.push_back({intervalOf(prefix), service, pass, placeOf(i)});
    }
  }
  // The chain's policy is DROP; the reader refuses a readback that says otherwise.
  return {family, std::move(terminal), false};
}

// Which ARP the rules let leave, as far as `layer` holds it.
void judgeArp(const std::vector<NetdevRule>& rules, const Link& link, LayerReach& layer) {
  std::vector<Address> missing;
  for (const Address& address : link.addresses) {
    if (address.family() == Family::kV4) {
      missing.push_back(address);
    }
  }
  layer.arpExpected = !missing.empty();
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const NetdevRule& rule = rules[i];
    if (rule.protocol != EtherType::kArp && rule.protocol != EtherType::kAll) {
      continue;
    }
    const bool pass = rule.action == FilterAction::kPass;
    if (!rule.sender) {
      if (pass) {
        layer.foreignArp = "ARP of any sender, by " + placeOf(i) + ",";
      }
      break;  // nothing is left for the rules behind
    }
    if (!pass) {
      throw Failure(ExitCode::kRefused,
                    placeOf(i) + ": a drop of one ARP sender has no place here");
    }
    const auto own = std::find(missing.begin(), missing.end(), rule.sender->address);
    if (own == missing.end() || rule.sender->mac != link.mac) {
      layer.foreignArp = "ARP of " + rule.sender->address.text() + " at " +
                         macText(rule.sender->mac) + ", by " + placeOf(i) + ",";
    } else {
      missing.erase(own);
    }
  }
  layer.arpLeaves = layer.arpExpected && missing.empty();
}

bool otherFramesLeave(const std::vector<NetdevRule>& rules) {
  const auto decides = std::find_if(rules.begin(), rules.end(), [](const NetdevRule& rule) {
    return rule.protocol == EtherType::kAll;
  });
  return decides != rules.end() && decides->action == FilterAction::kPass;
}

std::string rangeText(const FieldRange& range) {
  return range.first == range.last ? std::to_string(range.first)
                                   : std::to_string(range.first) + "-" + std::to_string(range.last);
}

std::string protocolText(Family family, const Service& service) {
  switch (service.protocol.first) {
    case kProtocolTcp:
      return "tcp";
    case kProtocolUdp:
      return "udp";
    case kProtocolIcmp:
      if (family == Family::kV4) {
        return "icmp";
      }
      break;
    case kProtocolIcmpV6:
      if (family == Family::kV6) {
        return "icmpv6";
      }
      break;
    default:
      break;
  }
  return "protocol " + std::to_string(service.protocol.first);
}

}  // namespace

std::string Counterexample::text() const {
  if (!frames.empty()) {
    return "a frame of " + frames +
           (leaves ? " may leave by " + layer + "; the policy denies it"
                   : " is dropped by " + layer + "; the policy lets it leave");
  }
  std::string packet = protocolText(family, service);
  const std::string address = addressFromNumber(family, to).text();
  if (service.port != kAnyPort || packet == "tcp" || packet == "udp") {
    packet += " " + (family == Family::kV6 ? "[" + address + "]" : address) + ":" +
              std::to_string(service.port.first == 0 ? 1 : service.port.first);
  } else {
    packet += " " + address;
  }
  if (service.icmpType != kAnyByte) {
    packet += " type " + std::to_string(service.icmpType.first);
  }
  if (service.hopLimit != kAnyByte) {
    packet += " hop limit " + std::to_string(service.hopLimit.first);
  }
  return packet + (leaves ? " may leave by " + decidedBy + "; the policy denies it"
                          : " is dropped by " + decidedBy + "; the policy lets it leave");
}

LayerReach iptablesReach(const Plan::Iptables& rules) {
  return {"iptables",
          iptablesFamily(Family::kV4, rules.v4),
          iptablesFamily(Family::kV6, rules.v6),
          false,
          std::nullopt,
          std::nullopt};
}

LayerReach flowerReach(const std::vector<FlowerFilter>& filters) {
  return {"flower", flowerFamily(Family::kV4, filters),    flowerFamily(Family::kV6, filters),
          true,     frameLeaves(filters, EtherType::kArp), frameLeaves(filters, std::nullopt)};
}

LayerReach netdevReach(const std::vector<NetdevRule>& rules, const Link& link) {
  LayerReach layer{
      "netdev",     netdevFamily(Family::kV4, rules), netdevFamily(Family::kV6, rules), true,
      std::nullopt, otherFramesLeave(rules)};
  judgeArp(rules, link, layer);
  return layer;
}

PolicyMeaning::PolicyMeaning(const Policy& policy) {
  for (OneFamily* side : {&v4_, &v6_}) {
    const Family family = side == &v4_ ? Family::kV4 : Family::kV6;
    side->metadata = prefixesOf(family, kMetadataAddresses);
    side->loopback = prefixesOf(family, kLoopbackAddresses);
    side->denied = deniedBy(policy.denyWords, family);
    for (const Exception& entry : policy.allow) {
      if (entry.to.family() == family) {
        side->openings.push_back(
            {intervalOf(entry.to), serviceOf(static_cast<std::uint8_t>(entry.protocol), entry.ports,
                                             std::nullopt, std::nullopt)});
      }
    }
    for (const Address& resolver : policy.resolvers) {
      if (resolver.family() == family) {
        for (const std::uint8_t protocol : {kProtocolUdp, kProtocolTcp}) {
          side->openings.push_back(
              {intervalOf(Prefix::host(resolver)),
               serviceOf(protocol, PortRange(kDnsPort, kDnsPort), std::nullopt, std::nullopt)});
        }
      }
    }
    switch (policy.fallback) {
      case Policy::Default::kPass:
        side->defaultPasses = ordinaryServices(family);
        for (const std::uint8_t protocol : policy.protocols) {
          side->defaultPasses.push_back(
              serviceOf(protocol, std::nullopt, std::nullopt, std::nullopt));
        }
        break;
      case Policy::Default::kDrop:
        break;
      case Policy::Default::kList:
        for (const DefaultPass& entry : policy.defaultPasses) {
          side->defaultPasses.push_back(serviceOf(static_cast<std::uint8_t>(entry.protocol),
                                                  entry.ports, std::nullopt, std::nullopt));
        }
        break;
    }
  }
  v6_.openings.push_back(
      {intervalOf(Prefix::parse(kSolicitedNodes, "built-in prefix")),
       serviceOf(kProtocolIcmpV6, std::nullopt, kNeighbourSolicitation, kOnLinkHopLimit)});
  v6_.openings.push_back(
      {{0, lastNumber(Family::kV6)},
       serviceOf(kProtocolIcmpV6, std::nullopt, kNeighbourAdvertisement, kOnLinkHopLimit)});
  for (OneFamily* side : {&v4_, &v6_}) {
    side->services = side->defaultPasses;
    for (const Opening& opening : side->openings) {
      side->services.push_back(opening.service);
    }
  }
}

const std::vector<Service>& PolicyMeaning::services(Family family) const {
  return of(family).services;
}

AddressSet PolicyMeaning::allowed(Family family, const Service& service, bool onTheWire) const {
  const OneFamily& side = of(family);
  const auto contains = [&](const Service& named) { return named.contains(service); };
  AddressSet result;
  if (std::any_of(side.defaultPasses.begin(), side.defaultPasses.end(), contains)) {
    result = AddressSet::all(family).subtract(side.denied);
  }
  // Loopback passes inside the namespace whatever the policy says, and never leaves it.
  result = onTheWire ? result.subtract(side.loopback) : result.unite(side.loopback);
  std::vector<Interval> opened;
  for (const Opening& opening : side.openings) {
    if (contains(opening.service)) {
      opened.push_back(opening.to);
    }
  }
  return result.unite(AddressSet(std::move(opened))).subtract(side.metadata);
}

namespace {

// Of two packets to one address the one that people know better is the better example.
std::vector<Service> familiarFirst(std::vector<Service> classes) {
  const auto rank = [](const Service& service) {
    return service.protocol.first == kProtocolTcp   ? 0
           : service.protocol.first == kProtocolUdp ? 1
                                                    : 2;
  };
  std::stable_sort(classes.begin(), classes.end(),
                   [&](const Service& a, const Service& b) { return rank(a) < rank(b); });
  return classes;
}

// Every class of packets that the policy or a rule tells apart.
std::vector<Service> classesOf(const PolicyMeaning& meaning, const Reach& reach, Family family) {
  std::vector<Service> services = meaning.services(family);
  for (const TerminalRule& rule : reach.rules()) {
    if (!rule.service.isAny()) {
      services.push_back(rule.service);
    }
  }
  return familiarFirst(partition(family, services));
}

}  // namespace

std::optional<Counterexample> disagreement(const PolicyMeaning& meaning, const LayerReach& layer,
                                           const Deadline& deadline) {
  for (const Family family : {Family::kV4, Family::kV6}) {
    const Reach& reach = family == Family::kV4 ? layer.v4 : layer.v6;
    std::optional<Counterexample> smallest;
    for (const Service& service : classesOf(meaning, reach, family)) {
      if (deadline.passed()) {
        throw Failure(ExitCode::kDeadline,
                      "the policy names too many services to be proven in time; this one is at " +
                          protocolText(family, service) + " of layer " + layer.name);
      }
      const AddressSet expected = meaning.allowed(family, service, layer.onTheWire);
      const AddressSet found = reach.accepted(service);
      const auto difference = found.firstDifference(expected);
      if (difference && (!smallest || *difference < smallest->to)) {
        const TerminalRule* rule = reach.decides(service, *difference);
        smallest =
            Counterexample{layer.name,
                           family,
                           service,
                           *difference,
                           found.contains(*difference),
                           rule != nullptr ? rule->place : layer.name + ", where no rule matches"};
      }
    }
    if (smallest) {
      return smallest;
    }
  }
  if (layer.foreignArp) {
    return Counterexample{.layer = layer.name, .leaves = true, .frames = *layer.foreignArp};
  }
  if (layer.onTheWire && layer.arpLeaves != layer.arpExpected) {
    return Counterexample{.layer = layer.name, .leaves = layer.arpLeaves == true, .frames = "ARP"};
  }
  if (layer.onTheWire && layer.otherFramesLeave != false) {
    return Counterexample{.layer = layer.name,
                          .leaves = true,
                          .frames = "an ethertype that is not ARP, IPv4 or IPv6"};
  }
  return std::nullopt;
}

std::string explainText(const PolicyMeaning& meaning, const LayerReach& layer) {
  std::string text;
  for (const Family family : {Family::kV4, Family::kV6}) {
    const Reach& reach = family == Family::kV4 ? layer.v4 : layer.v6;
    text += layer.name + (family == Family::kV4 ? ", IPv4:\n" : ", IPv6:\n");
    for (const Service& service : classesOf(meaning, reach, family)) {
      const AddressSet accepted = reach.accepted(service);
      std::string line = "  " + protocolText(family, service);
      if (service.protocol.first != service.protocol.last) {
        line += "-" + std::to_string(service.protocol.last);
      }
      if (service.port != kAnyPort) {
        line += " port " + rangeText(service.port);
      }
      if (service.icmpType != kAnyByte) {
        line += " type " + rangeText(service.icmpType);
      }
      if (service.hopLimit != kAnyByte) {
        line += " hop limit " + rangeText(service.hopLimit);
      }
      line += ":";
      const std::vector<Prefix> to = accepted.prefixes(family);
      const std::vector<Prefix> except =
          AddressSet::all(family).subtract(accepted).prefixes(family);
      const bool inverted = except.size() < to.size();
      line += to.empty() ? " nowhere" : except.empty() ? " anywhere" : inverted ? " all but" : "";
      if (!to.empty() && !except.empty()) {
        for (const Prefix& prefix : inverted ? except : to) {
          line += " " + prefix.shortText();
        }
      }
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace vethgate
