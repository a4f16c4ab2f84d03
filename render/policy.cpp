// Reading of the policy document. It must not know how rules are ordered or written.
#include "render/policy.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "render/known_prefixes.hpp"
#include "render/prefix_set.hpp"
#include "render/rate_limit.hpp"

namespace vethgate {
namespace {

std::string itemPath(const std::string& list, std::size_t index) {
  return list + "[" + std::to_string(index) + "]";
}

const char* nameOf(Transport transport) { return transport == Transport::kTcp ? "tcp" : "udp"; }

Transport readTransport(const Json& value, const std::string& path) {
  const std::string& text = asText(value, path);
  if (text == "tcp") {
    return Transport::kTcp;
  }
  if (text == "udp") {
    return Transport::kUdp;
  }
  badInput(path + " is \"" + text + R"(", expected "tcp" or "udp")");
}

std::string readWhy(ObjectReader& reader) {
  const Json* why = reader.optional("why");
  return why == nullptr ? std::string() : asText(*why, reader.pathOf("why"));
}

struct Unit {
  std::string_view name;
  std::uint64_t seconds;
};
constexpr std::array kUnits{Unit{"second", 1}, Unit{"minute", 60}, Unit{"hour", 3'600},
                            Unit{"day", 86'400}};

std::string rateText(const RateLimit& limit) {
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(),
                                  [&](const Unit& u) { return u.seconds == limit.unit; });
  return std::to_string(limit.rate) + "/" + std::string(unit->name);
}

RateLimit readLog(const Json& value, const std::string& path) {
  ObjectReader reader(value, path);
  const std::string ratePath = reader.pathOf("rate");
  const std::string& rate = asText(reader.required("rate"), ratePath);
  const auto burst = static_cast<std::uint32_t>(
      asInteger(reader.required("burst"), reader.pathOf("burst"), 1, kMaxBurst));
  reader.finish();

  const std::size_t slash = rate.find('/');
  const std::string_view digits = std::string_view(rate).substr(0, slash);
  const std::string_view name =
      slash == std::string::npos ? std::string_view() : std::string_view(rate).substr(slash + 1);
  const auto* unit =
      std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) { return u.name == name; });
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  if (unit == kUnits.end() || digits.empty() || digits.front() == '0' || error != std::errc{} ||
      end != digits.data() + digits.size()) {
    badInput(ratePath + " is \"" + rate +
             R"(", expected "N/second", "N/minute", "N/hour" or "N/day" with N of 1 or more)");
  }
  const std::optional<RateLimit> limit = carriedLimit(count, unit->seconds, burst);
  if (!limit) {
    badInput(ratePath + " is \"" + rate + "\", which iptables would round to another rate");
  }
  return *limit;
}

// The addresses that no exception may reach: nothing of the job's business is there, and whoever
// can name them in a policy by mistake hands out the host's credentials or its local services.
void refuseReserved(const Prefix& to, const std::string& path) {
  const auto refuse = [&](const Prefix& reserved, const std::string& how) {
    badInput(path + " is " + to.shortText() + ", which " + how + reserved.shortText() +
             "; no exception may reach that");
  };
  const auto check = [&](const Prefix& candidate, const std::string& how) {
    for (const Prefix& host : metadataHosts()) {
      if (candidate.overlaps(host)) {
        refuse(host, how + "the metadata address ");
      }
    }
    const Prefix& loopback = loopbackOf(candidate.family());
    if (candidate.overlaps(loopback)) {
      refuse(loopback, how + "loopback ");
    }
  };
  check(to, "touches ");
  for (const EmbeddedV4& embedded : embeddedV4(to)) {
    check(embedded.prefix, "as " + std::string(embedded.spelling) + " touches ");
  }
}

// A socket that is told ::ffff:10.0.0.1 sends an IPv4 packet to 10.0.0.1, which no rule on IPv6
// sees (RFC 4291 2.5.5.2). The whole prefix stands for what is on the wire as IPv6.
void refuseMapped(const Prefix& prefix, const std::string& path) {
  if (mappedPrefix().contains(prefix) && prefix != mappedPrefix()) {
    badInput(path + " is " + prefix.shortText() +
             ", an IPv4 address in IPv6 spelling; write it as IPv4");
  }
}

Address readResolver(const Json& value, const std::string& path) {
  struct Unusable {
    Prefix prefix;
    const char* what;
  };
  static const std::array unusable{
      Unusable{Prefix::parse("0.0.0.0/8", "resolver"), "no address of a host"},
      Unusable{Prefix::parse("224.0.0.0/4", "resolver"), "multicast"},
      Unusable{Prefix::parse("240.0.0.0/4", "resolver"), "reserved or broadcast"},
      Unusable{Prefix::parse("::", "resolver"), "no address of a host"},
      Unusable{Prefix::parse("ff00::/8", "resolver"), "multicast"},
  };
  const std::string& text = asText(value, path);
  const std::optional<Address> address = Address::parse(text);
  if (!address) {
    badInput(path + " is \"" + text + "\", expected one literal IPv4 or IPv6 address");
  }
  const Prefix host = Prefix::host(*address);
  for (const Unusable& range : unusable) {
    if (range.prefix.contains(host)) {
      badInput(path + " is " + address->text() + ", which is " + range.what);
    }
  }
  refuseReserved(host, path);
  refuseMapped(host, path);
  return *address;
}

// An entry of `protocols`: IANA's protocol number.
std::uint8_t readProtocol(const Json& value, const std::string& path) {
  constexpr std::array<std::uint8_t, 4> kAlways{kProtocolIcmp, kProtocolTcp, kProtocolUdp,
                                                kProtocolIcmpV6};
  // Hop-by-hop, routing, fragment, none, destination options (RFC 8200 4): the kernel looks for the
  // protocol behind them.
  constexpr std::array<std::uint8_t, 5> kExtensionHeaders{0, 43, 44, 59, 60};
  const auto protocol = static_cast<std::uint8_t>(asInteger(value, path, 0, 255));
  const auto among = [protocol](const auto& list) {
    return std::find(list.begin(), list.end(), protocol) != list.end();
  };
  if (among(kAlways)) {
    badInput(path + " is " + std::to_string(protocol) +
             ", but tcp, udp and each family's icmp pass by default and the other family's never");
  }
  if (among(kExtensionHeaders)) {
    badInput(path + " is " + std::to_string(protocol) +
             ", which is an IPv6 extension header and no protocol");
  }
  return protocol;
}

// Reads one document into a policy, and beside it the canonical document that the digest is taken
// of.
class PolicyReader {
 public:
  explicit PolicyReader(const Json& document) : reader_(document, "policy") {}

