#include "render/netdev_reader.hpp"

#include <set>

#include "render/match_reader.hpp"

namespace vethgate {
namespace {

// The order and the shortest form that the kernel's intervals are made of and read back as.
void checkDestinations(const std::vector<Prefix>& to, const std::string& path) {
  for (std::size_t i = 1; i < to.size(); ++i) {
    const Prefix& before = to[i - 1];
    const Prefix& here = to[i];
    const bool ascending = before < here && !before.overlaps(here);
    if (!ascending || (before.length() == here.length() &&
                       Prefix::network(before.base(), before.length() - 1).contains(here))) {
      untouchable(path + "[" + std::to_string(i) + "] is " + here.text() + " behind " +
                  before.text() + "; an ascending list of prefixes is expected that none shorter " +
                  "stands for");
    }
  }
}

ArpSender readSender(const Json& value, const Link& link, const std::string& path) {
  ObjectReader reader(value, path);
  const std::string& mac = asText(reader.required("mac"), reader.pathOf("mac"));
  const std::string& text = asText(reader.required("address"), reader.pathOf("address"));
  reader.finish();
  const std::optional<Address> address = Address::parse(text);
  if (mac != macText(link.mac) || !address || address->family() != Family::kV4 ||
      std::find(link.addresses.begin(), link.addresses.end(), *address) == link.addresses.end()) {
    untouchable(path + " is \"" + mac + "\" with \"" + text +
                "\", which is not the link with an IPv4 address of its own");
  }
  return {link.mac, *address};
}

void checkNetdevFrame(const NetdevRule& rule, const Match& match, const std::string& path) {
  if (rule.protocol == EtherType::kIpv4 || rule.protocol == EtherType::kIpv6) {
    const Family family = rule.protocol == EtherType::kIpv4 ? Family::kV4 : Family::kV6;
    for (const Prefix& prefix : rule.to) {
      if (prefix.family() != family) {
        untouchable(path + ".to holds " + prefix.text() + ", which is of the other family");
      }
    }
    refuseForeignFamily(match, family, path);
    const bool named = !rule.set.empty();
    if (named != (rule.action == FilterAction::kDrop && !rule.to.empty()) ||
        (named && !isSetName(rule.set, family))) {
      untouchable(path + ".set is \"" + rule.set +
                  "\"; a drop with destinations, and nothing else, has a set of its family");
    }
  } else if (!rule.to.empty() || !rule.set.empty() || match.narrowsBeyondDestination()) {
    badInput(path + ": a destination, protocol or port is matched in a frame that is not IP");
  }
  const bool arpPass = rule.protocol == EtherType::kArp && rule.action == FilterAction::kPass;
  if (rule.sender.has_value() != arpPass) {
    untouchable(path + ": ARP passes for a sender that it names, and nothing else has one");
  }
  if (rule.protocol == EtherType::kAll && rule.action == FilterAction::kPass) {
    untouchable(path + ": a pass for every ethertype would end the layer");
  }
}

NetdevRule readNetdevRule(const Json& value, const Link& link, const std::string& path) {
  ObjectReader reader(value, path);
  NetdevRule rule;
  rule.protocol = readWord(kEtherTypeWords, reader.required("protocol"), reader.pathOf("protocol"));
  rule.action = readWord(kActionWords, reader.required("action"), reader.pathOf("action"));
  rule.why = asText(reader.required("why"), reader.pathOf("why"));
  if (const Json* set = reader.optional("set")) {
    rule.set = asText(*set, reader.pathOf("set"));
  }
  if (const Json* to = reader.optional("to")) {
    const std::string toPath = reader.pathOf("to");
    for (const Json& prefix : asArray(*to, toPath)) {
      rule.to.push_back(readPrefix(prefix, toPath + "[" + std::to_string(rule.to.size()) + "]"));
    }
    if (rule.to.empty()) {
      badInput(toPath + " is an empty list; what is not matched is left out");
    }
    checkDestinations(rule.to, toPath);
  }
  const Match match = readService(reader, kFlowerProtocolWords, "ipProtocol", path);
  if (const Json* sender = reader.optional("sender")) {
    rule.sender = readSender(*sender, link, reader.pathOf("sender"));
  }
  reader.finish();

  checkNetdevFrame(rule, match, path);
  if (rule.action == FilterAction::kDrop) {
    refuseNarrowedDrop(match, path);
  } else if (rule.to.size() > 1) {
    untouchable(path + ".to holds " + std::to_string(rule.to.size()) +
                " destinations; a pass has one or none");
  }
  rule.ipProtocol = match.protocol;
  rule.ports = match.ports;
  rule.icmpType = match.icmpType;
  rule.hopLimit = match.hopLimit;
  return rule;
}

}  // namespace

std::vector<NetdevRule> readNetdevRules(const Json& value, const Link& link,
                                        const std::string& path) {
  std::vector<NetdevRule> rules;
  rules.reserve(asArray(value, path).size());
  std::set<std::string> sets;
  for (const Json& entry : value) {
    const std::string place = path + "[" + std::to_string(rules.size()) + "]";
    rules.push_back(readNetdevRule(entry, link, place));
    const NetdevRule& rule = rules.back();
    if (!rule.set.empty() && !sets.insert(rule.set).second) {
      untouchable(place + ".set is " + rule.set + ", which another rule has");
    }
    if ((rule.protocol == EtherType::kAll) != (rules.size() == value.size())) {
      untouchable(place + ": the last rule, and only it, drops every ethertype");
    }
  }
  return rules;
}

}  // namespace vethgate
