// A policy put into words: every rule, in order, with its reason.
#include "docker/explain/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "render/rules.hpp"

namespace vethgate::docker {
namespace {

using testing::HasSubstr;

constexpr const char* kPolicy = R"({"version": 1, "deny": ["10.0.0.0/8"],
  "allow": [{"to": "10.1.2.3", "protocol": "tcp", "ports": "49200-49299", "why": "the proxy"}],
  "resolvers": ["192.0.2.53"], "layers": ["iptables", "flower"]})";

TEST(Explain, TableHasALineForEachRuleInOrder) {
  const Policy policy = readPolicy(std::string_view(kPolicy));
  const std::string text = explainText(kPolicy);
  EXPECT_THAT(text, HasSubstr("policy  " + policy.digest + "\nlayers  iptables flower\n\n"));
  const std::size_t begin = text.find("\n\n") + 2;
  const std::size_t end = text.find("\n\n", begin);
  ASSERT_NE(end, std::string::npos);
  EXPECT_THAT(text.substr(end), HasSubstr("establish denies besides: 0.0.0.0/8, this host's"));
  const std::string table = text.substr(begin, end + 1 - begin);
  const auto lines = std::count(table.begin(), table.end(), '\n');
  EXPECT_EQ(static_cast<std::size_t>(lines), orderedRules(policy).size() + 1);
  const std::size_t metadata = table.find("169.254.169.254");
  const std::size_t proxy = table.find("10.1.2.3 ");
  const std::size_t denied = table.find("10.0.0.0/8");
  ASSERT_NE(denied, std::string::npos);
  EXPECT_LT(metadata, proxy);
  EXPECT_LT(proxy, denied);
  const std::string line = table.substr(table.rfind('\n', proxy) + 1,
                                        table.find('\n', proxy) - table.rfind('\n', proxy) - 1);
  EXPECT_THAT(line, testing::ContainsRegex(
                        "IPv4 +pass +10\\.1\\.2\\.3 +tcp ports 49200-49299 +the proxy$"));
}

TEST(Explain, DocumentHasTheSameRules) {
  const Policy policy = readPolicy(std::string_view(kPolicy));
  const Json document = Json::parse(explainJson(kPolicy));
  EXPECT_EQ(document.at("policy"), policy.digest);
  EXPECT_EQ(document.at("layers"), Json({"iptables", "flower"}));
  const std::vector<Rule> rules = orderedRules(policy);
  ASSERT_EQ(document.at("rules").size(), rules.size());
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Json& shown = document.at("rules").at(i);
    EXPECT_EQ(shown.at("why"), rules[i].why);
    EXPECT_EQ(shown.at("to"), rules[i].to ? Json(rules[i].to->text()) : Json(nullptr));
    EXPECT_EQ(shown.at("ports"), rules[i].ports ? Json(rules[i].ports->text()) : Json(nullptr));
    EXPECT_EQ(shown.at("family"), rules[i].family == Family::kV4 ? "IPv4" : "IPv6");
  }
  // Neighbour discovery is the rule that matches on what has no field of its own.
  EXPECT_THAT(document.dump(), HasSubstr(R"("match":"type 135 hop limit 255")"));
}

TEST(Explain, LogRulesSaySo) {
  EXPECT_THAT(explainText(R"({"version": 1, "log": {"rate": "6/minute", "burst": 12}})"),
              testing::ContainsRegex("IPv4 +log +anywhere +tcp new connec"));
  EXPECT_THAT(explainText(R"({"version": 1})"), testing::Not(HasSubstr(" log ")));
}

constexpr const char* kHostPolicy = R"({"version": 1, "deny": ["private"], "allow": [
  {"to": "172.17.0.1", "protocol": "tcp", "ports": "80", "why": "an address"},
  {"to": "2001:db8::1", "protocol": "tcp", "ports": "80", "why": "of the other family"},
  {"to": "host-gateway", "protocol": "tcp", "ports": "80", "why": "the host"},
  {"to": "10.0.0.1", "protocol": "udp", "ports": "80", "why": "another address"}]})";

TEST(Explain, HostIsShownByTheWordThatStandsForIt) {
  const std::string text = explainText(kHostPolicy);
  EXPECT_THAT(text, HasSubstr("policy  its digest is known once the host is measured\n"));
  EXPECT_THAT(text, testing::ContainsRegex("IPv4 +pass +host-gateway \\(the host, measured at "
                                           "establish\\) +tcp port 80 +the host\n"));
  // The address that stands in for it is shown only where the policy itself names it.
  EXPECT_THAT(text,
              testing::ContainsRegex("IPv4 +pass +172\\.17\\.0\\.1 +tcp port 80 +an address"));
  EXPECT_EQ(text.find("172.17.0.1"), text.rfind("172.17.0.1"));

  const Json document = Json::parse(explainJson(kHostPolicy));
  EXPECT_EQ(document.at("policy"), nullptr);
  std::map<std::string, std::string> destinations;
  for (const Json& rule : document.at("rules")) {
    if (rule.at("action") == "pass" && rule.at("to").is_string()) {
      destinations[rule.at("why")] = rule.at("to");
    }
  }
  EXPECT_EQ(destinations.at("the host"), "host-gateway");
  EXPECT_EQ(destinations.at("an address"), "172.17.0.1/32");
  EXPECT_EQ(destinations.at("another address"), "10.0.0.1/32");
  EXPECT_EQ(destinations.at("of the other family"), "2001:db8::1/128");
}

TEST(Explain, WordStandsForTheDestinationOfAnExceptionAlone) {
  EXPECT_THROW((void)explainText(R"({"version": 1, "deny": ["host-gateway"]})"), Failure);
  EXPECT_THROW((void)explainText(R"({"version": 1, "resolvers": ["host-gateway"]})"), Failure);
  EXPECT_THROW((void)explainText(R"({"version": 1, "allow": "host-gateway"})"), Failure);
}

TEST(Explain, RefusesAnInertException) {
  const auto policy = [](const char* to) {
    return std::string(
               R"({"version": 1, "deny": ["private"], "default": "pass", "allow": [{"to": ")") +
           to + R"(", "protocol": "tcp", "ports": "80"}]})";
  };
  EXPECT_NO_THROW((void)explainText(policy("10.1.2.3")));
  EXPECT_THROW((void)explainText(policy("169.254.169.254")), Failure);
}

}  // namespace
}  // namespace vethgate::docker
