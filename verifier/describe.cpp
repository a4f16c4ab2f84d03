// Text forms and comparison of rules; see describe.hpp.
#include "verifier/describe.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <tuple>

namespace vethgate {
namespace {

std::string text(std::uint8_t value) { return std::to_string(value); }
std::string text(const Prefix& prefix) { return prefix.text(); }
std::string text(const PortRange& ports) { return ports.text(); }
std::string text(bool value) { return value ? "matched" : "not matched"; }
std::string text(const std::string& value) { return "\"" + value + "\""; }
std::string text(const RateLimit& limit) {
  return std::to_string(limit.rate) + "/" + std::to_string(limit.unit) + "s burst " +
         std::to_string(limit.burst);
}
std::string text(Target target) {
  switch (target) {
    case Target::kAccept:
      return "accept";
    case Target::kDrop:
      return "drop";
    case Target::kLog:
      return "log";
  }
  return "?";
}
std::string text(FilterAction action) { return action == FilterAction::kPass ? "pass" : "drop"; }
std::string text(EtherType type) {
  switch (type) {
    case EtherType::kAll:
      return "all";
    case EtherType::kIpv4:
      return "ip";
    case EtherType::kArp:
      return "arp";
    case EtherType::kIpv6:
      return "ipv6";
  }
  return "?";
}
std::string text(const ArpSender& sender) {
  return macText(sender.mac) + " " + sender.address.text();
}
template <class Value>
std::string text(const std::optional<Value>& value) {
  return value ? text(*value) : "any";
}

std::string protocolText(std::uint8_t protocol) {
  switch (protocol) {
    case kProtocolTcp:
      return "tcp";
    case kProtocolUdp:
      return "udp";
    case kProtocolIcmp:
      return "icmp";
    case kProtocolIcmpV6:
      return "icmpv6";
    default:
      return "protocol " + std::to_string(protocol);
  }
}

template <class Value>
void compare(std::string& result, const char* field, const Value& found, const Value& expected) {
  if (found != expected) {
    result += std::string(result.empty() ? "" : "; ") + field + " is " + text(found) +
              ", expected " + text(expected);
  }
}

// Both use structured bindings over all members: a field added to the plan does not compile until
// it is compared here.
auto members(const IptablesRule& rule) {
  const auto& [to, protocol, syn, ports, icmpType, hopLimit, limit, target, logPrefix, why] = rule;
  static_cast<void>(why);
  return std::tie(to, protocol, syn, ports, icmpType, hopLimit, limit, target, logPrefix);
}
auto members(const FlowerFilter& filter) {
  const auto& [pref, handle, protocol, ipProtocol, to, ports, icmpType, hopLimit, action, why] =
      filter;
  static_cast<void>(why);
  return std::tie(pref, handle, protocol, ipProtocol, to, ports, icmpType, hopLimit, action);
}

auto members(const NetdevRule& rule) {
  const auto& [protocol, to, set, ipProtocol, ports, icmpType, hopLimit, sender, action, why] =
      rule;
  static_cast<void>(why);
  return std::tie(protocol, to, set, ipProtocol, ports, icmpType, hopLimit, sender, action);
}

// How many of a list's destinations a message names: the whole may be thousands.
constexpr std::size_t kShown = 8;

// What one list has and the other has not.
void compareDestinations(std::string& result, const std::vector<Prefix>& found,
                         const std::vector<Prefix>& expected) {
  const auto report = [&result](const char* what, const std::vector<Prefix>& from,
                                const std::vector<Prefix>& other) {
    std::vector<Prefix> only;
    std::set_difference(from.begin(), from.end(), other.begin(), other.end(),
                        std::back_inserter(only));
    if (only.empty()) {
      return;
    }
    result += std::string(result.empty() ? "" : "; ") + what;
    for (std::size_t i = 0; i < std::min(only.size(), kShown); ++i) {
      result += " " + only[i].text();
    }
    if (only.size() > kShown) {
      result += " and " + std::to_string(only.size() - kShown) + " more";
    }
  };
  if (expected.empty() != found.empty()) {
    result += std::string(result.empty() ? "" : "; ") +
              (found.empty() ? "any destination is matched" : "a destination is matched") +
              ", expected otherwise";
  }
  report("destinations lack", expected, found);
  report("destinations hold besides", found, expected);
}

}  // namespace

std::string describe(const IptablesRule& rule) {
  std::string result = text(rule.target);
  if (rule.protocol) {
    result += " " + protocolText(*rule.protocol);
  }
  if (rule.to) {
    result += " " + rule.to->text();
  }
  if (rule.ports) {
    result += " port " + rule.ports->text();
  }
  if (rule.syn) {
    result += " syn";
  }
  if (rule.icmpType) {
    result += " type " + text(*rule.icmpType);
  }
  if (rule.hopLimit) {
    result += " hop limit " + text(*rule.hopLimit);
  }
  if (rule.limit) {
    result += " limit " + text(*rule.limit);
  }
  if (!rule.logPrefix.empty()) {
    result += " prefix " + rule.logPrefix;
  }
  if (!rule.protocol && !rule.to && !rule.hopLimit) {
    result += " all";
  }
  return result;
}

std::string describe(const FlowerFilter& filter) {
  std::string result = text(filter.action);
  if (filter.ipProtocol) {
    result += " " + protocolText(*filter.ipProtocol);
  }
  // The family of a destination says the protocol.
  result += " " + (filter.to ? filter.to->text() : text(filter.protocol));
  if (filter.ports) {
    result += " port " + filter.ports->text();
  }
  if (filter.icmpType) {
    result += " type " + text(*filter.icmpType);
  }
  if (filter.hopLimit) {
    result += " hop limit " + text(*filter.hopLimit);
  }
  return result;
}

std::string describe(const NetdevRule& rule) {
  std::string result = text(rule.action);
  if (rule.to.empty()) {
    result += " " + text(rule.protocol);
  }
  if (rule.ipProtocol) {
    result += " " + protocolText(*rule.ipProtocol);
  }
  for (const Prefix& prefix : rule.to) {
    result += " " + prefix.text();
  }
  if (!rule.set.empty()) {
    result += " (" + rule.set + ")";
  }
  if (rule.ports) {
    result += " port " + rule.ports->text();
  }
  if (rule.icmpType) {
    result += " type " + text(*rule.icmpType);
  }
  if (rule.hopLimit) {
    result += " hop limit " + text(*rule.hopLimit);
  }
  if (rule.sender) {
    result += " from " + text(*rule.sender);
  }
  return result;
}

std::string handleText(std::uint32_t handle) {
  std::array<char, 10> text{'0', 'x'};  // "0x" and 8 digits
  const auto* const end = std::to_chars(&text[2], text.data() + text.size(), handle, 16).ptr;
  return {text.data(), static_cast<std::size_t>(end - text.data())};
}

bool sameRule(const IptablesRule& left, const IptablesRule& right) {
  return members(left) == members(right);
}

bool sameFilter(const FlowerFilter& left, const FlowerFilter& right) {
  return members(left) == members(right);
}

bool sameRule(const NetdevRule& left, const NetdevRule& right) {
  return members(left) == members(right);
}

std::string differences(const IptablesRule& found, const IptablesRule& expected) {
  std::string result;
  compare(result, "target", found.target, expected.target);
  compare(result, "destination", found.to, expected.to);
  compare(result, "protocol", found.protocol, expected.protocol);
  compare(result, "port", found.ports, expected.ports);
  compare(result, "TCP SYN", found.syn, expected.syn);
  compare(result, "ICMPv6 type", found.icmpType, expected.icmpType);
  compare(result, "hop limit", found.hopLimit, expected.hopLimit);
  compare(result, "limit", found.limit, expected.limit);
  compare(result, "log prefix", found.logPrefix, expected.logPrefix);
  return result;
}

std::string differences(const FlowerFilter& found, const FlowerFilter& expected) {
  std::string result;
  compare(result, "action", found.action, expected.action);
  compare(result, "protocol", found.protocol, expected.protocol);
  compare(result, "destination", found.to, expected.to);
  compare(result, "IP protocol", found.ipProtocol, expected.ipProtocol);
  compare(result, "port", found.ports, expected.ports);
  compare(result, "ICMPv6 type", found.icmpType, expected.icmpType);
  compare(result, "hop limit", found.hopLimit, expected.hopLimit);
  return result;
}

std::string differences(const NetdevRule& found, const NetdevRule& expected) {
  std::string result;
  compare(result, "action", found.action, expected.action);
  compare(result, "protocol", found.protocol, expected.protocol);
  compareDestinations(result, found.to, expected.to);
  compare(result, "set", found.set, expected.set);
  compare(result, "IP protocol", found.ipProtocol, expected.ipProtocol);
  compare(result, "port", found.ports, expected.ports);
  compare(result, "ICMPv6 type", found.icmpType, expected.icmpType);
  compare(result, "hop limit", found.hopLimit, expected.hopLimit);
  compare(result, "sender", found.sender, expected.sender);
  return result;
}

}  // namespace vethgate
