#include "docker/explain/explain.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "docker/establish/host_gateway.hpp"
#include "render/plan_words.hpp"
#include "render/policy.hpp"
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

// A rule, and whether it is an exception for the host.
struct Shown {
  Rule rule;
  bool toHost = false;
};

struct Explained {
  Policy policy;
  std::vector<Shown> rules;
  bool namesHost = false;
};

// Each exception is one rule of its family, in the document's order, which tells those for the host
// from others that happen to name the address that stands in for it.
Explained explained(std::string_view text) {
  Json document = parseDocument(text, "policy");
  const std::vector<bool> hosts = replaceHostGateway(document, kUnmeasuredHost);
  Explained result{readPolicy(document), {}, false};
  const std::vector<Rule> rules = orderedRules(result.policy);
  refuseShadowedExceptions(rules);
  std::array<std::vector<bool>, 2> hostsByFamily;
  const auto ofFamily = [&](Family family) -> std::vector<bool>& {
    return hostsByFamily.at(family == Family::kV4 ? 0 : 1);
  };
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    ofFamily(result.policy.allow.at(i).to.family()).push_back(hosts[i]);
  }
  std::array<std::size_t, 2> seen{};
  for (const Rule& rule : rules) {
    bool toHost = false;
    if (rule.role == Role::kAllow) {
      toHost = ofFamily(rule.family).at(seen.at(rule.family == Family::kV4 ? 0 : 1)++);
    }
    result.namesHost = result.namesHost || toHost;
    result.rules.push_back({rule, toHost});
  }
  return result;
}

std::optional<std::string> digestOf(const Explained& of) {
  return of.namesHost ? std::nullopt : std::optional(of.policy.digest);
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

Row rowOf(const Shown& shown, std::size_t number) {
  const Rule& rule = shown.rule;
  std::string service = protocolText(rule).value_or("any protocol");
  if (rule.ports) {
    service += (rule.ports->isSingle() ? " port " : " ports ") + rule.ports->text();
  }
  if (const std::string more = matchText(rule); !more.empty()) {
    service += " " + more;
  }
  std::string to = rule.to ? rule.to->shortText() : "anywhere";
  if (shown.toHost) {
    to = std::string(kHostGateway) + " (the host, measured at establish)";
  }
  return {std::to_string(number),
          familyWord(rule.family),
          actionWord(rule.action),
          to,
          service,
          rule.why};
}

}  // namespace

std::string explainText(std::string_view policy) {
  const Explained all = explained(policy);
  std::vector<Row> rows{{"#", "family", "action", "to", "service", "why"}};
  for (const Shown& shown : all.rules) {
    rows.push_back(rowOf(shown, rows.size()));
  }
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t column = 0; column < row.size(); ++column) {
      widths[column] = std::max(widths[column], row[column].size());
    }
  }
  std::string text = "policy  " +
                     digestOf(all).value_or("its digest is known once the host is measured") +
                     "\nlayers ";
  for (const std::string& layer : layersOf(all.policy)) {
    text += " " + layer;
  }
  text += "\n\n";
  for (const Row& row : rows) {
    for (std::size_t column = 0; column + 1 < row.size(); ++column) {
      text += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
    }
    text += row.back() + "\n";
  }
  text +=
      "\nvethgate establish denies besides: 0.0.0.0/8, this host's addresses, and the prefixes on "
      "its links\n";
  return text;
}

std::string explainJson(std::string_view policy) {
  using Ordered = nlohmann::ordered_json;
  const auto orNull = [](const std::optional<std::string>& text) {
    return text ? Ordered(*text) : Ordered(nullptr);
  };
  const Explained all = explained(policy);
  Ordered rules = Ordered::array();
  for (const auto& [rule, toHost] : all.rules) {
    const std::string match = matchText(rule);
    std::optional<std::string> to;
    if (toHost) {
      to = kHostGateway;
    } else if (rule.to) {
      to = rule.to->text();
    }
    rules.push_back(
        {{"family", familyWord(rule.family)},
         {"action", actionWord(rule.action)},
         {"to", orNull(to)},
         {"protocol", orNull(protocolText(rule))},
         {"ports", orNull(rule.ports ? std::optional(rule.ports->text()) : std::nullopt)},
         {"match", orNull(match.empty() ? std::nullopt : std::optional(match))},
         {"why", rule.why}});
  }
  const Ordered document = {{"policy", orNull(digestOf(all))},
                            {"layers", layersOf(all.policy)},
                            {"rules", std::move(rules)}};
  return document.dump() + "\n";
}

}  // namespace vethgate::docker
