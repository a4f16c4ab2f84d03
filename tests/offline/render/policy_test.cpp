// The policy document: defaults, every refusal with its neighbour that is accepted, and the digest.
#include "render/policy.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "render/known_prefixes.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

const Json kAllow = {{"to", "172.31.0.1"}, {"protocol", "tcp"}, {"ports", "443"}};

Json allowing(const std::string& to) {
  Json entry = kAllow;
  entry["to"] = to;
  return {{"allow", {entry}}};
}

TEST(PolicyDocument, hasTheContractsDefaults) {
  const Policy policy = policyWith(Json::object());
  EXPECT_EQ(policy.fallback, Policy::Default::kPass);
  EXPECT_EQ(policy.deny.size(), privatePrefixes().size() + transitionPrefixes().size());
  EXPECT_TRUE(policy.allow.empty());
  EXPECT_TRUE(policy.resolvers.empty());
  EXPECT_FALSE(policy.log);
  EXPECT_TRUE(policy.iptables);
  EXPECT_TRUE(policy.flower);
}

TEST(PolicyDocument, isReadFieldByField) {
  const Policy policy = policyWith(
      {{"default", {{{"protocol", "udp"}, {"ports", "443"}, {"why", "QUIC"}}}},
       {"deny", {"203.0.113.0/24", "private"}},
       {"allow", {{{"to", "10.0.0.0/24"}, {"protocol", "udp"}, {"ports", "1-2"}, {"why", "x"}}}},
       {"resolvers", {"192.0.2.53"}},
       {"log", {{"rate", "60/minute"}, {"burst", 12}}},
       {"layers", {"flower"}}});
  EXPECT_EQ(policy.fallback, Policy::Default::kList);
  ASSERT_EQ(policy.defaultPasses.size(), 1U);
  EXPECT_EQ(policy.defaultPasses[0].protocol, Transport::kUdp);
  EXPECT_EQ(policy.defaultPasses[0].ports, PortRange(443, 443));
  EXPECT_EQ(policy.defaultPasses[0].why, "QUIC");
  EXPECT_EQ(policy.deny[0].prefix.text(), "203.0.113.0/24");
  EXPECT_EQ(policy.deny[0].why, "denied");
  EXPECT_EQ(policy.deny[1].why, "private");
  ASSERT_EQ(policy.allow.size(), 1U);
  EXPECT_EQ(policy.allow[0].to.text(), "10.0.0.0/24");
  EXPECT_EQ(policy.allow[0].protocol, Transport::kUdp);
  EXPECT_EQ(policy.allow[0].ports, PortRange(1, 2));
  EXPECT_EQ(policy.allow[0].why, "x");
  EXPECT_EQ(policy.resolvers[0].text(), "192.0.2.53");
  EXPECT_EQ(policy.log, (RateLimit{1, 1, 12}));
  EXPECT_FALSE(policy.iptables);
  EXPECT_TRUE(policy.flower);
}

struct Refused {
  Json members;
  const char* message;
};

void PrintTo(const Refused& refused, std::ostream* out) { *out << refused.members.dump(); }

class PolicyRefusal : public testing::TestWithParam<Refused> {};

