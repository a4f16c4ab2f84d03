// Reading of the plan document: what stands between a worker's stdin and a process with NET_ADMIN.
// It must not know the policy that a plan came from, nor how the plan is applied. Two refusals are
// kept apart. kBadInput: this is not a plan (types, fields, digest, a combination that no packet
// filter has). kUntouchable: it is one, and asks for what the applier will not do.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "render/match_reader.hpp"
#include "render/netdev_reader.hpp"
#include "render/plan.hpp"
#include "render/plan_words.hpp"
#include "render/rate_limit.hpp"

namespace vethgate {
namespace {

RateLimit readLimit(const Json& value, const std::string& path) {
  ObjectReader reader(value, path);
  RateLimit limit;
  limit.rate = readNumber<std::uint64_t>(reader.required("rate"), reader.pathOf("rate"), 1);
  limit.unit = readNumber<std::uint64_t>(reader.required("unit"), reader.pathOf("unit"), 1);
  limit.burst = readNumber<std::uint32_t>(reader.required("burst"), reader.pathOf("burst"), 1);
  reader.finish();
  if (!isCarriedExactly(limit)) {
    untouchable(path + " is " + std::to_string(limit.rate) + " in " + std::to_string(limit.unit) +
                " seconds, burst " + std::to_string(limit.burst) +
                "; not a rate in the form that iptables writes");
  }
  return limit;
}

void readLogging(ObjectReader& reader, IptablesRule& rule, const std::string& path) {
  const Json* prefix = reader.optional("logPrefix");
  const Json* limit = reader.optional("limit");
  if (rule.target != Target::kLog) {
    if (prefix != nullptr) {
      badInput(path + ": only LOG has a prefix");
    }
    if (limit != nullptr) {
      untouchable(path + ": only LOG may be limited; a limited verdict lets the rest through");
    }
    return;
  }
  if (prefix == nullptr) {
    badInput(path + ": LOG without \"logPrefix\"");
  }
  rule.logPrefix = asText(*prefix, reader.pathOf("logPrefix"));
  if (rule.logPrefix.empty() || rule.logPrefix.size() > kMaxLogPrefix ||
      rule.logPrefix.find(' ') != std::string::npos) {
    untouchable(reader.pathOf("logPrefix") + " is \"" + rule.logPrefix + "\", expected 1 to " +
                std::to_string(kMaxLogPrefix) + " characters without white space");
  }
  if (limit == nullptr) {
    untouchable(path + ": LOG without a limit would let a job flood the host's log");
  }
  rule.limit = readLimit(*limit, reader.pathOf("limit"));
}

IptablesRule readRule(const Json& value, Family family, const std::string& path) {
  ObjectReader reader(value, path);
  IptablesRule rule;
  rule.target = readWord(kTargetWords, reader.required("target"), reader.pathOf("target"));
  rule.why = asText(reader.required("why"), reader.pathOf("why"));
  if (const Json* syn = reader.optional("syn")) {
    rule.syn = asBool(*syn, reader.pathOf("syn"));
    if (!rule.syn) {
      badInput(reader.pathOf("syn") + " is false; what is not matched is left out");
    }
  }
  const Match match = readMatch(reader, kIptablesProtocolWords, "protocol", path);
  readLogging(reader, rule, path);
  reader.finish();

  if (rule.syn && match.protocol != kProtocolTcp) {
    badInput(path + ": TCP flags are matched without tcp");
  }
  refuseForeignFamily(match, family, path);
  if (rule.target == Target::kDrop) {
    refuseNarrowedDrop(match, path);
  }
  rule.to = match.to;
  rule.protocol = match.protocol;
  rule.ports = match.ports;
  rule.icmpType = match.icmpType;
  rule.hopLimit = match.hopLimit;
  return rule;
}

FlowerFilter readFilter(const Json& value, const std::string& path) {
  ObjectReader reader(value, path);
  FlowerFilter filter;
  const auto pref = asInteger(reader.required("pref"), reader.pathOf("pref"), 0,
                              std::numeric_limits<std::uint64_t>::max());
  if (pref < kFirstPref || pref > kLastPref) {
    untouchable(reader.pathOf("pref") + " is " + std::to_string(pref) + ", outside " +
                std::to_string(kFirstPref) + ".." + std::to_string(kLastPref));
  }
  filter.pref = static_cast<std::uint16_t>(pref);
  filter.handle = readNumber<std::uint32_t>(reader.required("handle"), reader.pathOf("handle"));
  if (filter.handle == 0) {
    untouchable(reader.pathOf("handle") + " is 0, which lets the kernel choose");
  }
  filter.protocol =
      readWord(kEtherTypeWords, reader.required("protocol"), reader.pathOf("protocol"));
  filter.action = readWord(kActionWords, reader.required("action"), reader.pathOf("action"));
  filter.why = asText(reader.required("why"), reader.pathOf("why"));
  const Match match = readMatch(reader, kFlowerProtocolWords, "ipProtocol", path);
  reader.finish();

  if (filter.protocol == EtherType::kIpv4 || filter.protocol == EtherType::kIpv6) {
    refuseForeignFamily(match, filter.protocol == EtherType::kIpv4 ? Family::kV4 : Family::kV6,
                        path);
  } else if (match.to || match.narrowsBeyondDestination()) {
    badInput(path + ": a destination, protocol or port is matched in a frame that is not IP");
  }
  if (filter.action == FilterAction::kDrop) {
    refuseNarrowedDrop(match, path);
  }
  filter.ipProtocol = match.protocol;
  filter.to = match.to;
  filter.ports = match.ports;
  filter.icmpType = match.icmpType;
  filter.hopLimit = match.hopLimit;
  return filter;
}

// Within one pref the kernel keeps no order between masks, holds one protocol, and refuses a handle
// or a match that it has already.
void checkPref(std::vector<const FlowerFilter*> group) {
  const std::string name = "plan.flower: pref " + std::to_string(group.front()->pref);
  if (group.size() == 1) {
    return;
  }
  for (const FlowerFilter* filter : group) {
    if (filter->protocol != group.front()->protocol) {
      untouchable(name + " holds two protocols");
    }
    if (filter->action != FilterAction::kDrop) {
      untouchable(name + " holds a pass among other filters, and their order would not be defined");
    }
  }
  const auto refuseRepeat = [&](auto key, const char* problem) {
    std::sort(group.begin(), group.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
    const auto repeat = std::adjacent_find(group.begin(), group.end(),
                                           [&](auto* a, auto* b) { return key(a) == key(b); });
    if (repeat != group.end()) {
      untouchable(name + problem + (*repeat)->why);
    }
  };
  refuseRepeat([](const FlowerFilter* filter) { return filter->handle; },
               " holds a handle twice: ");
  // Drops carry their destination alone, see refuseNarrowedDrop().
  refuseRepeat([](const FlowerFilter* filter) { return filter->to; }, " holds a match twice: ");
}

void checkPrefs(const std::vector<FlowerFilter>& filters) {
  std::vector<const FlowerFilter*> group;
  for (const FlowerFilter& filter : filters) {
    if (!group.empty() && filter.pref != group.front()->pref) {
      if (filter.pref < group.front()->pref) {
        untouchable("plan.flower: pref " + std::to_string(filter.pref) + " stands after pref " +
                    std::to_string(group.front()->pref) + ", prefs must ascend");
      }
      checkPref(std::move(group));
      group.clear();
    }
    group.push_back(&filter);
  }
  if (!group.empty()) {
    checkPref(std::move(group));
  }
}

// The lists that a large policy makes long, read while the document is.
struct LongLists {
  Plan::Iptables iptables;
  std::vector<FlowerFilter> flower;
};

// `text` as a document, but for these lists, which are left empty in it.
Json parsePlan(std::string_view text, LongLists& lists) {
  const auto place = [](const char* list, std::size_t index) {
    return list + std::to_string(index) + "]";
  };
  const std::array<StreamedList, 3> streamed{{
      {"iptables.v4",
       [&](const Json& rule, std::size_t index) {
         lists.iptables.v4.push_back(
             readRule(rule, Family::kV4, place("plan.iptables.v4[", index)));
       }},
      {"iptables.v6",
       [&](const Json& rule, std::size_t index) {
         lists.iptables.v6.push_back(
             readRule(rule, Family::kV6, place("plan.iptables.v6[", index)));
       }},
      {"flower",
       [&](const Json& filter, std::size_t index) {
         lists.flower.push_back(readFilter(filter, place("plan.flower[", index)));
       }},
  }};
  return parseDocument(text, "plan", kMaxPlanBytes, streamed);
}

void checkIptables(const Json& value) {
  ObjectReader reader(value, "plan.iptables");
  static_cast<void>(asArray(reader.required("v4"), reader.pathOf("v4")));
  static_cast<void>(asArray(reader.required("v6"), reader.pathOf("v6")));
  reader.finish();
}

const std::string& readDigest(const Json& value, const std::string& path) {
  const std::string& digest = asText(value, path);
  if (!isSha256Hex(digest)) {
    badInput(path + " is \"" + digest + "\", expected 64 lower-case hex digits");
  }
  return digest;
}

// Whether `text` is laid out as planText() lays it out, its digest first, and is what the digest
// was taken of, byte for byte.
bool holdsItsDigest(std::string_view text) {
  constexpr std::string_view kStart = R"({"digest":")";
  constexpr std::string_view kEnd = R"(",)";
  constexpr std::size_t kRest = kStart.size() + 64 + kEnd.size();
  if (!text.starts_with(kStart) || text.size() < kRest ||
      text.substr(kRest - kEnd.size(), kEnd.size()) != kEnd) {
    return false;
  }
  Sha256 hash;
  hash.update("{");
  hash.update(text.substr(kRest, text.find_last_not_of('\n') + 1 - kRest));
  return hash.hex() == text.substr(kStart.size(), 64);
}

// Of a text in any other layout.
void checkDigest(Json document) {
  ObjectReader reader(document, "plan");
  const std::string expected = readDigest(reader.required("digest"), reader.pathOf("digest"));
  document.erase("digest");
  const std::string found = sha256Hex(canonicalText(document));
  if (found != expected) {
    badInput("plan.digest is " + expected + ", but the plan's own digest is " + found);
  }
}

}  // namespace

