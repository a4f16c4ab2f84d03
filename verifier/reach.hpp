// What a first-match list of rules lets through, computed exactly.
// Packets are told apart by a service (protocol, port, ICMPv6 type, hop limit) and a destination
// address. Services are split into classes that no rule divides; for each class the answer is a set
// of addresses. It must not know the renderer: what it judges are rules as the kernel holds them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "render/address.hpp"
#include "render/plan.hpp"
#include "verifier/address_set.hpp"

namespace vethgate {

// Inclusive range of a header field.
struct FieldRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  [[nodiscard]] bool contains(const FieldRange& other) const noexcept {
    return first <= other.first && other.last <= last;
  }
  friend bool operator==(const FieldRange&, const FieldRange&) = default;
};

inline constexpr FieldRange kAnyByte{0, 255};
inline constexpr FieldRange kAnyPort{0, 65535};

// One class of packets. Ports count for tcp and udp, types for ICMPv6; elsewhere the range is
// whole.
struct Service {
  FieldRange protocol = kAnyByte;
  FieldRange port = kAnyPort;
  FieldRange icmpType = kAnyByte;
  FieldRange hopLimit = kAnyByte;
  [[nodiscard]] bool contains(const Service& other) const noexcept {
    return protocol.contains(other.protocol) && port.contains(other.port) &&
           icmpType.contains(other.icmpType) && hopLimit.contains(other.hopLimit);
  }
  [[nodiscard]] bool isAny() const noexcept { return *this == Service{}; }
  friend bool operator==(const Service&, const Service&) = default;
};

// A rule that ends the evaluation of a packet that it matches.
struct TerminalRule {
  Interval to;
  Service service;
  bool accept = false;
  std::string place;  // for messages: "flower pref 104 handle 0x2"
};

// All classes into which `services` cut the packets of one family, in ascending order.
[[nodiscard]] std::vector<Service> partition(Family family, std::span<const Service> services);

class Reach {
 public:
  // `rules` in evaluation order; what none of them matches has the outcome `otherwise`.
  Reach(Family family, std::vector<TerminalRule> rules, bool otherwise);

  // The addresses that packets of the class may be sent to; `service` must come from a partition()
  // that the rules' own services took part in.
  [[nodiscard]] AddressSet accepted(const Service& service) const;
  // The rule that decides, nullptr when none matches.
  [[nodiscard]] const TerminalRule* decides(const Service& service, AddressNumber to) const;
  [[nodiscard]] const std::vector<TerminalRule>& rules() const noexcept { return rules_; }

 private:
  // Where a rule begins to match, or matches no more.
  struct Edge {
    AddressNumber at;
    std::uint32_t rule;  // in rules_
    bool opens;
  };

  Family family_;
  std::vector<TerminalRule> rules_;
  std::vector<Edge> edges_;  // by address; sorted once for all classes of packets
  bool otherwise_;
};

}  // namespace vethgate
