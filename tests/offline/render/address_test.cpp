// Addresses, prefixes, ports, and the sets and tables made of them.
#include "render/address.hpp"

#include <rapidcheck.h>

#include "render/known_prefixes.hpp"
#include "render/prefix_set.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

Prefix prefix(const std::string& text) { return Prefix::parse(text, "test"); }

TEST(Address, takesBothFamiliesInTheirTextualForms) {
  EXPECT_EQ(Address::parse("192.0.2.1").value().text(), "192.0.2.1");
  EXPECT_EQ(Address::parse("2001:DB8:0:0:0:0:0:53").value().text(), "2001:db8::53");
  EXPECT_EQ(Address::parse("::").value().family(), Family::kV6);
}

TEST(Address, refusesEveryOtherSpelling) {
  using namespace std::string_literals;
  for (const std::string& text : {""s,
                                  " "s,
                                  "192.0.2.1 "s,
                                  " 192.0.2.1"s,
                                  "192.0.2"s,
                                  "192.0.2.256"s,
                                  "192.0.02.1"s,
                                  "0xc0.0.2.1"s,
                                  "3221225985"s,
                                  "192.0.2.1\0"s,
                                  "192.0.2.1\0x"s,
                                  "fe80::1%eth0"s,
                                  "2001:db8:::1"s,
                                  "12345::"s,
                                  "::1::"s,
                                  "[::1]"s,
                                  "localhost"s,
                                  "1.2.3.4.5"s,
                                  "-1.2.3.4"s,
                                  std::string(100, '1')}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
}

TEST(Address, ofIpv4CannotHoldMoreThanFourBytes) {
  std::array<std::uint8_t, 16> bytes{10, 0, 0, 1};
  EXPECT_EQ(Address(Family::kV4, bytes).text(), "10.0.0.1");
  bytes[4] = 1;
  EXPECT_EQ(outcomeOf([&] { static_cast<void>(Address(Family::kV4, bytes)); }).code,
            ExitCode::kDefect);
}

TEST(Prefix, isWrittenWithItsLengthOrWithoutThatOfAHost) {
  EXPECT_EQ(prefix("10.0.0.0/8").text(), "10.0.0.0/8");
  EXPECT_EQ(prefix("10.0.0.1").text(), "10.0.0.1/32");
  EXPECT_EQ(prefix("10.0.0.1/32").shortText(), "10.0.0.1");
  EXPECT_EQ(prefix("::/0").shortText(), "::/0");
}

TEST(Prefix, refusesHostBitsAndNamesThePrefixThatWasMeant) {
  expectRefusal(outcomeOf([] { static_cast<void>(prefix("10.1.2.3/8")); }), ExitCode::kBadInput,
                "10.0.0.0/8");
  expectRefusal(outcomeOf([] { static_cast<void>(prefix("2001:db8::1/127")); }),
                ExitCode::kBadInput, "2001:db8::/127");
  EXPECT_EQ(prefix("2001:db8::2/127").length(), 127U);
  expectRefusal(outcomeOf([] { static_cast<void>(Prefix(Address::parse("10.1.2.3").value(), 8)); }),
                ExitCode::kBadInput, "after the prefix length 8");
}

TEST(Prefix, refusesNonsenseLengths) {
  using namespace std::string_literals;
  for (const std::string& length : {""s, "33"s, "-1"s, "+8"s, " 8"s, "8 "s, "08"s, "8.0"s, "8/8"s,
                                    "0x8"s, "99999999999"s, "8\0"s}) {
    expectRefusal(outcomeOf([&] { static_cast<void>(prefix("10.0.0.0/" + length)); }),
                  ExitCode::kBadInput, "expected a prefix length of 0..32");
  }
  expectRefusal(outcomeOf([] { static_cast<void>(prefix("::/129")); }), ExitCode::kBadInput,
                "0..128");
  expectRefusal(outcomeOf([] { static_cast<void>(Prefix(Address::parse("::").value(), 129)); }),
                ExitCode::kBadInput, "129");
}

TEST(Prefix, containsOnlyItsOwnFamily) {
  EXPECT_TRUE(prefix("10.0.0.0/8").contains(prefix("10.255.0.0/16")));
  EXPECT_FALSE(prefix("10.255.0.0/16").contains(prefix("10.0.0.0/8")));
  EXPECT_TRUE(prefix("10.255.0.0/16").overlaps(prefix("10.0.0.0/8")));
  EXPECT_FALSE(prefix("10.0.0.0/9").overlaps(prefix("10.128.0.0/9")));
  EXPECT_TRUE(prefix("0.0.0.0/0").contains(prefix("255.255.255.255")));
  EXPECT_FALSE(prefix("0.0.0.0/0").overlaps(prefix("::/0")));
}

TEST(PortRange, takesOnePortOrTwoThatAscend) {
  EXPECT_EQ(PortRange::parse("443", "p"), PortRange(443, 443));
  EXPECT_EQ(PortRange::parse("1-65535", "p"), PortRange(1, 65535));
  EXPECT_EQ(PortRange::parse("49200-49200", "p").text(), "49200");
  EXPECT_EQ(PortRange(1, 2).text(':'), "1:2");
}

TEST(PortRange, refusesEveryNonsenseValue) {
  using namespace std::string_literals;
  for (const std::string& text : {""s,           "0"s,
                                  "0-1"s,        "1-0"s,
                                  "65536"s,      "1-65536"s,
                                  "53.7"s,       "-1"s,
                                  "1 "s,         " 1"s,
                                  "+1"s,         "01"s,
                                  "1-"s,         "1--2"s,
                                  "1-2-3"s,      "1:2"s,
                                  "1 - 2"s,      "1\0"s,
                                  "0x50"s,       "http"s,
                                  "4294967297"s, "18446744073709551617"s,
                                  "1e2"s,        "-"s}) {
    expectRefusal(outcomeOf([&] { static_cast<void>(PortRange::parse(text, "policy.x")); }),
                  ExitCode::kBadInput, "policy.x is ");
  }
  expectRefusal(outcomeOf([] { static_cast<void>(PortRange::parse("2-1", "p")); }),
                ExitCode::kBadInput, "ends before it starts");
  EXPECT_EQ(outcomeOf([] { static_cast<void>(PortRange(0, 1)); }).code, ExitCode::kBadInput);
  EXPECT_EQ(outcomeOf([] { static_cast<void>(PortRange(2, 1)); }).code, ExitCode::kBadInput);
}

Prefix anyPrefix() {
  const bool v4 = *rc::gen::arbitrary<bool>();
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < (v4 ? 4U : 16U); ++i) {
    // Few values, so that prefixes meet.
    bytes[i] = *rc::gen::element<std::uint8_t>(0, 1, 0x7f, 0x80, 0xff);
  }
  const Address address(v4 ? Family::kV4 : Family::kV6, bytes);
  return Prefix::network(address, *rc::gen::inRange(0U, address.bits() + 1));
}