PlanDocument readPlanDocument(std::string_view text) {
  // Before anything is interpreted: a text that was changed on its way is no plan, whatever it says
  // now.
  if (!holdsItsDigest(text)) {
    checkDigest(parseDocument(text, "plan", kMaxPlanBytes));
  }
  LongLists lists;
  const Json document = parsePlan(text, lists);

  ObjectReader reader(document, "plan");
  PlanDocument result;
  result.digest = readDigest(reader.required("digest"), reader.pathOf("digest"));
  static_cast<void>(
      asInteger(reader.required("version"), reader.pathOf("version"), kPlanVersion, kPlanVersion));
  Plan& plan = result.plan;
  plan.policyDigest = readDigest(reader.required("policy"), reader.pathOf("policy"));
  plan.link = readLink(reader.required("link"), reader.pathOf("link"));
  if (const Json* iptables = reader.optional("iptables")) {
    checkIptables(*iptables);
    plan.iptables = std::move(lists.iptables);
  }
  if (const Json* flower = reader.optional("flower")) {
    static_cast<void>(asArray(*flower, reader.pathOf("flower")));
    checkPrefs(lists.flower);
    plan.flower = std::move(lists.flower);
  }
  if (const Json* netdev = reader.optional("netdev")) {
    plan.netdev = readNetdevRules(*netdev, plan.link, reader.pathOf("netdev"));
  }
  reader.finish();
  if (plan.ruleCount() == 0) {
    throw Failure(ExitCode::kEmptyPlan, "the plan holds no rule");
  }
  return result;
}

Plan readPlan(std::string_view text) { return readPlanDocument(text).plan; }

}  // namespace vethgate
