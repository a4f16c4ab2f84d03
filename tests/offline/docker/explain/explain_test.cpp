// A policy put into words: every rule, in order, with its reason.
#include "docker/explain/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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
  const std::string text = explainText(policy);
  EXPECT_THAT(text, HasSubstr("policy  " + policy.digest + "\nlayers  iptables flower\n\n"));
  const std::string table = text.substr(text.find("\n\n") + 2);
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
  const Json document = Json::parse(explainJson(policy));
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
  const Policy policy =
      readPolicy(std::string_view(R"({"version": 1, "log": {"rate": "6/minute", "burst": 12}})"));
  EXPECT_THAT(explainText(policy), testing::ContainsRegex("IPv4 +log +anywhere +tcp new connec"));
  EXPECT_THAT(explainText(readPolicy(std::string_view(R"({"version": 1})"))),
              testing::Not(HasSubstr(" log ")));
}

TEST(Explain, RefusesAnInertException) {
  const auto policy = [](const char* to) {
    return readPolicy(std::string_view(
        std::string(
            R"({"version": 1, "deny": ["private"], "default": "pass", "allow": [{"to": ")") +
        to + R"(", "protocol": "tcp", "ports": "80"}]})"));
  };
  EXPECT_NO_THROW((void)explainText(policy("10.1.2.3")));
  EXPECT_THROW((void)policy("169.254.169.254"), Failure);
}

}  // namespace
}  // namespace vethgate::docker
