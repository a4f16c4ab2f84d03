// Writing of the plan document. It must not know how a plan is read, rendered or applied.
#include "render/plan.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "render/plan_words.hpp"

namespace vethgate {
namespace {

// Writes one object in canonicalText()'s form without building it first: a plan of 10,000 prefixes
// is some 30,000 objects. The keys must be given in ascending order; a test holds the two forms
// equal.
class ObjectWriter {
 public:
  explicit ObjectWriter(std::string& out) : out_(out) { out_ += '{'; }
  ~ObjectWriter() { out_ += '}'; }
  ObjectWriter(const ObjectWriter&) = delete;
  ObjectWriter& operator=(const ObjectWriter&) = delete;

  std::string& key(std::string_view name) {
    if (out_.back() != '{') {
      out_ += ',';
    }
    out_ += '"';
    out_ += name;
    out_ += "\":";
    return out_;
  }
  void number(std::string_view name, std::uint64_t value) { key(name) += std::to_string(value); }
  // For text of our own making, which needs no escapes.
  void plain(std::string_view name, std::string_view text) {
    std::string& out = key(name);
    out += '"';
    out += text;
    out += '"';
  }
  void text(std::string_view name, const std::string& value) { key(name) += Json(value).dump(); }

 private:
  std::string& out_;
};

template <class Table, class Value>
std::string_view known(const Table& table, Value value) {
  const auto word = wordOf(table, value);
  if (!word) {
    throw Failure(ExitCode::kDefect, "a rule holds a value that the plan has no word for: " +
                                         std::to_string(static_cast<unsigned>(value)));
  }
  return *word;
}

void write(std::string& out, const RateLimit& limit) {
  ObjectWriter object(out);
  object.number("burst", limit.burst);
  object.number("rate", limit.rate);
  object.number("unit", limit.unit);
}

void write(std::string& out, const IptablesRule& rule) {
  ObjectWriter object(out);
  if (rule.hopLimit) {
    object.number("hopLimit", *rule.hopLimit);
  }
  if (rule.icmpType) {
    object.number("icmpType", *rule.icmpType);
  }
  if (rule.limit) {
    write(object.key("limit"), *rule.limit);
  }
  if (!rule.logPrefix.empty()) {
    object.text("logPrefix", rule.logPrefix);
  }
  if (rule.ports) {
    object.plain("ports", rule.ports->text());
  }
  if (rule.protocol) {
    object.plain("protocol", protocolWord(kIptablesProtocolWords, *rule.protocol));
  }
  if (rule.syn) {
    object.key("syn") += "true";
  }
  object.plain("target", known(kTargetWords, rule.target));
  if (rule.to) {
    object.plain("to", rule.to->text());
  }
  object.text("why", rule.why);
}

void write(std::string& out, const FlowerFilter& filter) {
  ObjectWriter object(out);
  object.plain("action", known(kActionWords, filter.action));
  object.number("handle", filter.handle);
  if (filter.hopLimit) {
    object.number("hopLimit", *filter.hopLimit);
  }
  if (filter.icmpType) {
    object.number("icmpType", *filter.icmpType);
  }
  if (filter.ipProtocol) {
    object.plain("ipProtocol", protocolWord(kFlowerProtocolWords, *filter.ipProtocol));
  }
  if (filter.ports) {
    object.plain("ports", filter.ports->text());
  }
  object.number("pref", filter.pref);
  object.plain("protocol", known(kEtherTypeWords, filter.protocol));
  if (filter.to) {
    object.plain("to", filter.to->text());
  }
  object.text("why", filter.why);
}

void write(std::string& out, const ArpSender& sender) {
  ObjectWriter object(out);
  object.plain("address", sender.address.text());
  object.plain("mac", macText(sender.mac));
}

void write(std::string& out, const std::vector<Prefix>& to) {
  out += '[';
  for (const Prefix& prefix : to) {
    out += out.back() == '[' ? "\"" : ",\"";
    out += prefix.text();
    out += '"';
  }
  out += ']';
}

void write(std::string& out, const NetdevRule& rule) {
  ObjectWriter object(out);
  object.plain("action", known(kActionWords, rule.action));
  if (rule.hopLimit) {
    object.number("hopLimit", *rule.hopLimit);
  }
  if (rule.icmpType) {
    object.number("icmpType", *rule.icmpType);
  }
  if (rule.ipProtocol) {
    object.plain("ipProtocol", protocolWord(kFlowerProtocolWords, *rule.ipProtocol));
  }
  if (rule.ports) {
    object.plain("ports", rule.ports->text());
  }
  object.plain("protocol", known(kEtherTypeWords, rule.protocol));
  if (rule.sender) {
    write(object.key("sender"), *rule.sender);
  }
  if (!rule.set.empty()) {
    object.plain("set", rule.set);
  }
  if (!rule.to.empty()) {
    write(object.key("to"), rule.to);
  }
  object.text("why", rule.why);
}

template <class Rule>
void writeList(std::string& out, const std::vector<Rule>& rules) {
  out += '[';
  for (const Rule& rule : rules) {
    if (out.back() != '[') {
      out += ',';
    }
    write(out, rule);
  }
  out += ']';
}

// The document without its digest.
std::string undigestedText(const Plan& plan) {
  std::string out;
  {
    ObjectWriter object(out);
    if (plan.flower) {
      writeList(object.key("flower"), *plan.flower);
    }
    if (plan.iptables) {
      ObjectWriter families(object.key("iptables"));
      writeList(families.key("v4"), plan.iptables->v4);
      writeList(families.key("v6"), plan.iptables->v6);
    }
    object.key("link") += canonicalText(linkDocument(plan.link));
    if (plan.netdev) {
      writeList(object.key("netdev"), *plan.netdev);
    }
    object.text("policy", plan.policyDigest);
    object.number("version", kPlanVersion);
  }
  return out;
}

}  // namespace

bool isSetName(std::string_view name, Family family) {
  constexpr std::size_t kMaxLength = 15;
  const std::string_view start = family == Family::kV4 ? "v4_" : "v6_";
  const std::string_view number = name.substr(std::min(start.size(), name.size()));
  return name.substr(0, start.size()) == start && !number.empty() && number.front() != '0' &&
         name.size() <= kMaxLength &&
         number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::size_t Plan::ruleCount() const noexcept {
  return (iptables ? iptables->v4.size() + iptables->v6.size() : 0) +
         (flower ? flower->size() : 0) + (netdev ? netdev->size() : 0);
}

std::string planText(const Plan& plan) {
  const std::string rest = undigestedText(plan);
  // "digest" sorts before every other key, so this is the canonical form of the whole.
  std::string text = R"({"digest":")" + sha256Hex(rest) + R"(",)";
  text.append(rest, 1);
  return text;
}

std::string planDigest(const Plan& plan) { return sha256Hex(undigestedText(plan)); }

}  // namespace vethgate
