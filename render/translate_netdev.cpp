// The third translation of the one list, for nft's netdev egress hook. It must not know the policy,
// nor how a set or a rule is written.
#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "render/prefix_set.hpp"
#include "render/translate.hpp"

namespace vethgate {
namespace {

// Drops of one family that nothing stands between, as they are collected.
struct Run {
  std::vector<Prefix> to;
  bool everything = false;
  std::vector<std::string> reasons;

  void add(const Rule& rule, const std::string& why) {
    if (!rule.to || rule.to->length() == 0) {
      everything = true;
    } else {
      to.push_back(*rule.to);
    }
    if (std::find(reasons.begin(), reasons.end(), why) == reasons.end()) {
      reasons.push_back(why);
    }
  }
  [[nodiscard]] bool empty() const noexcept { return reasons.empty(); }
  [[nodiscard]] std::string why() const {
    std::string text;
    for (const std::string& reason : reasons) {
      text += (text.empty() ? "" : ", ") + reason;
    }
    return text;
  }
};

class NetdevList {
 public:
  void add(const Rule& rule) {
    if (rule.role == Role::kLoopback) {
      run_.add(rule, "loopback has no business on a link");
    } else if (rule.action == Action::kDrop) {
      run_.add(rule, rule.why);
    } else {
      closeRun();
      pass(rule);
    }
  }

  void startFamily(Family family) {
    family_ = family;
    sets_ = 0;
  }

  void endFamily() { closeRun(); }

  void arp(const Link& link) {
    for (const Address& address : link.addresses) {
      if (address.family() == Family::kV4) {
        append({.protocol = EtherType::kArp,
                .sender = ArpSender{link.mac, address},
                .action = FilterAction::kPass,
                .why = "address resolution on the link, as itself"});
      }
    }
  }

  [[nodiscard]] std::vector<NetdevRule> finish() && {
    append({.protocol = EtherType::kAll, .why = "everything else"});
    return std::move(rules_);
  }

 private:
  [[nodiscard]] EtherType frame() const {
    return family_ == Family::kV4 ? EtherType::kIpv4 : EtherType::kIpv6;
  }

  void append(NetdevRule rule) { rules_.push_back(std::move(rule)); }

  void pass(const Rule& rule) {
    if (rule.syn) {
      badInput("the rule \"" + rule.why + "\" passes by TCP flags, which netdev is not asked for");
    }
    NetdevRule result{.protocol = frame(),
                      .ipProtocol = rule.protocol,
                      .ports = rule.ports,
                      .icmpType = rule.icmpType,
                      .hopLimit = rule.hopLimit,
                      .action = FilterAction::kPass,
                      .why = rule.why};
    if (rule.to && rule.to->length() != 0) {
      result.to.push_back(*rule.to);
    }
    append(std::move(result));
  }

  void closeRun() {
    Run run = std::exchange(run_, {});
    if (run.empty()) {
      return;
    }
    NetdevRule result{.protocol = frame(), .why = run.why()};
    std::vector<Prefix> to = shortestList(std::move(run.to));
    if (!run.everything && to.front().length() != 0) {
      result.to = std::move(to);
      result.set = (family_ == Family::kV4 ? "v4_" : "v6_") + std::to_string(++sets_);
    }
    append(std::move(result));
  }

  std::vector<NetdevRule> rules_;
  Run run_;
  Family family_ = Family::kV4;
  unsigned sets_ = 0;
};

}  // namespace

std::vector<NetdevRule> netdevRules(const std::vector<Rule>& rules, const Link& link) {
  NetdevList list;
  for (const Family family : {Family::kV4, Family::kV6}) {
    list.startFamily(family);
    for (const Rule& rule : rules) {
      if (rule.family == family && rule.action != Action::kLog && !isFinalDrop(rule)) {
        list.add(rule);
      }
    }
    list.endFamily();
  }
  list.arp(link);
  return std::move(list).finish();
}

}  // namespace vethgate
