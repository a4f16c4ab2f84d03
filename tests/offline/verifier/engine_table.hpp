// The table of docker's resolver in a capture: where its messages are, and edits of them.
#pragma once

#include <linux/netfilter.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support.hpp"

namespace vethgate::test {

// By who wrote the rules: iptables-nft 1.8.9 and 1.8.11.
inline const std::vector<std::string> kDocker = {"engine-docker-20.10", "engine-docker-26.1"};

inline constexpr std::array kNatDumps = {DumpId::kNftTables, DumpId::kNftChains, DumpId::kNftRules};
// Messages of the table, counted from its first one.
inline constexpr std::size_t kDockerOutput = 0;  // chains
inline constexpr std::size_t kOutput = 1;
inline constexpr std::size_t kPostrouting = 3;
inline constexpr std::size_t kDnatTcp = 0;  // rules
inline constexpr std::size_t kDnatUdp = 1;
inline constexpr std::size_t kJump = 2;
inline constexpr std::size_t kSnatTcp = 3;
inline constexpr std::size_t kSnatUdp = 4;
inline constexpr std::size_t kJumpBack = 5;
inline constexpr std::size_t kRules = 6;

// The first name of a message is that of its table, but of a table its own.
inline bool isOf(const RawMessage& message, const std::string& table) {
  const Bytes name = text(table);
  return message.size() >= 24 + name.size() && message.at(16) == NFPROTO_IPV4 &&
         std::equal(name.begin(), name.end(), message.begin() + 24);
}

// How many messages stand ahead of those of table nat, and how many those are.
inline std::pair<std::size_t, std::size_t> natIn(const Capture& capture, DumpId id) {
  std::size_t first = 0;
  std::size_t count = 0;
  const auto& dump = capture.dump(id).value();
  for (std::size_t i = 0; i < dump.size(); ++i) {
    if (isOf(dump[i], "nat")) {
      first = count++ == 0 ? i : first;
    }
  }
  return {first, count};
}

inline void editNat(Capture& capture, DumpId id, std::size_t number,
                    const std::function<void(Attributes&)>& change) {
  edit(capture, id, natIn(capture, id).first + number, change);
}

inline std::function<void(Attributes&)> set(const char* path, Bytes value) {
  return [path, value](Attributes& all) { at(all, path).value = value; };
}

inline constexpr const char* kInfo = "4/1[7]/2/3";  // of a translation, whoever wrote it

}  // namespace vethgate::test
