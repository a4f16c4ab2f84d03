// Comparison of a decoded readback with the plan; see verify.hpp.
#include "verifier/verify.hpp"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/json.hpp"
#include "probe/link_selection.hpp"
#include "verifier/describe.hpp"
#include "verifier/envelope.hpp"
#include "verifier/findings.hpp"
#include "verifier/nft_rules.hpp"
#include "verifier/programs.hpp"
#include "verifier/proof.hpp"
#include "verifier/readings.hpp"
#include "verifier/tc_filters.hpp"
#include "verifier/tc_layout.hpp"

namespace vethgate {
namespace {

// For one layer; 10,000 prefixes take a small part of a second.
constexpr std::chrono::milliseconds kProofTime{20'000};

std::string because(const std::string& why) { return why.empty() ? "" : " (" + why + ")"; }

// Rules have an order and no names, so one that is missing shifts all behind it. What both lists
// have in common at their ends is set aside first: what remains is what was changed.
template <class Rule, class Read>
void compareRules(const std::string& list, const std::vector<Rule>& expected,
                  const std::vector<Read>& found, Findings& findings) {
  if (found.size() != expected.size()) {
    findings.add(list + ": " + std::to_string(found.size()) + " rules are there, expected " +
                 std::to_string(expected.size()));
  }
  const std::size_t shorter = std::min(found.size(), expected.size());
  std::size_t front = 0;
  while (front < shorter && sameRule(found[front].rule, expected[front])) {
    ++front;
  }
  std::size_t back = 0;
  while (back < shorter - front &&
         sameRule(found[found.size() - 1 - back].rule, expected[expected.size() - 1 - back])) {
    ++back;
  }
  const std::size_t foundEnd = found.size() - back;
  const std::size_t expectedEnd = expected.size() - back;
  for (std::size_t i = front; i < std::max(foundEnd, expectedEnd); ++i) {
    const std::string place = list + " #" + std::to_string(i + 1) + ": ";
    if (i >= foundEnd) {
      findings.add(place + describe(expected[i]) + " is missing" + because(expected[i].why));
    } else if (i >= expectedEnd) {
      findings.add(place + describe(found[i].rule) + " is there, expected no such rule");
    } else if (const auto difference = differences(found[i].rule, expected[i]);
               !difference.empty()) {
      findings.add(place + difference + because(expected[i].why));
    }
  }
}

void compareFilters(const std::vector<FlowerFilter>& expected, const std::vector<ReadFilter>& found,
                    Findings& findings) {
  if (found.size() != expected.size()) {
    findings.add("flower: " + std::to_string(found.size()) + " filters are there, expected " +
                 std::to_string(expected.size()));
  }
  const auto key = [](const FlowerFilter& filter) { return std::pair(filter.pref, filter.handle); };
  std::vector<const FlowerFilter*> wanted;
  wanted.reserve(expected.size());
  for (const FlowerFilter& filter : expected) {
    wanted.push_back(&filter);
  }
  std::sort(wanted.begin(), wanted.end(),
            [&key](const FlowerFilter* left, const FlowerFilter* right) {
              return key(*left) < key(*right);
            });
  // Both are sorted by pref and handle now.
  auto want = wanted.begin();
  auto have = found.begin();
  while (want != wanted.end() || have != found.end()) {
    const bool missing =
        have == found.end() || (want != wanted.end() && key(**want) < key(have->filter));
    const bool extra =
        want == wanted.end() || (have != found.end() && key(have->filter) < key(**want));
    if (missing) {
      findings.add(filterPlace((*want)->pref, (*want)->handle) + ": " + describe(**want) +
                   " is missing" + because((*want)->why));
      ++want;
    } else if (extra) {
      findings.add(filterPlace(have->filter.pref, have->filter.handle) + ": " +
                   describe(have->filter) + " is there, expected no such filter");
      ++have;
    } else {
      const auto difference = differences(have->filter, **want);
      if (!difference.empty()) {
        findings.add(filterPlace((*want)->pref, (*want)->handle) + ": " + difference +
                     because((*want)->why));
      }
      ++want;
      ++have;
    }
  }
}

// A set may hold thousands; what they are for says more.
std::string shortText(const NetdevRule& rule, const std::string& why) {
  return rule.set.empty() ? describe(rule)
                          : "drop " + rule.set + " (" + std::to_string(rule.to.size()) +
                                (rule.to.size() == 1 ? " prefix" : " prefixes") +
                                (why.empty() ? "" : ": ") + why + ")";
}

// Reports each rule under its name: to the digest, and to the counters when it drops.
class Account {
 public:
  explicit Account(Verdict& verdict) : verdict_(verdict) {}

  void addRules(const char* family, const std::vector<ReadRule>& rules) {
    const std::string list = std::string("iptables ") + family + " ";
    std::size_t number = 0;
    for (const ReadRule& read : rules) {
      const std::string text = describe(read.rule);
      digest_.update(list);
      digest_.update(text);
      digest_.update("\n");
      ++number;
      if (read.rule.target == Target::kDrop) {
        std::string name = list;
        name.append("#").append(std::to_string(number)).append(" ").append(text);
        verdict_.drops.emplace_back(std::move(name), read.packets);
      }
    }
  }

  void addFilters(const std::vector<ReadFilter>& filters) {
    for (const ReadFilter& read : filters) {
      const std::string name = "flower " + std::to_string(read.filter.pref) + "/" +
                               handleText(read.filter.handle) + " " + describe(read.filter);
      digest_.update(name + "\n");
      if (read.filter.action == FilterAction::kDrop) {
        verdict_.drops.emplace_back(name, read.packets);
      }
    }
  }

  // A set has its reasons from the rule of `plan` at its place, when it is that rule.
  void addNetdev(const std::vector<ReadNetdevRule>& rules, const std::vector<NetdevRule>& plan) {
    std::size_t number = 0;
    for (const ReadNetdevRule& read : rules) {
      digest_.update("netdev " + describe(read.rule) + "\n");
      const bool asked = number < plan.size() && differences(read.rule, plan[number]).empty();
      const std::string why = asked ? plan[number].why : "";
      ++number;
      if (read.rule.action == FilterAction::kDrop) {
        verdict_.drops.emplace_back(
            "netdev #" + std::to_string(number) + " " + shortText(read.rule, why), read.packets);
      }
    }
  }

  void addResolver(const std::optional<EngineResolver>& resolver) {
    if (resolver) {  // its ports are chosen anew for each namespace
      digest_.update("engine resolver\n");
    }
  }

  void finish(bool complete) {
    if (complete) {
      verdict_.readback = digest_.hex();
    }
  }

 private:
  Verdict& verdict_;
  Sha256 digest_;
};

std::string linkText(const Link& link) {
  return link.name + " (index " + std::to_string(link.index) + ", " + macText(link.mac) +
         ", peer " + std::to_string(link.peer) + ", namespace " + std::to_string(link.netns) + ")";
}

// Whether the capture is of the link that was asked about; a reason otherwise.
bool checkLink(const Plan& plan, const Capture& capture, std::vector<LinkState>& links,
               Verdict& verdict, Findings& findings) {
  try {
    links = decodeLinks(*capture.dump(DumpId::kLinks));
    Link measured = selectLink(links, capture.netns);
    measured.addresses = plan.link.addresses;  // those that were there before the job started
    if (measured == plan.link) {
      return true;
    }
    verdict.code = ExitCode::kWrongNamespace;
    findings.add("links: the link is " + linkText(measured) + ", expected " + linkText(plan.link));
  } catch (const Failure& failure) {
    verdict.code = failure.code();
    findings.add(std::string("links: ") + failure.what());
  }
  return false;
}

template <class Read>
auto rulesOf(const std::vector<Read>& read) {
  std::vector<decltype(Read::rule)> rules;
  rules.reserve(read.size());
  for (const Read& one : read) {
    rules.push_back(one.rule);
  }
  return rules;
}

// The second judgement, of the rules as they were read: it must not see the plan.
void prove(const PolicyMeaning& meaning, const LayerReach& layer, bool explain, Verdict& verdict,
           Findings& findings) {
  if (const auto found = disagreement(meaning, layer, Deadline::after(kProofTime))) {
    findings.add("proof: " + found->text());
  }
  if (explain) {
    verdict.reach += explainText(meaning, layer);
  }
}

void judgeReach(const Policy& policy, const Link& link, const NftReadback& rules,
                const TcReadback& filters, bool explain, Verdict& verdict, Findings& findings) {
  const PolicyMeaning meaning(policy);
  try {
    if (policy.iptables && rules.complete) {
      prove(meaning, iptablesReach({rulesOf(rules.v4), rulesOf(rules.v6)}), explain, verdict,
            findings);
    }
    if (policy.flower && filters.complete) {
      std::vector<FlowerFilter> read;
      read.reserve(filters.filters.size());
      for (const ReadFilter& one : filters.filters) {
        read.push_back(one.filter);
      }
      prove(meaning, flowerReach(read), explain, verdict, findings);
    }
    if (policy.netdev && rules.complete) {
      prove(meaning, netdevReach(rulesOf(rules.netdev), link), explain, verdict, findings);
    }
  } catch (const Failure& failure) {
    if (failure.code() == ExitCode::kDeadline) {
      throw;
    }
    findings.add(std::string("proof: ") + failure.what());
  }
}

void judgeRules(const Policy& policy, const Plan& plan, const Capture& capture,
                std::span<const LinkState> links, bool explain, Verdict& verdict,
                Findings& findings) {
  if (!capture.legacy.empty()) {
    std::string names;
    for (const std::string& name : capture.legacy) {
      names += (names.empty() ? "" : ", ") + name;
    }
    findings.add("legacy iptables tables are there, expected none: " + names);
  }
  const std::uint32_t job = plan.link.index;
  const bool flower = plan.flower.has_value();
  tc::checkQdiscs(capture, links, job, flower, findings);
  tc::checkChains(capture, job, flower, findings);
  const TcReadback filters = readFilters(capture, job, findings);
  const nft::Expected expected{plan.iptables.has_value(),
                               plan.netdev ? std::optional(plan.link.name) : std::nullopt};
  const NftReadback rules = readNft(capture, expected, findings);

  // A list that was read only in part is refused for that already.
  if (rules.complete && plan.iptables) {
    compareRules("iptables v4", plan.iptables->v4, rules.v4, findings);
    compareRules("iptables v6", plan.iptables->v6, rules.v6, findings);
  }
  if (rules.complete && plan.netdev) {
    compareRules("netdev", *plan.netdev, rules.netdev, findings);
  }
  if (filters.complete) {
    compareFilters(flower ? *plan.flower : std::vector<FlowerFilter>{}, filters.filters, findings);
  }
  judgeReach(policy, plan.link, rules, filters, explain, verdict, findings);

  verdict.v4 = rules.v4.size();
  verdict.v6 = rules.v6.size();
  verdict.flower = filters.filters.size();
  verdict.netdev = rules.netdev.size();
  verdict.resolver = rules.resolver;
  Account account(verdict);
  account.addRules("v4", rules.v4);
  account.addRules("v6", rules.v6);
  account.addFilters(filters.filters);
  account.addNetdev(rules.netdev, plan.netdev.value_or(std::vector<NetdevRule>{}));
  account.addResolver(rules.resolver);
  account.finish(rules.complete && filters.complete);
}

void judgeAll(const Policy& policy, const Plan& plan, const Capture& capture, bool explain,
              Verdict& verdict, Findings& findings) {
  if (capture.netns != plan.link.netns) {
    verdict.code = ExitCode::kWrongNamespace;
    findings.add("the namespace is " + std::to_string(capture.netns) + ", expected " +
                 std::to_string(plan.link.netns));
    return;
  }
  checkEnvelopes(capture, findings);
  if (!hasSecondReading(capture)) {
    verdict.unchecked.emplace_back("links and traffic control were read only once");
  }
  std::vector<LinkState> links;
  if (!findings.empty() || !checkLink(plan, capture, links, verdict, findings)) {
    return;
  }
  checkPrograms(capture, plan.link.index, verdict.unchecked, findings);
  judgeRules(policy, plan, capture, links, explain, verdict, findings);
  // Last: what is there says more than that it changed.
  if (hasSecondReading(capture)) {
    compareReadings(capture, findings);
  }
  // After all else: a question about a set of ours that is not there leaves a gap.
  if (!sequencesFollow(capture)) {
    findings.add("the dumps are not consecutive answers: the sequence numbers of a socket jump");
  }
}

}  // namespace

Verdict judge(const Policy& policy, const Plan& plan, const Capture& capture, bool explain,
              Reasons reasons) {
  Verdict verdict;
  verdict.policy = plan.policyDigest;
  verdict.kernel = capture.kernel;
  verdict.link = plan.link;
  Findings findings(reasons == Reasons::kFirst);
  try {
    judgeAll(policy, plan, capture, explain, verdict, findings);
    if (findings.empty()) {
      verdict.code = ExitCode::kDone;
    }
  } catch (const Findings::Enough&) {
    // The code is one of a refusal until there is nothing to find.
  }
  verdict.reasons = std::move(findings).take();
  return verdict;
}

std::string verdictText(const Verdict& verdict) {
  Json drops = Json::object();
  for (const auto& [name, packets] : verdict.drops) {
    drops.emplace(name, packets);
  }
  Json resolver;
  if (verdict.resolver) {
    resolver = {{"udp", verdict.resolver->udp}, {"tcp", verdict.resolver->tcp}};
  }
  const Json document = {{"verdict", verdict.code == ExitCode::kDone ? "contained" : "refused"},
                         {"reasons", verdict.reasons},
                         {"unchecked", verdict.unchecked},
                         {"policy", verdict.policy},
                         {"readback", verdict.readback ? Json(*verdict.readback) : Json(nullptr)},
                         {"counts",
                          {{"iptables", {{"v4", verdict.v4}, {"v6", verdict.v6}}},
                           {"flower", verdict.flower},
                           {"netdev", verdict.netdev}}},
                         {"engine", {{"resolver", std::move(resolver)}}},
                         {"drops", std::move(drops)},
                         {"kernel", verdict.kernel},
                         {"link", linkDocument(verdict.link)}};
  // Of strings that a capture may hold only `kernel` can be anything at all.
  return document.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string verdictSentence(const Verdict& verdict) {
  if (verdict.code == ExitCode::kDone) {
    return "link " + verdict.link.name + " is contained: " +
           std::to_string(verdict.v4 + verdict.v6 + verdict.flower + verdict.netdev) +
           " rules are there, in order, and nothing else is" +
           (verdict.resolver ? " but the engine's NAT for its resolver 127.0.0.11" : "");
  }
  const std::size_t more = verdict.reasons.size() - 1;
  return "refused: " + verdict.reasons.front() +
         (more == 0
              ? ""
              : ", and " + std::to_string(more) + " more" + (more == 1 ? " reason" : " reasons"));
}

}  // namespace vethgate
