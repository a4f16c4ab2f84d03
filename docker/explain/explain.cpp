#include "docker/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "render/plan_words.hpp"
#include "render/rules.hpp"

namespace vethgate::docker {
namespace {

const char* familyWord(Family family) { return family == Family::kV4 ? "IPv4" : "IPv6"; }

const char* actionWord(Action action) {
  switch (action) {
    case Action::kLog:
      return "log";
    case Action::kDrop:
      return "drop";
    case Action::kAccept:
      return "pass";
  }
  return "?";
}

std::optional<std::string> protocolText(const Rule& rule) {
  return rule.protocol ? std::optional(protocolWord(kFlowerProtocolWords, *rule.protocol))
                       : std::nullopt;
}

std::string matchText(const Rule& rule) {
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
  if (rule.syn) {
    add("new connections");
  }
  if (rule.icmpType) {
    add("type " + std::to_string(*rule.icmpType));
  }
  if (rule.hopLimit) {
    add("hop limit " + std::to_string(*rule.hopLimit));
  }
  return text;
}

std::vector<Rule> rulesOf(const Policy& policy) {
  std::vector<Rule> rules = orderedRules(policy);
  refuseShadowedExceptions(rules);
  return rules;
}

std::vector<std::string> layersOf(const Policy& policy) {
  std::vector<std::string> layers;
  for (const auto& [named, name] :
       {std::pair(policy.iptables, "iptables"), std::pair(policy.flower, "flower"),
        std::pair(policy.netdev, "netdev")}) {
    if (named) {
      layers.emplace_back(name);
    }
  }
  return layers;
}

using Row = std::array<std::string, 6>;

Row rowOf(const Rule& rule, std::size_t number) {
  std::string service = protocolText(rule).value_or("any protocol");
  if (rule.ports) {
    service += (rule.ports->isSingle() ? " port " : " ports ") + rule.ports->text();
  }
  if (const std::string more = matchText(rule); !more.empty()) {
    service += " " + more;
  }
  return {std::to_string(number),
          familyWord(rule.family),
          actionWord(rule.action),
          rule.to ? rule.to->shortText() : "anywhere",
          service,
          rule.why};
}

}  // namespace

std::string explainText(const Policy& policy) {
  std::vector<Row> rows{{"#", "family", "action", "to", "service", "why"}};
  for (const Rule& rule : rulesOf(policy)) {
    rows.push_back(rowOf(rule, rows.size()));
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text = "policy  " + policy.digest + "\nlayers ";
  for (const std::string& layer : layersOf(policy)) {
    text += " " + layer;
  }
  text += "\n\n";
  for (const Row& row : rows) {
    for (std::size_t column = 0; column + 1 < row.size(); ++column) {
      text += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

std::string explainJson(const Policy& policy) {
  using Ordered = nlohmann::ordered_json;
  const auto orNull = [](const std::optional<std::string>& text) {
    return text ? Ordered(*text) : Ordered(nullptr);
  };
  Ordered rules = Ordered::array();
  for (const Rule& rule : rulesOf(policy)) {
    const std::string match = matchText(rule);
    rules.push_back(
        {{"family", familyWord(rule.family)},
         {"action", actionWord(rule.action)},
         {"to", orNull(rule.to ? std::optional(rule.to->text()) : std::nullopt)},
         {"protocol", orNull(protocolText(rule))},
         {"ports", orNull(rule.ports ? std::optional(rule.ports->text()) : std::nullopt)},
         {"match", orNull(match.empty() ? std::nullopt : std::optional(match))},
         {"why", rule.why}});
  }
  const Ordered document = {
      {"policy", policy.digest}, {"layers", layersOf(policy)}, {"rules", std::move(rules)}};
  return document.dump() + "\n";
}

}  // namespace vethgate::docker