  Policy read() && {
    static_cast<void>(asInteger(reader_.required("version"), reader_.pathOf("version"),
                                kPolicyVersion, kPolicyVersion));
    canonical_["version"] = kPolicyVersion;
    countEntries();
    readDeny();
    readAllow();
    readResolvers();
    readDefault();
    readProtocols();
    readLogging();
    readLayers();
    reader_.finish();
    policy_.digest = sha256Hex(canonicalText(canonical_));
    return std::move(policy_);
  }

 private:
  // Before anything of that size is built.
  void countEntries() {
    std::size_t entries = 0;
    for (const char* key : {"deny", "allow", "resolvers", "default", "protocols"}) {
      const Json* list = reader_.optional(key);
      entries += list != nullptr && list->is_array() ? list->size() : 0;
    }
    if (entries > kMaxPolicyEntries) {
      badInput("policy holds " + std::to_string(entries) + " entries, at most " +
               std::to_string(kMaxPolicyEntries) + " are accepted");
    }
  }

  void denyPrefix(const Prefix& prefix, const char* why) {
    if (denied_.insert(prefix)) {
      policy_.deny.push_back({prefix, why});
    }
  }

  void readDeny() {
    const Json standard = {"private", "transition"};
    const Json* given = reader_.optional("deny");
    const std::string path = reader_.pathOf("deny");
    const Json& list = given == nullptr ? standard : asArray(*given, path);
    policy_.denyWords.given = given != nullptr;
    for (const Prefix& host : metadataHosts()) {
      denied_.insert(host);
    }
    Json& canonical = canonical_["deny"] = Json::array();
    for (const Json& entry : list) {
      const std::string place = itemPath(path, canonical.size());
      const std::string& text = asText(entry, place);
      if (text == "private" || text == "transition") {
        for (const Prefix& prefix : text == "private" ? privatePrefixes() : transitionPrefixes()) {
          denyPrefix(prefix, text == "private" ? "private" : "transition");
        }
        if (given != nullptr) {
          (text == "private" ? policy_.denyWords.privateSet : policy_.denyWords.transitionSet) =
              true;
        }
        canonical.push_back(text);
        continue;
      }
      const Prefix prefix = Prefix::parse(text, place);
      if (loopbackOf(prefix.family()).contains(prefix)) {
        badInput(place + " is " + prefix.shortText() + ", but loopback is never denied");
      }
      refuseMapped(prefix, place);
      denyPrefix(prefix, "denied");
      policy_.denyWords.prefixes.push_back(prefix);
      canonical.push_back(prefix.text());
    }
  }

