// The plan: what the renderer hands to the applier, and what the verifier expects to read back.
// It knows nothing of sockets, netlink or processes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "render/address.hpp"
#include "render/link.hpp"

namespace vethgate {

// IP protocol numbers (IANA), as all layers match them.
inline constexpr std::uint8_t kProtocolIcmp = 1;
inline constexpr std::uint8_t kProtocolTcp = 6;
inline constexpr std::uint8_t kProtocolUdp = 17;
inline constexpr std::uint8_t kProtocolIcmpV6 = 58;

// A token bucket as nf_tables' native limit holds it: `rate` per `unit` seconds, `burst` packets.
// Normalised the way iptables-nft normalises `--limit`, so that both write the same expression.
struct RateLimit {
  std::uint64_t rate = 0;
  std::uint64_t unit = 0;  // seconds: 1, 60, 3600 or 86400
  std::uint32_t burst = 0;
  friend bool operator==(const RateLimit&, const RateLimit&) = default;
};

enum class Target : std::uint8_t { kAccept, kDrop, kLog };

// One rule of `filter OUTPUT` in table family ip or ip6. An absent field is not matched on;
// a prefix of length 0 is written as an absent `to`.
struct IptablesRule {
  std::optional<Prefix> to;
  std::optional<std::uint8_t> protocol;
  bool syn = false;                      // TCP flags FIN,SYN,RST,ACK == SYN; needs protocol tcp
  std::optional<PortRange> ports;        // destination; needs protocol tcp or udp
  std::optional<std::uint8_t> icmpType;  // needs protocol 58
  std::optional<std::uint8_t> hopLimit;  // needs protocol 58
  std::optional<RateLimit> limit;        // LOG only
  Target target = Target::kDrop;
  std::string logPrefix;  // LOG only: 1..29 characters, no white space
  std::string why;
  friend bool operator==(const IptablesRule&, const IptablesRule&) = default;
};

// `protocol X` of tc: the skb->protocol a filter is asked for (linux/if_ether.h), in host order.
enum class EtherType : std::uint16_t {
  kAll = 0x0003,
  kIpv4 = 0x0800,
  kArp = 0x0806,
  kIpv6 = 0x86dd,
};

enum class FilterAction : std::uint8_t { kPass, kDrop };

// One flower filter on clsact egress, chain 0, with exactly one gact action.
struct FlowerFilter {
  std::uint16_t pref = 0;
  std::uint32_t handle = 0;
  EtherType protocol = EtherType::kAll;
  std::optional<std::uint8_t> ipProtocol;
  std::optional<Prefix> to;
  std::optional<PortRange> ports;        // destination; needs ipProtocol tcp or udp
  std::optional<std::uint8_t> icmpType;  // needs ipProtocol 58
  std::optional<std::uint8_t> hopLimit;  // TCA_FLOWER_KEY_IP_TTL; needs ipProtocol 58
  FilterAction action = FilterAction::kDrop;
  std::string why;
  friend bool operator==(const FlowerFilter&, const FlowerFilter&) = default;
};

// Who an ARP packet says that it comes from (RFC 826: ar$sha, ar$spa).
struct ArpSender {
  std::array<std::uint8_t, 6> mac{};
  Address address;  // IPv4
  friend bool operator==(const ArpSender&, const ArpSender&) = default;
};

// One rule of chain `egress`, which hooks the link's egress, in table `netdev vethgate`. Every
// frame that no rule passes is dropped. Ethertype, destination and hop limit are those of the
// frame's own bytes, whatever its sender calls it.
struct NetdevRule {
  EtherType protocol = EtherType::kAll;
  // Of a drop: ascending, disjoint, and no two that one shorter prefix would stand for; the kernel
  // holds them as intervals in the set `set`. Of a pass: at most one, compared in the rule. Empty
  // is any destination.
  std::vector<Prefix> to{};
  std::string set{};  // a drop with destinations; unique in the plan, see isSetName()
  std::optional<std::uint8_t> ipProtocol{};
  std::optional<PortRange> ports{};        // destination; needs ipProtocol tcp or udp
  std::optional<std::uint8_t> icmpType{};  // needs ipProtocol 58
  std::optional<std::uint8_t> hopLimit{};  // needs protocol kIpv6
  std::optional<ArpSender> sender{};       // of every pass of kArp, and of nothing else
  FilterAction action = FilterAction::kDrop;
  std::string why{};
  friend bool operator==(const NetdevRule&, const NetdevRule&) = default;
};
// "v4_1", "v6_12": the family and a number without leading zeros, at most 15 characters.
[[nodiscard]] bool isSetName(std::string_view name, Family family);

struct Plan {
  std::string policyDigest;  // SHA-256 hex of the canonical policy
  Link link;
  // A layer that the policy does not list is nullopt: nothing of it is written, and nothing may be
  // there.
  struct Iptables {
    std::vector<IptablesRule> v4;
    std::vector<IptablesRule> v6;
    friend bool operator==(const Iptables&, const Iptables&) = default;
  };
  std::optional<Iptables> iptables;
  std::optional<std::vector<FlowerFilter>> flower;  // in evaluation order
  std::optional<std::vector<NetdevRule>> netdev;    // in evaluation order

