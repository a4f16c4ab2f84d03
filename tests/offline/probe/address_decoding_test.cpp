// The addresses of a link, from a dump written by hand: which, in what order, and how many at most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "probe/link_selection.hpp"
#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

constexpr std::uint32_t kLink = 2;

RawMessage addressMessage(std::uint32_t link, std::uint8_t last) {
  ifaddrmsg info{};
  info.ifa_family = AF_INET;
  info.ifa_prefixlen = 24;
  info.ifa_index = link;
  return wire::message(
      {.type = RTM_NEWADDR},
      wire::join({wire::raw(info), wire::attribute(IFA_LOCAL, {192, 0, 2, last})}));
}

std::vector<RawMessage> dumpOf(std::size_t addresses) {
  std::vector<RawMessage> dump{addressMessage(kLink + 1, 254)};
  for (std::size_t i = addresses; i > 0; --i) {
    dump.push_back(addressMessage(kLink, static_cast<std::uint8_t>(i)));
  }
  dump.push_back(wire::done());
  return dump;
}

TEST(Addresses, AreTheLinksOwnAscending) {
  const auto addresses = decodeAddresses(dumpOf(2), kLink);
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_EQ(addresses[0].text(), "192.0.2.1");
  EXPECT_EQ(addresses[1].text(), "192.0.2.2");
}

TEST(Addresses, AreAtMostWhatALinkDocumentHolds) {
  EXPECT_EQ(decodeAddresses(dumpOf(kMaxLinkAddresses), kLink).size(), kMaxLinkAddresses);
  try {
    static_cast<void>(decodeAddresses(dumpOf(kMaxLinkAddresses + 1), kLink));
    FAIL() << "one more was accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kWrongNamespace);
    EXPECT_STREQ(failure.what(), "link 2 has 65 addresses, expected at most 64");
  }
}

using Bytes = std::vector<std::uint8_t>;

struct Entry {
  std::uint8_t family;
  std::uint8_t length;
  Bytes local;    // empty: absent
  Bytes address;  // likewise
};

Bytes v4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) { return {a, b, c, d}; }
// 2001:db8::<last>, or ::<last>.
Bytes v6(std::uint8_t last, bool documentation = true) {
  Bytes bytes(16, 0);
  if (documentation) {
    bytes[0] = 0x20;
    bytes[1] = 0x01;
    bytes[2] = 0x0d;
    bytes[3] = 0xb8;
  }
  bytes[15] = last;
  return bytes;
}

std::vector<RawMessage> dumpOf(const std::vector<Entry>& entries) {
  std::vector<RawMessage> dump;
  std::uint32_t link = 1;
  for (const Entry& entry : entries) {
    ifaddrmsg info{};
    info.ifa_family = entry.family;
    info.ifa_prefixlen = entry.length;
    info.ifa_index = link++;
    auto body = wire::raw(info);
    if (!entry.address.empty()) {
      body = wire::join({body, wire::attribute(IFA_ADDRESS, entry.address)});
    }
    if (!entry.local.empty()) {
      body = wire::join({body, wire::attribute(IFA_LOCAL, entry.local)});
    }
    dump.push_back(wire::message({.type = RTM_NEWADDR}, body));
  }
  dump.push_back(wire::done());
  return dump;
}

template <class Value>
std::vector<std::string> texts(const std::vector<Value>& values) {
  std::vector<std::string> all;
  for (const Value& value : values) {
    all.push_back(value.text());
  }
  return all;
}

std::string refusal(const std::vector<RawMessage>& dump, ExitCode code) {
  try {
    static_cast<void>(decodeSurroundings(dump));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), code) << failure.what();
    return failure.what();
  }
  return "accepted";
}

TEST(Surroundings, AreOfEveryLinkAscendingAndWithoutRepeats) {
  const auto found =
      decodeSurroundings(dumpOf({{AF_INET, 24, v4(192, 0, 2, 7), v4(192, 0, 2, 7)},
                                 {AF_INET6, 64, {}, v6(9)},  // IPv6 says IFA_ADDRESS alone
                                 {AF_INET, 24, v4(192, 0, 2, 3), v4(192, 0, 2, 3)},
                                 {AF_INET, 16, v4(172, 17, 0, 1), {}},
                                 {AF_INET, 24, v4(192, 0, 2, 7), v4(192, 0, 2, 7)},
                                 {AF_INET, 32, v4(10, 9, 8, 7), v4(10, 9, 8, 7)}}));
  EXPECT_THAT(texts(found.own), testing::ElementsAre("10.9.8.7", "172.17.0.1", "192.0.2.3",
                                                     "192.0.2.7", "2001:db8::9"));
  EXPECT_THAT(texts(found.onLink), testing::ElementsAre("10.9.8.7/32", "172.17.0.0/16",
                                                        "192.0.2.0/24", "2001:db8::/64"));
}