  void readAllow() {
    Json& canonical = canonical_["allow"] = Json::array();
    const Json* given = reader_.optional("allow");
    if (given == nullptr) {
      return;
    }
    const std::string path = reader_.pathOf("allow");
    for (const Json& entry : asArray(*given, path)) {
      ObjectReader reader(entry, itemPath(path, canonical.size()));
      const std::string toPath = reader.pathOf("to");
      const Prefix to = Prefix::parse(asText(reader.required("to"), toPath), toPath);
      const Transport protocol =
          readTransport(reader.required("protocol"), reader.pathOf("protocol"));
      const PortRange ports = readPorts(reader);
      std::string why = readWhy(reader);
      reader.finish();

      refuseReserved(to, toPath);
      refuseMapped(to, toPath);
      if (const auto narrower = denied_.strictlyInside(to)) {
        badInput(toPath + " is " + to.text() + ", which is wider than the denied prefix " +
                 narrower->text() + " and would open more than it says");
      }
      canonical.push_back({{"to", to.text()},
                           {"protocol", nameOf(protocol)},
                           {"ports", ports.text()},
                           {"why", why}});
      policy_.allow.push_back({to, protocol, ports, std::move(why)});
    }
  }

  static PortRange readPorts(ObjectReader& reader) {
    const std::string path = reader.pathOf("ports");
    return PortRange::parse(asText(reader.required("ports"), path), path);
  }

  void readResolvers() {
    Json& canonical = canonical_["resolvers"] = Json::array();
    const Json* given = reader_.optional("resolvers");
    if (given == nullptr) {
      return;
    }
    const std::string path = reader_.pathOf("resolvers");
    std::set<Address> seen;
    for (const Json& entry : asArray(*given, path)) {
      const Address resolver = readResolver(entry, itemPath(path, canonical.size()));
      canonical.push_back(resolver.text());
      if (seen.insert(resolver).second) {
        policy_.resolvers.push_back(resolver);
      }
    }
  }

  void readDefault() {
    const Json* given = reader_.optional("default");
    const std::string path = reader_.pathOf("default");
    if (given != nullptr && given->is_array()) {
      readDefaultList(*given, path);
      return;
    }
    const std::string word = given == nullptr ? "pass" : asText(*given, path);
    if (word != "pass" && word != "drop") {
      badInput(path + " is \"" + word + R"(", expected "pass", "drop" or a list)");
    }
    policy_.fallback = word == "pass" ? Policy::Default::kPass : Policy::Default::kDrop;
    canonical_["default"] = word;
  }