  [[nodiscard]] std::size_t ruleCount() const noexcept;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// With every prefix expressed twice a plan is larger than the policy that it came from.
inline constexpr std::size_t kMaxPlanBytes = std::size_t{64} << 20;
// pref 100 is the applier's guard, 101 the first filter, 65535 the last pref there is.
inline constexpr std::uint16_t kGuardPref = 100;
inline constexpr std::uint16_t kFirstPref = 101;
inline constexpr std::uint16_t kLastPref = 65535;
// LOG's prefix as the kernel stores it, less its NUL (linux/netfilter/xt_LOG.h).
inline constexpr std::size_t kMaxLogPrefix = 29;
inline constexpr std::uint64_t kPlanVersion = 1;

// The document: {"version":1, "policy":sha, "link":{…}, "iptables":{"v4":[…],"v6":[…]},
// "flower":[…], "netdev":[…], "digest":sha}, without white space. The key of a layer that the plan
// leaves out is absent, as is the key of whatever a rule does not match on. Keys of an iptables
// rule: to, protocol ("tcp", "udp", "ipv6-icmp"), syn (true), ports, icmpType, hopLimit, limit
// {rate, unit, burst}, target ("ACCEPT", "DROP", "LOG"), logPrefix, why. Of a flower filter: pref,
// handle, protocol ("ip", "ipv6", "arp", "all"), ipProtocol ("tcp", "udp", "icmpv6"), to, ports,
// icmpType, hopLimit, action ("pass", "drop"), why. Of a netdev rule: protocol, ipProtocol, to (a
// list), set, ports, icmpType, hopLimit, sender {mac, address}, action, why; words as in a flower
// filter.

// The document with its `digest` (SHA-256 of the canonical form of the rest).
[[nodiscard]] std::string planText(const Plan& plan);
[[nodiscard]] std::string planDigest(const Plan& plan);

struct PlanDocument {
  Plan plan;
  std::string digest;  // that of the document, which held
};
// Every check, the digest first: it must be that of the canonical form or, where the text begins
// with it as planText()'s does, that of the very bytes behind it. Throws
// - Failure(kBadInput) for what is not a plan: structure, types, digest, and a combination that no
//   packet filter has, such as ports without tcp or udp;
// - Failure(kUntouchable) for a plan that asks for what the applier will not do: an unknown target,
//   action or protocol, a rule of the other family, a drop narrowed beyond its destination, a limit
//   on a verdict, a LOG without a limit in the form that iptables writes or with a prefix that
//   iptables would not take, a pref out of range or order, a handle of 0, and within one pref two
//   protocols, a repeated handle or match, or a pass beside another filter; in the netdev layer a
//   set that is no drop's of its family or whose name stands twice, destinations of a drop that are
//   not the shortest ascending list, two destinations of a pass, a sender that is not the link's or
//   not an ARP pass's, and a list that does not end with the one rule that drops every ethertype;
// - Failure(kEmptyPlan) for a plan without rules.
[[nodiscard]] PlanDocument readPlanDocument(std::string_view text);
[[nodiscard]] Plan readPlan(std::string_view text);

}  // namespace vethgate