TEST_P(PolicyRefusal, namesTheField) {
  expectRefusal(outcomeOf([] { static_cast<void>(policyWith(GetParam().members)); }),
                ExitCode::kBadInput, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Structure, PolicyRefusal,
    testing::Values(Refused{{{"version", 2}}, "policy.version"},
                    Refused{{{"version", 0}}, "policy.version"},
                    Refused{{{"version", "1"}}, "policy.version"},
                    Refused{{{"version", nullptr}}, "policy.version"},
                    Refused{{{"Deny", Json::array()}}, "\"Deny\" is unknown"},
                    Refused{{{"deny", "private"}}, "policy.deny must be a list"},
                    Refused{{{"deny", nullptr}}, "policy.deny must be a list"},
                    Refused{{{"deny", {1}}}, "policy.deny[0] must be a string"},
                    Refused{{{"deny", {"private", "publik"}}}, "policy.deny[1]"},
                    Refused{{{"deny", {"metadata"}}}, "policy.deny[0]"},
                    Refused{{{"deny", {"10.0.0.1/8"}}}, "policy.deny[0]"},
                    Refused{{{"deny", {std::string("10.0.0.0/8\0", 11)}}}, "policy.deny[0]"},
                    Refused{{{"deny", {std::string(201, '1')}}}, "at most 200"},
                    Refused{{{"allow", kAllow}}, "policy.allow must be a list"},
                    Refused{{{"allow", {"172.31.0.1"}}}, "policy.allow[0] must be an object"},
                    Refused{{{"resolvers", "192.0.2.53"}}, "policy.resolvers must be a list"},
                    Refused{{{"layers", Json::array()}}, "policy.layers is empty"},
                    Refused{{{"layers", {"flower", "flower"}}}, "policy.layers[1]"},
                    Refused{{{"layers", {"ebtables"}}}, "policy.layers[0]"},
                    Refused{{{"layers", "flower"}}, "policy.layers must be a list"},
                    Refused{{{"default", "open"}}, "policy.default"},
                    Refused{{{"default", true}}, "policy.default"},
                    Refused{{{"default", Json::array()}}, "policy.default is an empty list"},
                    Refused{{{"default", {"tcp"}}}, "policy.default[0] must be an object"},
                    Refused{{{"default", {{{"protocol", "tcp"}, {"ports", "443"}, {"to", "::"}}}}},
                            "\"to\" is unknown"},
                    Refused{{{"default", {{{"protocol", "tcp"}}}}}, "\"ports\" is missing"}));

INSTANTIATE_TEST_SUITE_P(
    Protocols, PolicyRefusal,
    testing::Values(Refused{{{"protocols", 47}}, "policy.protocols must be a list"},
                    Refused{{{"protocols", {"gre"}}}, "policy.protocols[0] must be an integer"},
                    Refused{{{"protocols", {47, 256}}}, "policy.protocols[1] is 256"},
                    Refused{{{"protocols", {-1}}}, "policy.protocols[0] is -1"},
                    Refused{{{"protocols", {47, 132, 47}}}, "policy.protocols[2] is 47 a second"},
                    Refused{{{"protocols", {0}}}, "extension header"},
                    Refused{{{"protocols", {43}}}, "extension header"},
                    Refused{{{"protocols", {44}}}, "extension header"},
                    Refused{{{"protocols", {59}}}, "extension header"},
                    Refused{{{"protocols", {60}}}, "extension header"},
                    Refused{{{"protocols", {1}}}, "pass by default"},
                    Refused{{{"protocols", {6}}}, "pass by default"},
                    Refused{{{"protocols", {17}}}, "pass by default"},
                    Refused{{{"protocols", {58}}}, "pass by default"},
                    Refused{{{"protocols", {47}}, {"default", "drop"}}, "would never leave"},
                    Refused{{{"protocols", {47}},
                             {"default", {{{"protocol", "tcp"}, {"ports", "443"}}}}},
                            "would never leave"}));

TEST(PolicyProtocols, areReadInOrder) {
  const Policy policy = policyWith({{"protocols", {47, 255, 2}}});
  EXPECT_EQ(policy.protocols, (std::vector<std::uint8_t>{47, 255, 2}));
  EXPECT_TRUE(policyWith({{"protocols", Json::array()}, {"default", "drop"}}).protocols.empty());
}

Json changed(const char* key, const Json& value) {
  Json entry = kAllow;
  entry[key] = value;
  return {{"allow", {kAllow, entry}}};
}

INSTANTIATE_TEST_SUITE_P(
    AllowFields, PolicyRefusal,
    testing::Values(
        Refused{changed("ports", 443), "policy.allow[1].ports must be a string"},
        Refused{changed("ports", "0"), "policy.allow[1].ports"},
        Refused{changed("ports", "53.7"), "policy.allow[1].ports"},
        Refused{changed("ports", "-1"), "policy.allow[1].ports"},
        Refused{changed("ports", "1 "), "policy.allow[1].ports"},
        Refused{changed("ports", "2-1"), "policy.allow[1].ports"},
        Refused{changed("ports", "65536"), "policy.allow[1].ports"},
        Refused{changed("protocol", "sctp"), "policy.allow[1].protocol"},
        Refused{changed("protocol", "TCP"), "policy.allow[1].protocol"},
        Refused{changed("protocol", 6), "policy.allow[1].protocol"},
        Refused{changed("to", "example.org"), "policy.allow[1].to"},
        Refused{changed("to", "10.0.0.1/24"), "policy.allow[1].to"},
        Refused{changed("why", "caf\xc3\xa9"), "policy.allow[1].why"},
        Refused{changed("why", "two\nlines"), "policy.allow[1].why"},
        Refused{changed("why", std::string(201, 'x')), "policy.allow[1].why"},
        Refused{changed("why", nullptr), "policy.allow[1].why"},
        Refused{changed("from", "10.0.0.1"), "\"from\" is unknown"},
        Refused{{{"allow", {{{"to", "10.0.0.1"}, {"protocol", "tcp"}}}}}, "\"ports\" is missing"},
        Refused{{{"allow", {{{"to", "10.0.0.1"}, {"ports", "1"}}}}}, "\"protocol\" is missing"},
        Refused{{{"allow", {{{"protocol", "tcp"}, {"ports", "1"}}}}}, "\"to\" is missing"}));

Json logging(const Json& rate, const Json& burst) {
  return {{"log", {{"rate", rate}, {"burst", burst}}}};
}

INSTANTIATE_TEST_SUITE_P(
    Log, PolicyRefusal,
    testing::Values(Refused{{{"log", true}}, "policy.log is true"},
                    Refused{{{"log", "6/minute"}}, "policy.log must be an object"},
                    Refused{{{"log", {{"rate", "6/minute"}}}}, "\"burst\" is missing"},
                    Refused{{{"log", {{"burst", 12}}}}, "\"rate\" is missing"},
                    Refused{logging("6/min", 12), "policy.log.rate"},
                    Refused{logging("6", 12), "policy.log.rate"},
                    Refused{logging("/minute", 12), "policy.log.rate"},
                    Refused{logging("0/minute", 12), "policy.log.rate"},
                    Refused{logging("06/minute", 12), "policy.log.rate"},
                    Refused{logging("-6/minute", 12), "policy.log.rate"},
                    Refused{logging("+6/minute", 12), "policy.log.rate"},
                    Refused{logging("6.5/minute", 12), "policy.log.rate"},
                    Refused{logging(" 6/minute", 12), "policy.log.rate"},
                    Refused{logging("6/minute ", 12), "policy.log.rate"},
                    Refused{logging("99999999999999999999/day", 12), "policy.log.rate"},
                    Refused{logging("199/second", 12), "would round"},
                    Refused{logging("10001/second", 12), "would round"},
                    Refused{logging(6, 12), "policy.log.rate"},
                    Refused{logging("6/minute", 0), "policy.log.burst"},
                    Refused{logging("6/minute", 10001), "policy.log.burst"},
                    Refused{logging("6/minute", -1), "policy.log.burst"},
                    Refused{logging("6/minute", "12"), "policy.log.burst"}));

INSTANTIATE_TEST_SUITE_P(
    Reserved, PolicyRefusal,
    testing::Values(
        Refused{allowing("169.254.169.254"), "policy.allow[0].to is 169.254.169.254"},
        Refused{allowing("169.254.169.254/31"), "metadata address 169.254.169.254"},
        Refused{allowing("0.0.0.0/0"), "metadata address"},
        Refused{allowing("100.100.100.200"), "metadata address"},
        Refused{allowing("168.63.129.0/24"), "metadata address 168.63.129.16"},
        Refused{allowing("192.0.0.192"), "metadata address"},
        Refused{allowing("fd00:ec2::/64"), "metadata address fd00:ec2::254"},
        Refused{allowing("127.0.0.1"), "loopback 127.0.0.0/8"},
        Refused{allowing("126.0.0.0/7"), "loopback 127.0.0.0/8"},
        Refused{allowing("::1"), "loopback ::1"},
        Refused{allowing("64:ff9b::a9fe:a9fe"), "as NAT64 touches the metadata address"},
        Refused{allowing("64:ff9b::7f00:1"), "as NAT64 touches loopback"},
        Refused{allowing("64:ff9b:1:a9fe:a9:fe00::"), "as local-use NAT64 /48 touches"},
        Refused{allowing("64:ff9b:1::a9fe:a9fe"), "as local-use NAT64 /96 touches"},
        Refused{allowing("64:ff9b::/96"), "as NAT64 touches the metadata address"},
        Refused{allowing("2002:a9fe:a9fe::/48"), "as 6to4 touches the metadata address"},
        Refused{allowing("2002:a9fe::/32"), "as 6to4 touches the metadata address"},
        Refused{allowing("2001:0:a83f:8110::/64"), "as Teredo server touches the metadata address"},
        Refused{allowing("2001:0:c000:201::9b9b:9b37"), "as Teredo client touches the metadata"},
        Refused{allowing("::ffff:169.254.169.254"), "as IPv4-mapped touches the metadata address"},
        Refused{allowing("::ffff:192.0.2.1"), "write it as IPv4"},
        Refused{allowing("::127.0.0.1"), "as IPv4-compatible touches loopback"},
        Refused{{{"deny", {"::ffff:203.0.113.0/120"}}}, "write it as IPv4"},
        Refused{{{"deny", {"::ffff:0:0/97"}}}, "write it as IPv4"},
        Refused{{{"deny", {"127.0.0.0/8"}}}, "loopback is never denied"},
        Refused{{{"deny", {"127.0.0.11"}}}, "loopback is never denied"},
        Refused{{{"deny", {"::1"}}}, "loopback is never denied"}));

Json resolving(const std::string& text) { return {{"resolvers", {"192.0.2.53", text}}}; }

INSTANTIATE_TEST_SUITE_P(
    Resolvers, PolicyRefusal,
    testing::Values(Refused{resolving("0.0.0.0"), "policy.resolvers[1] is 0.0.0.0"},
                    Refused{resolving("0.1.2.3"), "no address of a host"},
                    Refused{resolving("::"), "no address of a host"},
                    Refused{resolving("224.0.0.251"), "multicast"},
                    Refused{resolving("ff02::fb"), "multicast"},
                    Refused{resolving("240.0.0.1"), "reserved or broadcast"},
                    Refused{resolving("255.255.255.255"), "reserved or broadcast"},
                    Refused{resolving("127.0.0.11"), "loopback"},
                    Refused{resolving("::1"), "loopback"},
                    Refused{resolving("169.254.169.254"), "metadata address"},
                    Refused{resolving("fd00:ec2::254"), "metadata address"},
                    Refused{resolving("64:ff9b::a9fe:a9fe"), "metadata address"},
                    Refused{resolving("::ffff:169.254.169.254"), "metadata address"},
                    Refused{resolving("::ffff:127.0.0.1"), "loopback"},
                    Refused{resolving("::ffff:192.0.2.53"), "write it as IPv4"},
                    Refused{resolving("192.0.2.53/32"), "policy.resolvers[1]"},
                    Refused{resolving("192.0.2.53:53"), "policy.resolvers[1]"},
                    Refused{resolving("fe80::1%eth0"), "policy.resolvers[1]"},
                    Refused{resolving("dns.example"), "policy.resolvers[1]"}));

TEST(PolicyDocument, takesTheNeighboursOfWhatIsRefused) {
  for (const char* to :
       {"169.254.169.253", "128.0.0.0/7", "126.0.0.0/8", "64:ff9b::c000:201", "64:ff9b:1::c000:201",
        "2002:c000:201::/48", "2001:db8::/32", "::fffe:c000:201", "fd00:ec2::255"}) {
    EXPECT_EQ(policyWith(allowing(to)).allow.size(), 1U) << to;
  }
  for (const char* resolver :
       {"10.0.0.2", "fd00::2", "1.0.0.1", "239.0.0.1", "64:ff9b::c000:235"}) {
    const bool usable = std::string_view(resolver) != "239.0.0.1";
    EXPECT_EQ(outcomeOf([&] { static_cast<void>(policyWith(resolving(resolver))); }).code,
              usable ? ExitCode::kDone : ExitCode::kBadInput)
        << resolver;
  }
  EXPECT_EQ(policyWith({{"deny", {"0.0.0.0/0", "::/0"}}}).deny.size(), 2U);
  EXPECT_EQ(policyWith({{"deny", {"::ffff:0:0/96", "::/95"}}}).deny.size(), 2U);
}

TEST(PolicyDocument, refusesAnExceptionThatIsWiderThanADenial) {
  Json members = allowing("10.0.0.0/7");
  expectRefusal(outcomeOf([&] { static_cast<void>(policyWith(members)); }), ExitCode::kBadInput,
                "wider than the denied prefix 10.0.0.0/8");
  members["deny"] = Json::array();
  EXPECT_EQ(policyWith(members).allow.size(), 1U);
  EXPECT_EQ(policyWith(allowing("10.0.0.0/8")).allow.size(), 1U);
  EXPECT_EQ(policyWith(allowing("10.0.0.0/9")).allow.size(), 1U);
  members["deny"] = {"10.9.8.7"};
  expectRefusal(outcomeOf([&] { static_cast<void>(policyWith(members)); }), ExitCode::kBadInput,
                "10.9.8.7/32");
}

TEST(PolicyDocument, removesRepeatsAndWhatIsDeniedAnyway) {
  const Policy policy =
      policyWith({{"deny", {"10.0.0.0/8", "private", "169.254.169.254", "10.0.0.0/8"}},
                  {"resolvers", {"192.0.2.53", "2001:db8::53", "192.0.2.53", "2001:DB8::53"}}});
  EXPECT_EQ(policy.deny.size(), privatePrefixes().size());
  EXPECT_EQ(policy.resolvers.size(), 2U);
}

TEST(PolicyDocument, countsItsEntries) {
  Json deny = Json::array();
  for (unsigned i = 0; i < kMaxPolicyEntries; ++i) {
    deny.push_back("20." + std::to_string(i >> 8) + "." + std::to_string(i & 255) + ".0/24");
  }
  EXPECT_EQ(policyWith({{"deny", deny}}).deny.size(), kMaxPolicyEntries);
  expectRefusal(outcomeOf([&] {
                  static_cast<void>(policyWith({{"deny", deny}, {"resolvers", {"192.0.2.53"}}}));
                }),
                ExitCode::kBadInput, "65537 entries");
}

TEST(PolicyText, isRefusedAsADocument) {
  const auto refused = [](const std::string& text, const std::string& part) {
    expectRefusal(outcomeOf([&] { static_cast<void>(readPolicy(std::string_view(text))); }),
                  ExitCode::kBadInput, part);
  };
  EXPECT_TRUE(readPolicy(std::string_view(R"({"version":1})")).iptables);
  refused("", "policy");
  refused("{}", "\"version\" is missing");
  refused("[]", "policy must be an object");
  refused(R"({"version":1}x)", "not JSON");
  refused(R"({"version":1,"version":1})", "stands twice");
  refused(R"({"version":1.0})", "not an integer");
  refused("\xEF\xBB\xBF{\"version\":1}", "byte order mark");
  refused(R"({"version":1,"log":{"rate":"6/minute","burst":12,"burst":13}})", "stands twice");
  refused(std::string(kMaxDocumentBytes, ' ') + R"({"version":1})", "at most");
}

TEST(PolicyDigest, isOneForEverySpellingOfOnePolicy) {
  const std::string digest = policyWith({{"resolvers", {"2001:db8::53"}},
                                         {"allow", {kAllow}},
                                         {"log", {{"rate", "1/second"}, {"burst", 5}}},
                                         {"protocols", {132}}})
                                 .digest;
  EXPECT_TRUE(isSha256Hex(digest));
  const Json other = {
      {"resolvers", {"2001:DB8:0::53"}},
      {"allow",
       {{{"to", "172.31.0.1/32"}, {"protocol", "tcp"}, {"ports", "443-443"}, {"why", ""}}}},
      {"log", {{"rate", "60/minute"}, {"burst", 5}}},
      {"layers", {"flower", "netdev", "iptables"}},
      {"protocols", {132U}},
      {"deny", {"private", "transition"}},
      {"default", "pass"}};
  EXPECT_EQ(policyWith(other).digest, digest);
  // And of every difference, another one.
  for (const auto& [key, value] : std::map<std::string, Json>{{"resolvers", {"2001:db8::54"}},
                                                              {"log", false},
                                                              {"layers", {"flower"}},
                                                              {"deny", {"private"}},
                                                              {"protocols", {47}},
                                                              {"allow", Json::array()}}) {
    Json changedDocument = other;
    changedDocument[key] = value;
    EXPECT_NE(policyWith(changedDocument).digest, digest) << key;
  }
}

// The canonical document is part of the contract between versions: its digest is in every record.
TEST(PolicyDigest, isThatOfTheDocumentWithItsDefaults) {
  EXPECT_EQ(policyWith(Json::object()).digest,
            sha256Hex(R"({"allow":[],"default":"pass","deny":["private","transition"],)"
                      R"("layers":["iptables","flower","netdev"],"log":false,"protocols":[],)"
                      R"("resolvers":[],"version":1})"));
}

}  // namespace
}  // namespace vethgate::test
