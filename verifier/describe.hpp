// Rules as text, and their differences. The text of a rule is complete: two rules with the same
// text match the same packets and do the same with them (`why` aside), so that a digest over it is
// one over the rules.
#pragma once

#include <cstdint>
#include <string>

#include "render/plan.hpp"

namespace vethgate {

// "drop 10.0.0.0/8", "accept tcp 172.31.0.1/32 port 49200-49299", "log tcp syn limit 6/60s burst 12
// prefix x:"
[[nodiscard]] std::string describe(const IptablesRule& rule);
// "drop 10.0.0.0/8", "pass arp", "drop all"; without pref and handle.
[[nodiscard]] std::string describe(const FlowerFilter& filter);
// "drop 10.0.0.0/8 172.16.0.0/12 (v4_1)", "pass ip tcp port 443", "pass arp from 02:…:02
// 172.17.0.2"
[[nodiscard]] std::string describe(const NetdevRule& rule);

// "0x1f": how tc prints the handle of a filter.
[[nodiscard]] std::string handleText(std::uint32_t handle);

// Whether they are equal but for `why`.
[[nodiscard]] bool sameRule(const IptablesRule& left, const IptablesRule& right);
[[nodiscard]] bool sameFilter(const FlowerFilter& left, const FlowerFilter& right);
[[nodiscard]] bool sameRule(const NetdevRule& left, const NetdevRule& right);

// Field by field, "destination is 10.0.0.0/9, expected 10.0.0.0/8; action is …"; empty when they
// are the same but for `why`.
[[nodiscard]] std::string differences(const IptablesRule& found, const IptablesRule& expected);
[[nodiscard]] std::string differences(const FlowerFilter& found, const FlowerFilter& expected);
[[nodiscard]] std::string differences(const NetdevRule& found, const NetdevRule& expected);

}  // namespace vethgate
