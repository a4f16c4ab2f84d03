// Requests: what is refused before the engine is asked, and the policy that one comes to.
#include "docker/establish/request.hpp"

#include <ostream>
#include <vector>

#include "render/policy.hpp"
#include "tests/offline/docker/establish/support.hpp"

namespace vethgate::docker {
namespace {

using test::aRequest;
using test::expectFailure;
using test::kImageName;
using test::requestDocument;
using testing::HasSubstr;

TEST(ReadRequest, TakesWhatIsAsked) {
  const EstablishRequest request = aRequest();
  EXPECT_EQ(request.job, "job-1");
  EXPECT_EQ(request.owner, "worker-1");
  EXPECT_EQ(request.network, "jobs");
  EXPECT_EQ(request.deadline, test::kJobDeadline);
  EXPECT_EQ(request.within, kAttemptTime);
  EXPECT_EQ(request.holderImage, kImageName);
  EXPECT_EQ(request.helperImage, kImageName);
  EXPECT_EQ(request.policy, requestDocument().at("policy"));
  EXPECT_TRUE(request.usesHostGateway);

  Json document = requestDocument();
  document["images"] = {{"holder", "hold:1"}, {"helper", "registry:5000/help@sha256:0"}};
  document["policy"] = {{"version", 1}};
  document["within"] = 900;
  const EstablishRequest other = readRequest(document.dump(), kImageName);
  EXPECT_EQ(other.within, kLongestAttempt);
  EXPECT_EQ(other.holderImage, "hold:1");
  EXPECT_EQ(other.helperImage, "registry:5000/help@sha256:0");
  EXPECT_FALSE(other.usesHostGateway);
}

TEST(ReadRequest, TakesAnIdAsLongAsItMayBe) {
  Json document = requestDocument();
  document["job"] = std::string(64, 'j');
  document["owner"] = "A.b_c-9";
  EXPECT_EQ(readRequest(document.dump(), kImageName).job, std::string(64, 'j'));
}

struct Row {
  const char* name;
  std::function<void(Json&)> change;
  std::string part;
};
void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

std::function<void(Json&)> with(const char* key, const Json& value) {
  return [key = std::string(key), value](Json& document) { document[key] = value; };
}
std::function<void(Json&)> without(const char* key) {
  return [key = std::string(key)](Json& document) { document.erase(key); };
}

class Refused : public testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(
    Requests, Refused,
    testing::Values(
        Row{"NoVersion", without("version"), "version"},
        Row{"AnotherVersion", with("version", 2), "version"}, Row{"NoJob", without("job"), "job"},
        Row{"AnEmptyJob", with("job", ""), "job"},
        Row{"AJobThatIsAPath", with("job", "../x"), "job"},
        Row{"AJobThatStartsOddly", with("job", "-rm"), "job"},
        Row{"ALongJob", with("job", std::string(65, 'j')), "65 characters long, at most 64"},
        Row{"AJobThatIsNoText", with("job", 7), "job"}, Row{"NoOwner", without("owner"), "owner"},
        Row{"AnOwnerWithAnEquals", with("owner", "a=b"), "owner"},
        Row{"ALongOwner", with("owner", std::string(65, 'o')), "65 characters long, at most 64"},
        Row{"NoNetwork", without("network"), "network"},
        Row{"TheHostsNetwork", with("network", "host"), "expected a network with a bridge"},
        Row{"TheNetworkNone", with("network", "none"), "expected a network with a bridge"},
        Row{"TheNetworkContainer", with("network", "container"),
            "expected a network with a bridge"},
        Row{"AnotherContainersNetwork", with("network", "container:holder"), "network"},
        Row{"NoDeadline", without("deadline"), "deadline"},
        Row{"ADeadlineOfZero", with("deadline", 0), "deadline"},
        Row{"ANegativeDeadline", with("deadline", -1), "deadline"},
        Row{"ADeadlineInWords", with("deadline", "1700000600"), "deadline"},
        Row{"ADeadlineBeyond63Bits", with("deadline", std::uint64_t{1} << 63U), "deadline"},
        Row{"NoTimeToEstablishWithin", with("within", 0), "within"},
        Row{"ALongTimeToEstablishWithin", with("within", 901), "within"},
        Row{"ImagesThatAreAText", with("images", "vethgate:1"), "images"},
        Row{"OneImage", with("images", {{"holder", "hold:1"}}), "helper"},
        Row{"AnImageMore", with("images", {{"holder", "a"}, {"helper", "b"}, {"job", "c"}}), "job"},
        Row{"AnImageThatIsAPath", with("images", {{"holder", "../../x"}, {"helper", "b"}}),
            "image"},
        Row{"NoPolicy", without("policy"), "policy"},
        Row{"APolicyThatIsAText", with("policy", "private"), "policy"},
        Row{"APolicyWithoutVersion", with("policy", Json::object()), "version"},
        Row{"APolicyThatOpensMetadata",
            [](Json& document) { document["policy"]["allow"][1]["to"] = "169.254.169.254"; },
            "169.254.169.254"},
        Row{"AnotherWordForAnAddress",
            [](Json& document) { document["policy"]["allow"][1]["to"] = "host-gateways"; },
            "host-gateways"},
        Row{"TheHostAsAResolver",
            [](Json& document) { document["policy"]["resolvers"][0] = "host-gateway"; },
            "host-gateway"},
        Row{"TheHostAsDenied",
            [](Json& document) { document["policy"]["deny"] = {"host-gateway"}; }, "host-gateway"},
        Row{"AnotherKey", with("labels", Json::object()), "labels"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_P(Refused, BeforeTheEngineIsAsked) {
  Json document = requestDocument();
  EXPECT_NO_THROW(static_cast<void>(readRequest(document.dump(), kImageName)));
  GetParam().change(document);
  expectFailure([&] { static_cast<void>(readRequest(document.dump(), kImageName)); },
                ExitCode::kBadInput, GetParam().part);
}

TEST(ReadRequest, RefusesWhatIsNoDocument) {
  for (const char* text : {"", "{", "[]", "null", "{} {}", R"({"version":1,"version":1})"}) {
    expectFailure([&] { static_cast<void>(readRequest(text, kImageName)); }, ExitCode::kBadInput,
                  "request");
  }
}

Address address(const char* text) { return Address::parse(text).value(); }
Prefix prefix(const char* text) { return Prefix::parse(text, "test"); }

EstablishRequest requestWith(const Json& policy) {
  Json document = requestDocument();
  document["policy"] = policy;
  return readRequest(document.dump(), kImageName);
}

TEST(EffectivePolicy, DeniesTheHostsAddressesAndLinks) {
  HostFacts host;
  host.own = {address("203.0.113.9"), address("10.0.0.1"), address("2001:db8::9"),
              address("fd00::1")};
  host.onLink = {prefix("203.0.113.0/28"), prefix("10.0.0.0/24"), prefix("2001:db8:1::/64")};
  const Json policy = effectivePolicy(requestWith({{"version", 1}}), host);
  // What a wider entry covers, written or added, is not said again.
  EXPECT_EQ(policy.at("deny"), (Json{"private", "transition", "0.0.0.0/8", "203.0.113.0/28",
                                     "2001:db8:1::/64", "2001:db8::9/128"}));
  // Of a list of one's own, every part counts.
  const Json own =
      effectivePolicy(requestWith({{"version", 1}, {"deny", {"203.0.113.0/24"}}}), host);
  EXPECT_EQ(own.at("deny"), (Json{"203.0.113.0/24", "0.0.0.0/8", "10.0.0.0/24", "2001:db8:1::/64",
                                  "2001:db8::9/128", "fd00::1/128"}));
  const Json none =
      effectivePolicy(requestWith({{"version", 1}, {"deny", Json::array()}}), HostFacts{});
  EXPECT_EQ(none.at("deny"), Json::array({"0.0.0.0/8"}));
}

TEST(EffectivePolicy, PassesOverALinkThatEverythingLiesOn) {
  HostFacts host;
  host.own = {address("203.0.113.9")};
  host.onLink = {prefix("0.0.0.0/0"), prefix("::/0"), prefix("198.51.100.0/31")};
  EXPECT_EQ(effectivePolicy(requestWith({{"version", 1}}), host).at("deny"),
            (Json{"private", "transition", "0.0.0.0/8", "198.51.100.0/31", "203.0.113.9/32"}));
}

TEST(EffectivePolicy, LeavesOpenWhatIsAllowed) {
  const Json open = {{"to", "203.0.113.9"}, {"protocol", "tcp"}, {"ports", "443"}};
  HostFacts host;
  host.own = {address("203.0.113.9")};
  host.onLink = {prefix("203.0.113.0/28")};
  const Json policy =
      effectivePolicy(requestWith({{"version", 1}, {"allow", Json::array({open})}}), host);
  EXPECT_EQ(policy.at("allow"), Json::array({open}));
  EXPECT_EQ(policy.at("deny").back(), "203.0.113.0/28");
  EXPECT_EQ(readPolicy(policy).allow.size(), 1U);

  // An exception wider than one of the host's links would open more than it says.
  Json wide = open;
  wide["to"] = "203.0.113.0/24";
  const EstablishRequest request = requestWith({{"version", 1}, {"allow", Json::array({wide})}});
  EXPECT_NO_THROW(static_cast<void>(effectivePolicy(request, HostFacts{})));
  expectFailure([&] { static_cast<void>(effectivePolicy(request, host)); }, ExitCode::kBadInput,
                "links denied: policy.allow[0].to is 203.0.113.0/24, which is wider than the "
                "denied prefix 203.0.113.0/28");
}

TEST(EffectivePolicy, PutsTheGatewaysAddressInPlaceOfTheWord) {
  const EstablishRequest request = aRequest();
  HostFacts host;
  host.gateway = {address("fd00::1"), address("172.17.0.1"), address("172.18.0.1")};
  const Json policy = effectivePolicy(request, host);
  EXPECT_EQ(policy.at("allow").at(0).at("to"), "172.17.0.1");
  EXPECT_EQ(policy.at("allow").at(1), request.policy.at("allow").at(1));

  for (const std::vector<Address>& gateway :
       {std::vector<Address>{}, std::vector<Address>{address("fd00::1")}}) {
    host.gateway = gateway;
    expectFailure([&] { static_cast<void>(effectivePolicy(request, host)); },
                  ExitCode::kUnsupported, "no IPv4 address");
    // Nobody asked for it.
    EXPECT_NO_THROW(static_cast<void>(effectivePolicy(requestWith({{"version", 1}}), host)));
  }
}

// An engine that says so cannot open what no exception may.
TEST(EffectivePolicy, RefusesAGatewayThatNoExceptionMayName) {
  HostFacts host;
  host.gateway = {address("169.254.169.254")};
  expectFailure([&] { static_cast<void>(effectivePolicy(aRequest(), host)); }, ExitCode::kBadInput,
                "in place of host-gateway: policy.allow[0].to is 169.254.169.254");
}

}  // namespace
}  // namespace vethgate::docker
