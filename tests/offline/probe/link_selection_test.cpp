// The choice and each refusal, one change to a good namespace at a time.
#include "probe/link_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if.h>
#include <linux/if_arp.h>

#include <functional>

#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

using testing::HasSubstr;

LinkState loopback() {
  LinkState link;
  link.index = 1;
  link.name = "lo";
  link.hardwareType = ARPHRD_LOOPBACK;
  link.flags = IFF_UP | IFF_LOOPBACK;
  link.hasMac = true;
  return link;
}

LinkState veth() {
  LinkState link;
  link.index = 3;
  link.name = "eth0";
  link.kind = "veth";
  link.hardwareType = ARPHRD_ETHER;
  link.flags = IFF_UP | IFF_BROADCAST;
  link.operState = IF_OPER_UP;
  link.peer = 4;
  link.peerElsewhere = true;
  link.mac = {2, 0x42, 0xac, 0x11, 0, 2};
  link.hasMac = true;
  return link;
}

LinkState tunnel(const std::string& kind) {
  LinkState link;
  link.index = 9;
  link.name = kind + "0";
  link.kind = kind;
  link.hardwareType = ARPHRD_TUNNEL;
  link.operState = IF_OPER_DOWN;
  return link;
}

std::string reason(const std::vector<LinkState>& links) {
  return wire::refusal([&] { static_cast<void>(selectLink(links, 1)); }, ExitCode::kWrongNamespace);
}

std::string reasonWithVeth(const std::function<void(LinkState&)>& change) {
  LinkState changed = veth();
  change(changed);
  return reason({loopback(), changed});
}

TEST(SelectLink, TakesTheOneVethWhateverTheOrder) {
  const Link expected{3, "eth0", {2, 0x42, 0xac, 0x11, 0, 2}, 4, 4026532290};
  EXPECT_EQ(expected, selectLink(std::vector{loopback(), veth()}, 4026532290));
  EXPECT_EQ(expected, selectLink(std::vector{veth(), loopback()}, 4026532290));
}

TEST(SelectLink, NeverGoesByName) {
  LinkState oddVeth = veth();
  oddVeth.name = "lo0";
  LinkState oddLoopback = loopback();
  oddLoopback.name = "eth0";
  EXPECT_EQ("lo0", selectLink(std::vector{oddLoopback, oddVeth}, 1).name);
  LinkState named = tunnel("sit");
  named.name = "eth1";
  EXPECT_EQ("eth0", selectLink(std::vector{loopback(), veth(), named}, 1).name);
}

TEST(SelectLink, RefusesInTheOrderOfTheSpecification) {
  LinkState bridge = veth();
  bridge.index = 5;
  bridge.name = "br0";
  bridge.kind = "bridge";
  LinkState second = veth();
  second.index = 7;
  second.name = "eth1";
  EXPECT_THAT(reason({}), HasSubstr("no links"));
  EXPECT_THAT(reason({bridge, second, veth()}), HasSubstr("a bridge stands"));
  EXPECT_THAT(reason({second, veth()}), HasSubstr("no loopback"));
  EXPECT_THAT(reason({loopback(), second, veth()}), HasSubstr("has 2 links"));
  EXPECT_THAT(reason({loopback()}), HasSubstr("no link but its loopback"));
}

TEST(SelectLink, RefusesEachWrongVeth) {
  EXPECT_EQ("nothing was thrown", reasonWithVeth([](LinkState&) {}));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.kind = "macvlan"; }),
              HasSubstr("link 3 \"eth0\" (macvlan): the job's link must be a veth"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.kind = "netkit"; }),
              HasSubstr("must be a veth"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.kind = ""; }),
              HasSubstr("(of no kind): the job's link must be a veth"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.peer = 0; }), HasSubstr("has no peer"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) {
                link.peer = link.index;
                link.peerElsewhere = false;
              }),
              HasSubstr("names itself as its peer"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.flags &= ~unsigned{IFF_UP}; }),
              HasSubstr("is not UP"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.peerElsewhere = false; }),
              HasSubstr("its peer, link 4, is in the same namespace"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.master = 8; }),
              HasSubstr("enslaved to link 8"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.hasMac = false; }),
              HasSubstr("an address of 6 bytes"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.hardwareType = ARPHRD_NONE; }),
              HasSubstr("where Ethernet"));
  EXPECT_THAT(reasonWithVeth([](LinkState& link) { link.xdp = true; }), HasSubstr("XDP"));
}

