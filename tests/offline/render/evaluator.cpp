// See evaluator.hpp.
#include "evaluator.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace vethgate::test {
namespace {

bool liesInAny(const Packet& packet, const std::optional<Prefix>& to) {
  return !to || lies(packet, *to);
}
bool liesInAny(const Packet& packet, const std::vector<Prefix>& to) {
  return to.empty() || std::any_of(to.begin(), to.end(),
                                   [&](const Prefix& prefix) { return lies(packet, prefix); });
}

template <class Rule>
bool matches(const Rule& rule, std::optional<std::uint8_t> protocol, const Packet& packet,
             bool portsReadable) {
  if (!liesInAny(packet, rule.to)) {
    return false;
  }
  if (protocol && *protocol != packet.protocol) {
    return false;
  }
  if (rule.ports &&
      (!portsReadable || packet.port < rule.ports->first() || packet.port > rule.ports->last())) {
    return false;
  }
  if (rule.icmpType && (!portsReadable || *rule.icmpType != packet.icmpType)) {
    return false;
  }
  return !rule.hopLimit || *rule.hopLimit == packet.hopLimit;
}

}  // namespace

bool lies(const Packet& packet, const Prefix& prefix) {
  if (prefix.family() != packet.family) {
    return false;
  }
  for (unsigned bit = 0; bit < prefix.length(); ++bit) {
    const unsigned mask = 0x80U >> bit % 8;
    if ((packet.to.at(bit / 8) & mask) != (prefix.base().bytes().at(bit / 8) & mask)) {
      return false;
    }
  }
  return true;
}

bool listLets(const std::vector<Rule>& rules, const Packet& packet) {
  const bool readable = packet.fragment != Packet::Fragment::kLater;
  for (const Rule& rule : rules) {
    if (rule.action != Action::kLog && rule.family == packet.family &&
        matches(rule, rule.protocol, packet, readable) && (!rule.syn || (readable && packet.syn))) {
      return rule.action == Action::kAccept;
    }
  }
  throw std::logic_error("no rule decides, and the list's last ought to");
}

bool iptablesLets(const Plan::Iptables& iptables, const Packet& packet) {
  const bool readable = packet.fragment != Packet::Fragment::kLater;
  for (const IptablesRule& rule : packet.family == Family::kV4 ? iptables.v4 : iptables.v6) {
    if (rule.target != Target::kLog && matches(rule, rule.protocol, packet, readable) &&
        (!rule.syn || (readable && packet.syn))) {
      return rule.target == Target::kAccept;
    }
  }
  return true;  // the chain's policy
}

bool flowerLets(const std::vector<FlowerFilter>& filters, EtherType protocol,
                const Packet& packet) {
  std::optional<FlowerFilter> first;
  for (const FlowerFilter& filter : filters) {
    const bool asked = filter.protocol == EtherType::kAll || filter.protocol == protocol;
    if (!asked ||
        !matches(filter, filter.ipProtocol, packet, packet.fragment == Packet::Fragment::kNone)) {
      continue;
    }
    // Lowest pref first, however the list is arranged.
    if (first && first->pref == filter.pref && first->action != filter.action) {
      throw std::logic_error("two filters of pref " + std::to_string(filter.pref) + " disagree");
    }
    if (!first || filter.pref < first->pref) {
      first = filter;
    }
  }
  return !first || first->action == FilterAction::kPass;
}

bool netdevLets(const std::vector<NetdevRule>& rules, EtherType protocol, const Packet& packet) {
  const bool readable = packet.fragment != Packet::Fragment::kLater;
  for (const NetdevRule& rule : rules) {
    const bool asked = rule.protocol == EtherType::kAll || rule.protocol == protocol;
    if (asked && !rule.sender && matches(rule, rule.ipProtocol, packet, readable)) {
      return rule.action == FilterAction::kPass;
    }
  }
  return false;  // the chain's policy
}

}  // namespace vethgate::test