TEST(Prefix, survivesItsTextAndAnswersLikeBitwiseComparison) {
  EXPECT_TRUE(rc::check([] {
    const Prefix a = anyPrefix();
    const Prefix b = anyPrefix();
    RC_ASSERT(prefix(a.text()) == a);
    RC_ASSERT(prefix(a.shortText()) == a);
    bool inside = a.family() == b.family() && a.length() <= b.length();
    for (unsigned bit = 0; inside && bit < a.length(); ++bit) {
      const unsigned mask = 0x80U >> bit % 8;
      inside = (a.base().bytes()[bit / 8] & mask) == (b.base().bytes()[bit / 8] & mask);
    }
    RC_ASSERT(a.contains(b) == inside);
  }));
}

TEST(PrefixSet, answersLikeASearchThroughAll) {
  EXPECT_TRUE(rc::check([] {
    std::vector<Prefix> members;
    PrefixSet set;
    for (unsigned i = *rc::gen::inRange(0U, 12U); i > 0; --i) {
      members.push_back(anyPrefix());
      const bool repeated = std::count(members.begin(), members.end(), members.back()) > 1;
      RC_ASSERT(set.insert(members.back()) == !repeated);
    }
    const Prefix asked = anyPrefix();
    bool covered = false;
    bool wider = false;
    for (const Prefix& member : members) {
      covered = covered || member.contains(asked);
      wider = wider || (asked.contains(member) && asked != member);
    }
    const auto cover = set.covering(asked);
    RC_ASSERT(cover.has_value() == covered);
    RC_ASSERT(!cover || cover->contains(asked));
    const auto inside = set.strictlyInside(asked);
    RC_ASSERT(inside.has_value() == wider);
    RC_ASSERT(!inside || (asked.contains(*inside) && *inside != asked));
  }));
}

TEST(EmbeddedV4, isFoundInEverySpelling) {
  const auto carries = [](const std::string& text, const std::string& v4) {
    for (const EmbeddedV4& found : embeddedV4(prefix(text))) {
      if (found.prefix.shortText() == v4) {
        return true;
      }
    }
    return false;
  };
  EXPECT_TRUE(carries("64:ff9b::a9fe:a9fe", "169.254.169.254"));
  EXPECT_TRUE(carries("64:ff9b:1:a9fe:a9:fe00::", "169.254.169.254"));    // RFC 6052 /48
  EXPECT_TRUE(carries("64:ff9b:1:a9:fe:a9fe::", "169.254.169.254"));      // /56
  EXPECT_TRUE(carries("64:ff9b:1:0:a9:fea9:fe00:0", "169.254.169.254"));  // /64
  EXPECT_TRUE(carries("64:ff9b:1::a9fe:a9fe", "169.254.169.254"));        // /96
  EXPECT_TRUE(carries("2002:a9fe:a9fe::1", "169.254.169.254"));
  EXPECT_TRUE(carries("2001:0:a9fe:a9fe::", "169.254.169.254"));
  EXPECT_TRUE(carries("2001:0:c000:201::5601:5601", "169.254.169.254"));
  EXPECT_TRUE(carries("::ffff:169.254.169.254", "169.254.169.254"));
  EXPECT_TRUE(carries("::169.254.169.254", "169.254.169.254"));
  EXPECT_TRUE(carries("2002:a9fe::/32", "169.254.0.0/16"));
  EXPECT_TRUE(carries("2002::/15", "0.0.0.0/0"));
  EXPECT_TRUE(embeddedV4(prefix("2001:db8::1")).empty());
  EXPECT_TRUE(embeddedV4(prefix("169.254.169.254")).empty());
}

}  // namespace
}  // namespace vethgate::test
