// Recorded messages, changed in one place each: nothing goes unseen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "probe/link_selection.hpp"
#include "tests/offline/netlink/wire.hpp"
#include "tests/offline/probe/captures.hpp"

namespace vethgate {
namespace {

using Messages = std::vector<RawMessage>;
using testing::HasSubstr;
using wire::attribute;
using wire::refusal;

constexpr std::size_t kFixed = sizeof(nlmsghdr) + sizeof(ifinfomsg);

const std::vector<RawMessage>& accepted() { return captures::dump("6.1", "accepted"); }
const RawMessage& veth() { return accepted().at(1); }
const RawMessage& end() { return accepted().back(); }

// With its length made right again.
RawMessage sized(RawMessage message) {
  const auto length = static_cast<std::uint32_t>(message.size());
  std::memcpy(message.data(), &length, sizeof length);
  return message;
}

// The top-level attributes of a message, each with its padding.
std::vector<Bytes> attributesOf(const RawMessage& message) {
  std::vector<Bytes> attributes;
  for (std::size_t at = kFixed; at < message.size();) {
    nlattr header{};
    std::memcpy(&header, message.data() + at, sizeof header);
    const std::size_t size = (header.nla_len + std::size_t{3}) & ~std::size_t{3};
    const auto first = message.begin() + static_cast<std::ptrdiff_t>(at);
    attributes.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
    at += size;
  }
  return attributes;
}

std::uint16_t typeOf(const Bytes& attribute) {
  nlattr header{};
  std::memcpy(&header, attribute.data(), sizeof header);
  return header.nla_type;
}

RawMessage rebuilt(const RawMessage& message, const std::vector<Bytes>& attributes) {
  RawMessage bytes(message.begin(), message.begin() + kFixed);
  for (const Bytes& each : attributes) {
    bytes.insert(bytes.end(), each.begin(), each.end());
  }
  return sized(bytes);
}

// `message` with the attribute of `type` replaced by `replacement` (empty: removed).
RawMessage replaced(const RawMessage& message, std::uint16_t type, const Bytes& replacement) {
  std::vector<Bytes> attributes = attributesOf(message);
  bool found = false;
  for (Bytes& each : attributes) {
    if (typeOf(each) == type) {
      each = replacement;
      found = true;
    }
  }
  EXPECT_TRUE(found) << type;
  return rebuilt(message, attributes);
}

std::string reasonOf(const std::vector<RawMessage>& dump) {
  return refusal([&] { static_cast<void>(decodeLinks(dump)); });
}
std::string reasonFor(const RawMessage& message) { return reasonOf({message, end()}); }

TEST(DecodeLinks, TheControlsAreRead) {
  EXPECT_EQ(rebuilt(veth(), attributesOf(veth())), veth());
  EXPECT_EQ("nothing was thrown", reasonFor(veth()));
  EXPECT_EQ(0U, decodeLinks(Messages{end()}).size());
}

TEST(DecodeLinks, WantsASuccessfulEnd) {
  EXPECT_THAT(reasonOf({}), HasSubstr("no successful end"));
  EXPECT_THAT(reasonOf({veth()}), HasSubstr("NLMSG_DONE"));
  EXPECT_THAT(reasonOf({veth(), wire::done(-EBUSY)}), HasSubstr("no successful end"));
  EXPECT_THAT(reasonOf({end(), veth(), end()}), HasSubstr("message type 3 stands in a dump"));
}

TEST(DecodeLinks, WantsLinksOfADump) {
  const auto with = [](std::size_t at, std::uint8_t value) {
    RawMessage message = veth();
    message[at] = value;
    return message;
  };
  EXPECT_THAT(reasonFor(with(4, RTM_DELLINK)), HasSubstr("message type 17"));
  EXPECT_THAT(reasonFor(with(16, AF_BRIDGE)), HasSubstr("family 7"));
  EXPECT_THAT(reasonFor(with(17, 1)), HasSubstr("no family"));  // padding of ifinfomsg
  EXPECT_THAT(reasonFor(with(20, 0)), HasSubstr("index 0"));
  EXPECT_THAT(reasonFor(with(23, 0x80)), HasSubstr("index -"));
  EXPECT_THAT(reasonFor(with(28, 1)), HasSubstr("change mask 1"));  // a notification
  EXPECT_THAT(reasonFor(sized(RawMessage(veth().begin(), veth().begin() + kFixed - 1))),
              HasSubstr("lacks its ifinfomsg"));
  EXPECT_THAT(reasonOf({veth(), veth(), end()}), HasSubstr("two links have the index 2"));
}

TEST(DecodeLinks, MissesWhatItNeeds) {
  for (const auto& [type, name] :
       {std::pair{IFLA_IFNAME, "IFLA_IFNAME"}, std::pair{IFLA_OPERSTATE, "IFLA_OPERSTATE"},
        // Without it XDP would be unknown, not absent.
        std::pair{IFLA_XDP, "IFLA_XDP"}}) {
    EXPECT_EQ(std::string("RTM_NEWLINK/") + name + ": is missing",
              reasonFor(replaced(veth(), static_cast<std::uint16_t>(type), {})));
  }
}

TEST(DecodeLinks, RefusesAnUnknownAttributeAndADoubledOne) {
  for (const captures::Section& section : captures::all()) {
    for (const RawMessage& message : section.dump) {
      if (message == section.dump.back()) {
        continue;
      }
      EXPECT_EQ("RTM_NEWLINK: attribute 999 is not known",
                reasonFor(sized(wire::join({message, attribute(999, {1})}))));
      for (const Bytes& each : attributesOf(message)) {
        EXPECT_THAT(reasonFor(sized(wire::join({message, each}))), HasSubstr("stands twice"));
      }
    }
  }
}

TEST(DecodeLinks, RefusesEveryAttributeThatGrew) {
  // Where the size is the kernel's to choose, growth shows as another value or is ignored by name.
  const std::vector<std::uint16_t> open{IFLA_STATS, IFLA_STATS64,  IFLA_AF_SPEC,  IFLA_ADDRESS,
                                        IFLA_XDP,   IFLA_LINKINFO, IFLA_BROADCAST};
  for (const Bytes& each : attributesOf(veth())) {
    Bytes grown = each;
    grown.resize(grown.size() + 300);
    const auto length = static_cast<std::uint16_t>(grown.size());
    std::memcpy(grown.data(), &length, sizeof length);
    const std::string reason = reasonFor(replaced(veth(), typeOf(each), grown));
    if (std::find(open.begin(), open.end(), typeOf(each)) == open.end()) {
      EXPECT_THAT(reason, testing::AnyOf(HasSubstr("where"), HasSubstr("one NUL"))) << typeOf(each);
    }
  }
}

TEST(DecodeLinks, RefusesEveryCutThroughAnAttribute) {
  // An attribute may end with or without its padding.
  std::set<std::size_t> ends{kFixed};
  std::size_t at = kFixed;
  for (const Bytes& each : attributesOf(veth())) {
    nlattr header{};
    std::memcpy(&header, each.data(), sizeof header);
    ends.insert({at + header.nla_len, at + each.size()});
    at += each.size();
  }
  for (std::size_t size = kFixed; size < veth().size(); ++size) {
    const RawMessage cut =
        sized(RawMessage(veth().begin(), veth().begin() + static_cast<std::ptrdiff_t>(size)));
    if (!ends.contains(size)) {
      EXPECT_THAT(reasonFor(cut),
                  testing::AnyOf(HasSubstr("are left over"), HasSubstr("its length"),
                                 HasSubstr("amid its padding")))
          << size;
    }
  }
}

TEST(DecodeLinks, SeesXdpInEveryForm) {
  const auto xdpOf = [](const Bytes& payload) {
    const RawMessage message = replaced(veth(), IFLA_XDP, attribute(IFLA_XDP, payload));
    return decodeLinks(Messages{message, end()}).front().xdp;
  };
  EXPECT_FALSE(xdpOf(attribute(IFLA_XDP_ATTACHED, {XDP_ATTACHED_NONE})));
  for (const std::uint8_t mode :
       {XDP_ATTACHED_DRV, XDP_ATTACHED_SKB, XDP_ATTACHED_HW, XDP_ATTACHED_MULTI}) {
    EXPECT_TRUE(xdpOf(attribute(IFLA_XDP_ATTACHED, {mode})));
  }
  for (const unsigned program :
       {IFLA_XDP_PROG_ID, IFLA_XDP_DRV_PROG_ID, IFLA_XDP_SKB_PROG_ID, IFLA_XDP_HW_PROG_ID}) {
    EXPECT_TRUE(xdpOf(wire::join(
        {attribute(IFLA_XDP_ATTACHED, {XDP_ATTACHED_NONE}), attribute(program, {1, 0, 0, 0})})));
  }
  EXPECT_EQ("RTM_NEWLINK/IFLA_XDP/IFLA_XDP_ATTACHED: is missing",
            reasonFor(replaced(veth(), IFLA_XDP, attribute(IFLA_XDP, {}))));
  EXPECT_EQ("RTM_NEWLINK/IFLA_XDP: attribute 99 is not known",
            reasonFor(replaced(veth(), IFLA_XDP, attribute(IFLA_XDP, attribute(99, {})))));
}

TEST(DecodeLinks, AVethHasNoDataOfItsKind) {
  const auto linkInfo = [](const char* kind) {
    return replaced(
        veth(), IFLA_LINKINFO,
        attribute(IFLA_LINKINFO, wire::join({attribute(IFLA_INFO_KIND, wire::text(kind)),
                                             attribute(IFLA_INFO_DATA, {1, 2, 3, 4})})));
  };
  EXPECT_EQ("nothing was thrown", reasonFor(linkInfo("vxlan")));
  EXPECT_THAT(reasonFor(linkInfo("veth")),
              HasSubstr("RTM_NEWLINK/IFLA_LINKINFO/IFLA_INFO_DATA: a veth has no data"));
}

}  // namespace
}  // namespace vethgate
