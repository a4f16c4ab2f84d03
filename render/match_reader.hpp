// What the rules of every layer have in common when a plan is read: words, numbers, and what a rule
// matches on. It must not know a layer.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "render/plan.hpp"
#include "render/plan_words.hpp"

namespace vethgate {

[[noreturn]] inline void untouchable(const std::string& message) {
  throw Failure(ExitCode::kUntouchable, message);
}

template <class Table>
auto readWord(const Table& table, const Json& value, const std::string& path) {
  const std::string& text = asText(value, path);
  const auto found = valueOf(table, text);
  if (!found) {
    std::string known;
    for (const auto& word : table) {
      known += (known.empty() ? "" : ", ") + std::string(word.text);
    }
    untouchable(path + " is \"" + text + "\"; the applier writes only " + known);
  }
  return *found;
}

template <class Integer>
Integer readNumber(const Json& value, const std::string& path, Integer min = 0,
                   Integer max = std::numeric_limits<Integer>::max()) {
  return static_cast<Integer>(asInteger(value, path, min, max));
}

// What rules of every layer match on.
struct Match {
  std::optional<Prefix> to;
  std::optional<std::uint8_t> protocol;
  std::optional<PortRange> ports;
  std::optional<std::uint8_t> icmpType;
  std::optional<std::uint8_t> hopLimit;

  [[nodiscard]] bool narrowsBeyondDestination() const {
    return protocol || ports || icmpType || hopLimit;
  }
};

[[nodiscard]] Prefix readPrefix(const Json& value, const std::string& path);
// Refuses a destination or an ICMP that is not of `family`.
void refuseForeignFamily(const Match& match, Family family, const std::string& path);
// A fragment has no ports that a filter could match, and a drop that holds for some packets only is
// the hole that the layer exists to close.
void refuseNarrowedDrop(const Match& match, const std::string& path);

// One spelling for one protocol: its word where it has one, else its decimal number.
template <class Table>
std::uint8_t readProtocol(const Table& words, const Json& value, const std::string& path) {
  const std::string& text = asText(value, path);
  for (unsigned protocol = 1; protocol <= std::numeric_limits<std::uint8_t>::max(); ++protocol) {
    if (protocolWord(words, static_cast<std::uint8_t>(protocol)) == text) {
      return static_cast<std::uint8_t>(protocol);
    }
  }
  untouchable(path + " is \"" + text + "\", which the applier does not write");
}

// Everything but the destination.
template <class Table>
Match readService(ObjectReader& rule, const Table& protocolWords, const char* protocolKey,
                  const std::string& path) {
  Match match;
  if (const Json* protocol = rule.optional(protocolKey)) {
    match.protocol = readProtocol(protocolWords, *protocol, rule.pathOf(protocolKey));
  }
  if (const Json* ports = rule.optional("ports")) {
    match.ports = PortRange::parse(asText(*ports, rule.pathOf("ports")), rule.pathOf("ports"));
  }
  if (const Json* type = rule.optional("icmpType")) {
    match.icmpType = readNumber<std::uint8_t>(*type, rule.pathOf("icmpType"));
  }
  if (const Json* limit = rule.optional("hopLimit")) {
    match.hopLimit = readNumber<std::uint8_t>(*limit, rule.pathOf("hopLimit"));
  }
  if (match.ports && match.protocol != kProtocolTcp && match.protocol != kProtocolUdp) {
    badInput(path + ": ports are matched without tcp or udp");
  }
  if ((match.icmpType || match.hopLimit) && match.protocol != kProtocolIcmpV6) {
    badInput(path + ": an ICMPv6 type or hop limit is matched without ICMPv6");
  }
  return match;
}

template <class Table>
Match readMatch(ObjectReader& rule, const Table& protocolWords, const char* protocolKey,
                const std::string& path) {
  Match match = readService(rule, protocolWords, protocolKey, path);
  if (const Json* to = rule.optional("to")) {
    match.to = readPrefix(*to, rule.pathOf("to"));
  }
  return match;
}

}  // namespace vethgate
