// The plan in the words of iptables-restore, tc -batch and people. It must not know the policy, and
// decides nothing: each line is one rule of the plan.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "render/plan_words.hpp"
#include "render/render.hpp"

namespace vethgate {
namespace {

template <class Table, class Value>
std::string word(const Table& table, Value value) {
  const auto text = wordOf(table, value);
  if (!text) {
    throw Failure(ExitCode::kDefect, "a rule holds a value that has no word");
  }
  return std::string(*text);
}

std::string rateText(const RateLimit& limit) {
  switch (limit.unit) {
    case 1:
      return std::to_string(limit.rate) + "/second";
    case 60:
      return std::to_string(limit.rate) + "/minute";
    case 3'600:
      return std::to_string(limit.rate) + "/hour";
    case 86'400:
      return std::to_string(limit.rate) + "/day";
    default:
      throw Failure(ExitCode::kDefect,
                    "a rate counts in " + std::to_string(limit.unit) + " seconds");
  }
}

std::string iptablesLine(const IptablesRule& rule, Family family) {
  std::string line = family == Family::kV4 ? "-4 -A OUTPUT" : "-6 -A OUTPUT";
  if (rule.to) {
    line += " -d " + rule.to->text();
  }
  if (rule.protocol) {
    line += " -p " + protocolWord(kIptablesProtocolWords, *rule.protocol);
  }
  if (rule.syn) {
    line += " --syn";
  }
  if (rule.ports) {
    line += " --dport " + rule.ports->text(':');
  }
  if (rule.icmpType) {
    line += " -m icmp6 --icmpv6-type " + std::to_string(*rule.icmpType);
  }
  if (rule.hopLimit) {
    line += " -m hl --hl-eq " + std::to_string(*rule.hopLimit);
  }
  if (rule.limit) {
    line += " -m limit --limit " + rateText(*rule.limit) + " --limit-burst " +
            std::to_string(rule.limit->burst);
  }
  line += " -j " + word(kTargetWords, rule.target);
  if (rule.target == Target::kLog) {
    line += " --log-prefix " + rule.logPrefix;
  }
  return line + "\n";
}

// tc reads a protocol that it has no word for as hexadecimal.
std::string tcProtocol(std::uint8_t protocol) {
  const auto known = wordOf(kFlowerProtocolWords, protocol);
  return known ? std::string(*known) : toHex({&protocol, 1});
}

std::string tcLine(const FlowerFilter& filter, const std::string& device) {
  static constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string handle;
  for (std::uint32_t rest = filter.handle; rest != 0; rest /= 16) {
    handle.insert(handle.begin(), kHexDigits[rest % 16]);
  }
  std::string line = "filter add dev " + device + " egress protocol " +
                     word(kEtherTypeWords, filter.protocol) + " pref " +
                     std::to_string(filter.pref) + " handle 0x" + handle + " flower";
  if (filter.ipProtocol) {
    line += " ip_proto " + tcProtocol(*filter.ipProtocol);
  }
  if (filter.icmpType) {
    line += " type " + std::to_string(*filter.icmpType);
  }
  if (filter.to) {
    line += " dst_ip " + filter.to->text();
  }
  if (filter.hopLimit) {
    line += " ip_ttl " + std::to_string(*filter.hopLimit);
  }
  if (filter.ports) {
    line += " dst_port " + filter.ports->text();
  }
  return line + " action gact " + word(kActionWords, filter.action) + "\n";
}

using Row = std::array<std::string, 5>;

void addWord(std::string& text, const std::string& next) {
  text += (text.empty() ? "" : " ") + next;
}

// What a rule matches on beside the destination.
template <class Rule>
std::string serviceText(const Rule& rule, const std::string& protocol) {
  std::string text;
  if (!protocol.empty()) {
    addWord(text, protocol);
  }
  if (rule.ports) {
    addWord(text, (rule.ports->isSingle() ? "port " : "ports ") + rule.ports->text());
  }
  if (rule.icmpType) {
    addWord(text, "type " + std::to_string(*rule.icmpType));
  }
  if (rule.hopLimit) {
    addWord(text, "hop limit " + std::to_string(*rule.hopLimit));
  }
  return text;
}

template <class Rule>
std::string matchText(const Rule& rule, const std::string& protocol) {
  std::string text = rule.to ? rule.to->shortText() : std::string();
  if (const std::string service = serviceText(rule, protocol); !service.empty()) {
    addWord(text, service);
  }
  return text;
}

Row rowOf(const IptablesRule& rule, const char* place, std::size_t number) {
  std::string match =
      matchText(rule, rule.protocol ? protocolWord(kIptablesProtocolWords, *rule.protocol) : "");
  if (rule.syn) {
    addWord(match, "new");
  }
  if (rule.limit) {
    addWord(match,
            "at most " + rateText(*rule.limit) + ", burst " + std::to_string(rule.limit->burst));
  }
  std::string action = word(kTargetWords, rule.target);
  if (rule.target == Target::kLog) {
    addWord(action, rule.logPrefix);
  }
  return {std::to_string(number), place, match.empty() ? "everything" : match, action, rule.why};
}

Row rowOf(const FlowerFilter& filter, std::size_t number) {
  std::string match = word(kEtherTypeWords, filter.protocol);
  const std::string rest = matchText(
      filter, filter.ipProtocol ? protocolWord(kFlowerProtocolWords, *filter.ipProtocol) : "");
  if (!rest.empty()) {
    addWord(match, rest);
  }
  return {std::to_string(number),
          "flower " + std::to_string(filter.pref) + "/" + std::to_string(filter.handle), match,
          word(kActionWords, filter.action), filter.why};
}

Row rowOf(const NetdevRule& rule, std::size_t number) {
  std::string match = word(kEtherTypeWords, rule.protocol);
  for (const Prefix& prefix : rule.to) {
    addWord(match, prefix.shortText());
  }
  const std::string rest = serviceText(
      rule, rule.ipProtocol ? protocolWord(kFlowerProtocolWords, *rule.ipProtocol) : "");
  if (!rest.empty()) {
    addWord(match, rest);
  }
  if (rule.sender) {
    addWord(match, "from " + rule.sender->address.text() + " at " + macText(rule.sender->mac));
  }
  return {std::to_string(number), rule.set.empty() ? "netdev" : "netdev " + rule.set, match,
          word(kActionWords, rule.action), rule.why};
}

std::vector<Row> rowsOf(const Plan& plan) {
  std::vector<Row> rows{{"#", "place", "match", "action", "why"}};
  const auto add = [&](const std::vector<IptablesRule>& rules, const char* place) {
    for (const IptablesRule& rule : rules) {
      rows.push_back(rowOf(rule, place, rows.size()));
    }
  };
  if (plan.iptables) {
    add(plan.iptables->v4, "ip OUTPUT");
    add(plan.iptables->v6, "ip6 OUTPUT");
  }
  if (plan.flower) {
    for (const FlowerFilter& filter : *plan.flower) {
      rows.push_back(rowOf(filter, rows.size()));
    }
  }
  if (plan.netdev) {
    for (const NetdevRule& rule : *plan.netdev) {
      rows.push_back(rowOf(rule, rows.size()));
    }
  }
  return rows;
}

}  // namespace

std::string iptablesSaveText(const Plan& plan) {
  if (!plan.iptables) {
    badInput("the policy's layers leave iptables out, so there is no iptables-save text");
  }
  std::string text = "*filter\n:OUTPUT ACCEPT [0:0]\n";
  for (const IptablesRule& rule : plan.iptables->v4) {
    text += iptablesLine(rule, Family::kV4);
  }
  for (const IptablesRule& rule : plan.iptables->v6) {
    text += iptablesLine(rule, Family::kV6);
  }
  return text + "COMMIT\n";
}

std::string tcBatchText(const Plan& plan) {
  if (!plan.flower) {
    badInput("the policy's layers leave flower out, so there is no tc text");
  }
  std::string text = "qdisc add dev " + plan.link.name + " clsact\n";
  for (const FlowerFilter& filter : *plan.flower) {
    text += tcLine(filter, plan.link.name);
  }
  return text;
}

std::string tableText(const Plan& plan) {
  std::string text = "link    " + plan.link.name + ", index " + std::to_string(plan.link.index) +
                     ", " + macText(plan.link.mac) + ", peer " + std::to_string(plan.link.peer) +
                     ", namespace " + std::to_string(plan.link.netns) + "\npolicy  " +
                     plan.policyDigest + "\nplan    " + planDigest(plan) + "\n\n";
  const std::vector<Row> rows = rowsOf(plan);
  Row::size_type last = std::tuple_size_v<Row> - 1;
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < last; ++column) {
      text += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
    }
    text += row[last] + "\n";
  }
  return text;
}

}  // namespace vethgate