TEST(SelectLink, EqualIndexesInTwoNamespacesAreACoincidence) {
  EXPECT_EQ("nothing was thrown", reasonWithVeth([](LinkState& link) { link.peer = link.index; }));
}

TEST(SelectLink, ALoopbackIsOneByTypeFlagAndKind) {
  const auto withLoopback = [](const std::function<void(LinkState&)>& change) {
    LinkState changed = loopback();
    change(changed);
    return reason({changed, veth()});
  };
  EXPECT_EQ("nothing was thrown", withLoopback([](LinkState&) {}));
  EXPECT_THAT(withLoopback([](LinkState& link) { link.flags &= ~unsigned{IFF_LOOPBACK}; }),
              HasSubstr("no loopback"));
  EXPECT_THAT(withLoopback([](LinkState& link) { link.hardwareType = ARPHRD_ETHER; }),
              HasSubstr("no loopback"));
  EXPECT_THAT(withLoopback([](LinkState& link) { link.kind = "dummy"; }), HasSubstr("no loopback"));
  EXPECT_THAT(withLoopback([](LinkState& link) { link.xdp = true; }), HasSubstr("XDP"));
  LinkState second = loopback();
  second.index = 2;
  EXPECT_THAT(reason({loopback(), second, veth()}), HasSubstr("has 2 links"));
}

TEST(SelectLink, DormantFallbackTunnelsAreAside) {
  const std::vector<std::string> kinds{"ipip", "gre", "gretap", "erspan", "vti",
                                       "vti6", "sit", "ip6tnl", "ip6gre"};
  for (const std::string& kind : kinds) {
    EXPECT_EQ("nothing was thrown", reason({loopback(), veth(), tunnel(kind)})) << kind;
    const auto changed = [&](const std::function<void(LinkState&)>& change) {
      LinkState link = tunnel(kind);
      change(link);
      return reason({loopback(), veth(), link});
    };
    const auto counted = HasSubstr("has 2 links");
    EXPECT_THAT(changed([](LinkState& link) { link.flags = IFF_UP; }), counted);
    EXPECT_THAT(changed([](LinkState& link) { link.operState = IF_OPER_UNKNOWN; }), counted);
    EXPECT_THAT(changed([](LinkState& link) { link.operState = IF_OPER_UP; }), counted);
    EXPECT_THAT(changed([](LinkState& link) { link.peer = 42; }), counted);
    EXPECT_THAT(changed([](LinkState& link) { link.peerElsewhere = true; }), counted);
    EXPECT_THAT(changed([](LinkState& link) { link.master = 3; }), counted);
    EXPECT_THAT(changed([](LinkState& link) { link.xdp = true; }), HasSubstr("XDP"));
  }
  // By kind, never by name.
  LinkState named = tunnel("dummy");
  named.name = "sit0";
  EXPECT_THAT(reason({loopback(), veth(), named}), HasSubstr("has 2 links"));
  EXPECT_THAT(reason({loopback(), tunnel("sit"), tunnel("gre")}),
              HasSubstr("no link but its loopback beside 2 dormant fallback tunnels"));
}

TEST(SelectLink, ANameThatNoDocumentTakesIsRefusedAndPrintedSafely) {
  const std::string refused = reasonWithVeth([](LinkState& link) { link.name = "e\x1b\xff\"th"; });
  EXPECT_THAT(refused, HasSubstr("link 3 \"e???th\" (veth): cannot be written"));
}

}  // namespace
}  // namespace vethgate
