// The addresses of a link, from a dump written by hand: which, in what order, and how many at most.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

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

}  // namespace
}  // namespace vethgate