  void readDefaultList(const Json& list, const std::string& path) {
    if (list.empty()) {
      badInput(path + R"( is an empty list; write "drop" to let nothing pass)");
    }
    policy_.fallback = Policy::Default::kList;
    Json& canonical = canonical_["default"] = Json::array();
    for (const Json& entry : list) {
      ObjectReader reader(entry, itemPath(path, canonical.size()));
      const Transport protocol =
          readTransport(reader.required("protocol"), reader.pathOf("protocol"));
      const PortRange ports = readPorts(reader);
      std::string why = readWhy(reader);
      reader.finish();
      canonical.push_back({{"protocol", nameOf(protocol)}, {"ports", ports.text()}, {"why", why}});
      policy_.defaultPasses.push_back({protocol, ports, std::move(why)});
    }
  }

  void readProtocols() {
    Json& canonical = canonical_["protocols"] = Json::array();
    const Json* given = reader_.optional("protocols");
    if (given == nullptr) {
      return;
    }
    const std::string path = reader_.pathOf("protocols");
    for (const Json& entry : asArray(*given, path)) {
      const std::string place = itemPath(path, canonical.size());
      const std::uint8_t protocol = readProtocol(entry, place);
      if (policy_.fallback != Policy::Default::kPass) {
        badInput(place + " is " + std::to_string(protocol) +
                 R"(, which would never leave: "default" is not "pass")");
      }
      if (std::find(policy_.protocols.begin(), policy_.protocols.end(), protocol) !=
          policy_.protocols.end()) {
        badInput(place + " is " + std::to_string(protocol) + " a second time");
      }
      canonical.push_back(protocol);
      policy_.protocols.push_back(protocol);
    }
  }

  void readLogging() {
    const Json* given = reader_.optional("log");
    const std::string path = reader_.pathOf("log");
    canonical_["log"] = false;
    if (given == nullptr || (given->is_boolean() && !given->get<bool>())) {
      return;
    }
    if (given->is_boolean()) {
      badInput(path + R"( is true; a rate is needed, such as {"rate": "6/minute", "burst": 12})");
    }
    policy_.log = readLog(*given, path);
    canonical_["log"] = {{"rate", rateText(*policy_.log)}, {"burst", policy_.log->burst}};
  }

  void readLayers() {
    const Json* given = reader_.optional("layers");
    if (given != nullptr) {
      const std::string path = reader_.pathOf("layers");
      policy_.iptables = policy_.flower = policy_.netdev = false;
      std::size_t index = 0;
      for (const Json& entry : asArray(*given, path)) {
        readLayer(entry, itemPath(path, index++));
      }
      if (index == 0) {
        badInput(path + " is empty; a policy without a layer contains nothing");
      }
    }
    Json& canonical = canonical_["layers"] = Json::array();
    if (policy_.iptables) {
      canonical.push_back("iptables");
    }
    if (policy_.flower) {
      canonical.push_back("flower");
    }
    if (policy_.netdev) {
      canonical.push_back("netdev");
    }
  }

  void readLayer(const Json& entry, const std::string& path) {
    const std::string& name = asText(entry, path);
    if (name != "iptables" && name != "flower" && name != "netdev") {
      badInput(path + " is \"" + name + R"(", expected "iptables", "flower" or "netdev")");
    }
    bool& layer = name == "iptables" ? policy_.iptables
                  : name == "flower" ? policy_.flower
                                     : policy_.netdev;
    if (std::exchange(layer, true)) {
      badInput(path + " names " + name + " a second time");
    }
  }

  ObjectReader reader_;
  PrefixSet denied_;  // metadata included
  Json canonical_ = Json::object();
  Policy policy_;
};

}  // namespace

Policy readPolicy(std::string_view text) { return readPolicy(parseDocument(text, "policy")); }

Policy readPolicy(const Json& document) { return PolicyReader(document).read(); }

}  // namespace vethgate
