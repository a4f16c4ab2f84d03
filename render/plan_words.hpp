// The words that stand for enumerated values in the plan document, each table once for writer and
// reader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "render/plan.hpp"

namespace vethgate {

template <class Value>
struct Word {
  Value value;
  std::string_view text;
};

inline constexpr std::array kTargetWords{Word<Target>{Target::kAccept, "ACCEPT"},
                                         Word<Target>{Target::kDrop, "DROP"},
                                         Word<Target>{Target::kLog, "LOG"}};
inline constexpr std::array kActionWords{Word<FilterAction>{FilterAction::kPass, "pass"},
                                         Word<FilterAction>{FilterAction::kDrop, "drop"}};
inline constexpr std::array kEtherTypeWords{
    Word<EtherType>{EtherType::kIpv4, "ip"}, Word<EtherType>{EtherType::kIpv6, "ipv6"},
    Word<EtherType>{EtherType::kArp, "arp"}, Word<EtherType>{EtherType::kAll, "all"}};
// Each layer's own spelling, as iptables(8) and tc-flower(8) print it.
// A protocol without a word is its decimal number.
inline constexpr std::array kIptablesProtocolWords{
    Word<std::uint8_t>{kProtocolTcp, "tcp"}, Word<std::uint8_t>{kProtocolUdp, "udp"},
    Word<std::uint8_t>{kProtocolIcmp, "icmp"}, Word<std::uint8_t>{kProtocolIcmpV6, "ipv6-icmp"}};
inline constexpr std::array kFlowerProtocolWords{
    Word<std::uint8_t>{kProtocolTcp, "tcp"}, Word<std::uint8_t>{kProtocolUdp, "udp"},
    Word<std::uint8_t>{kProtocolIcmp, "icmp"}, Word<std::uint8_t>{kProtocolIcmpV6, "icmpv6"}};

template <class Table, class Value>
[[nodiscard]] constexpr std::optional<std::string_view> wordOf(const Table& table, Value value) {
  for (const auto& word : table) {
    if (word.value == value) {
      return word.text;
    }
  }
  return std::nullopt;
}

template <class Table>
[[nodiscard]] constexpr auto valueOf(const Table& table, std::string_view text)
    -> std::optional<decltype(table.front().value)> {
  for (const auto& word : table) {
    if (word.text == text) {
      return word.value;
    }
  }
  return std::nullopt;
}

template <class Table>
[[nodiscard]] std::string protocolWord(const Table& table, std::uint8_t protocol) {
  const auto word = wordOf(table, protocol);
  return word ? std::string(*word) : std::to_string(protocol);
}

}  // namespace vethgate