// Where there is another end, it is what lies on the link, and the address is still the host's own
// (net/ipv4/devinet.c, inet_fill_ifaddr(): IFA_ADDRESS is then the other end's).
TEST(Surroundings, HaveTheOtherEndOfAPointToPointLink) {
  const auto found = decodeSurroundings(
      dumpOf({{AF_INET, 32, v4(203, 0, 113, 1), v4(10, 0, 0, 2)}, {AF_INET6, 128, v6(1), v6(2)}}));
  EXPECT_THAT(texts(found.own), testing::ElementsAre("203.0.113.1", "2001:db8::1"));
  EXPECT_THAT(texts(found.onLink), testing::ElementsAre("10.0.0.2/32", "2001:db8::2/128"));
}

// By the address, not by the link: what else stands on the loopback device, others can reach.
TEST(Surroundings, LeaveOutLoopbackAndNothingBesides) {
  const auto found =
      decodeSurroundings(dumpOf({{AF_INET, 8, v4(127, 0, 0, 1), v4(127, 0, 0, 1)},
                                 {AF_INET6, 128, {}, v6(1, false)},
                                 {AF_INET, 32, v4(127, 255, 255, 254), v4(127, 255, 255, 254)},
                                 {AF_INET, 32, v4(126, 255, 255, 255), v4(126, 255, 255, 255)},
                                 {AF_INET, 32, v4(128, 0, 0, 0), v4(128, 0, 0, 0)},
                                 {AF_INET6, 128, {}, v6(2, false)}}));
  EXPECT_THAT(texts(found.own), testing::ElementsAre("126.255.255.255", "128.0.0.0", "::2"));
  EXPECT_THAT(texts(found.onLink),
              testing::ElementsAre("126.255.255.255/32", "128.0.0.0/32", "::2/128"));
  EXPECT_TRUE(decodeSurroundings(dumpOf(std::vector<Entry>{})).own.empty());
}

TEST(Surroundings, RefuseAPrefixLongerThanItsAddress) {
  EXPECT_EQ(refusal(dumpOf({{AF_INET, 32, v4(192, 0, 2, 1), {}}}), ExitCode::kRefused), "accepted");
  EXPECT_EQ(refusal(dumpOf({{AF_INET, 33, v4(192, 0, 2, 1), {}}}), ExitCode::kRefused),
            "RTM_NEWADDR: an address has a prefix length of 33");
  EXPECT_EQ(refusal(dumpOf({{AF_INET6, 128, {}, v6(1)}}), ExitCode::kRefused), "accepted");
  EXPECT_EQ(refusal(dumpOf({{AF_INET6, 129, {}, v6(1)}}), ExitCode::kRefused),
            "RTM_NEWADDR: an address has a prefix length of 129");
}

TEST(Surroundings, RefuseAnAddressThatIsNotOfItsFamily) {
  EXPECT_THAT(refusal(dumpOf({{AF_INET, 24, v6(1), {}}}), ExitCode::kRefused),
              testing::HasSubstr("does not have the 4 bytes of its family"));
  EXPECT_THAT(refusal(dumpOf({{AF_INET6, 64, {}, v4(192, 0, 2, 1)}}), ExitCode::kRefused),
              testing::HasSubstr("does not have the 16 bytes of its family"));
  EXPECT_THAT(refusal(dumpOf({{AF_INET, 24, {}, {}}}), ExitCode::kRefused),
              testing::HasSubstr("does not have the 4 bytes of its family"));
  EXPECT_THAT(refusal(dumpOf({{AF_UNIX, 24, v4(192, 0, 2, 1), {}}}), ExitCode::kRefused),
              testing::HasSubstr("of family 1"));
}

TEST(Surroundings, RefuseADumpWithoutItsEnd) {
  auto dump = dumpOf({{AF_INET, 24, v4(192, 0, 2, 1), {}}});
  dump.pop_back();
  EXPECT_NE(refusal(dump, ExitCode::kRefused), "accepted");
  EXPECT_THAT(refusal({}, ExitCode::kRefused), testing::HasSubstr("no successful end"));
}

TEST(Surroundings, AreAtMostWhatAPolicyHasRoomFor) {
  const auto many = [](std::size_t count, bool sameAddress) {
    std::vector<Entry> entries;
    for (std::size_t i = 0; i < count; ++i) {
      const Bytes end =
          v4(10, 0, static_cast<std::uint8_t>(i >> 8U), static_cast<std::uint8_t>(i & 0xffU));
      entries.push_back({AF_INET, 32, sameAddress ? v4(10, 9, 0, 1) : end, end});
    }
    return dumpOf(entries);
  };
  EXPECT_EQ(decodeSurroundings(many(kMaxHostAddresses, false)).own.size(), kMaxHostAddresses);
  for (const bool sameAddress : {false, true}) {
    EXPECT_EQ(refusal(many(kMaxHostAddresses + 1, sameAddress), ExitCode::kWrongNamespace),
              "the namespace has 16385 addresses or prefixes on its links, expected at most 16384");
  }
}

}  // namespace
}  // namespace vethgate
