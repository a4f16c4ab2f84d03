// The third layer against senders that the other two do not stop: past the queueing discipline,
// under a false protocol, as somebody else. Each row leaks first, without a plan and by the flower
// layer alone; the proof of arrival and of silence is that of frames_test.cpp.
#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <array>
#include <optional>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::uint16_t kPort = 9999;
constexpr std::uint16_t kUnknownProtocol = 0x88b5;

constexpr std::array kWrappings = {
    Wrapping::kVlanZero, Wrapping::kServiceVlanZero, Wrapping::kDoubleVlanZero, Wrapping::kMpls,
    Wrapping::kPppoe,    Wrapping::kLlcSnap,         Wrapping::kUnknownType};

class Netdev : public testing::Test {
 protected:
  Netdev() : job_(host_), queued_(job_), bypass_(job_, RawSender::Path::kQdiscBypass), tap_(job_) {}

  std::string send(const RawSender& sender, std::string_view to,
                   std::optional<std::uint16_t> protocol = std::nullopt,
                   Wrapping wrapping = Wrapping::kPlain, Shape shape = Shape::kWhole,
                   std::uint16_t port = kPort) {
    std::string cookie = "frame " + std::to_string(++serial_) + ".";
    for (const Bytes& frame : buildFrames(job_, {.to = std::string(to),
                                                .port = port,
                                                .cookie = cookie,
                                                .shape = shape,
                                                .wrapping = wrapping})) {
      sender.send(frame, protocol);
    }
    return cookie;
  }

  struct ArpSender {
    const char* name;
    std::string address;
    Mac mac;
  };
  [[nodiscard]] std::vector<ArpSender> foreignArpSenders() const {
    Mac otherMac = job_.mac();
    otherMac[5] = static_cast<std::uint8_t>(otherMac[5] ^ 1U);
    return {{"another address", std::string(kDeniedV4), job_.mac()},
            {"the gateway's address", std::string(kProxyAddress), job_.mac()},
            {"another MAC", job_.addressV4(), otherMac}};
  }

  std::string sendArp(const std::string& address, const Mac& mac) {
    std::string cookie = "arp " + std::to_string(++serial_) + ".";
    queued_.send(buildArpRequest(job_, address, mac, cookie));
    return cookie;
  }

  bool leaves(const std::string& cookie) { return tap_.waitFor(cookie, kPatience); }
  bool isReceived(const std::string& cookie) {
    return received_.note(host_.services().waitFor(cookie, kPatience));
  }
  bool left(const std::string& cookie) {
    return left_.note(tap_.count(cookie) != 0 || host_.services().received(cookie));
  }
  // By either path, so that a later frame's arrival proves an earlier one's absence.
  void expectTheWireIsAlive() {
    EXPECT_TRUE(leaves(send(queued_, kAllowedV4))) << "nothing passes at all";
    EXPECT_TRUE(leaves(send(bypass_, kAllowedV6))) << "nothing passes at all";
  }

  Host host_;
  Job job_;
  const OneCpu pinned_;
  RawSender queued_;
  RawSender bypass_;
  WireTap tap_;
  Sightings received_;
  Sightings left_;
  unsigned serial_ = 0;
};

TEST_F(Netdev, FlowerAloneLetsAQdiscBypassOut) {
  (void)contain(job_, kFlowerPolicy);
  for (const std::string_view to : {kDeniedV4, kDeniedV6}) {
    const std::string queued = send(queued_, to);
    EXPECT_TRUE(isReceived(send(bypass_, to))) << to;
    EXPECT_FALSE(left(queued)) << to;
  }
  caseMeasured("netdev.flower-alone.qdisc-bypass", received_.ofEach());
}

TEST_F(Netdev, NoQdiscBypassLeaves) {
  (void)contain(job_, kNetdevPolicy);
  for (const std::string_view to : {kDeniedV4, kDeniedV6}) {
    const std::string bypass = send(bypass_, to);
    const std::string queued = send(queued_, to);
    expectTheWireIsAlive();
    EXPECT_FALSE(left(bypass)) << to;
    EXPECT_FALSE(left(queued)) << to;
  }
  caseMeasured("netdev.qdisc-bypass", left_.ofAny());
}

TEST_F(Netdev, FlowerAloneBelievesAForgedProtocol) {
  (void)contain(job_, kFlowerPolicy);
  EXPECT_TRUE(isReceived(send(queued_, kDeniedV4, ETH_P_ARP)));
  EXPECT_TRUE(isReceived(send(queued_, kDeniedV6, ETH_P_ARP)));
  caseMeasured("netdev.flower-alone.forged-protocol", received_.ofEach());
}

TEST_F(Netdev, NoForgedProtocolOpensADeniedAddress) {
  for (const std::uint16_t protocol :
       {kUnknownProtocol, std::uint16_t{ETH_P_ARP}, std::uint16_t{ETH_P_IP},
        std::uint16_t{ETH_P_IPV6}, std::uint16_t{ETH_P_8021Q}}) {
    EXPECT_TRUE(isReceived(send(queued_, kDeniedV4, protocol))) << protocol << " without a plan";
    EXPECT_TRUE(isReceived(send(bypass_, kDeniedV6, protocol))) << protocol << " without a plan";
  }
  (void)contain(job_, kNetdevPolicy);
  for (const std::string_view to : {kDeniedV4, kDeniedV6}) {
    for (const std::uint16_t protocol :
         {kUnknownProtocol, std::uint16_t{ETH_P_ARP}, std::uint16_t{ETH_P_IP},
          std::uint16_t{ETH_P_IPV6}, std::uint16_t{ETH_P_8021Q}}) {
      const std::string queued = send(queued_, to, protocol);
      const std::string bypass = send(bypass_, to, protocol);
      expectTheWireIsAlive();
      EXPECT_FALSE(left(queued)) << protocol << " to " << to;
      EXPECT_FALSE(left(bypass)) << protocol << " to " << to;
    }
  }
  caseMeasured("netdev.forged-protocol", left_.ofAny());
}

TEST_F(Netdev, FlowerAloneLetsForeignArpOut) {
  (void)contain(job_, kFlowerPolicy);
  Sightings seen;
  for (const ArpSender& sender : foreignArpSenders()) {
    EXPECT_TRUE(seen.note(leaves(sendArp(sender.address, sender.mac)))) << sender.name;
  }
  caseMeasured("netdev.flower-alone.foreign-arp", seen.ofEach());
}

TEST_F(Netdev, ArpLeavesAsTheJobItselfAlone) {
  (void)contain(job_, kNetdevPolicy);
  for (const ArpSender& sender : foreignArpSenders()) {
    const std::string foreign = sendArp(sender.address, sender.mac);
    EXPECT_TRUE(leaves(sendArp(job_.addressV4(), job_.mac())));
    EXPECT_FALSE(left(foreign)) << sender.name;
  }
  caseMeasured("netdev.foreign-arp", left_.ofAny());
}

TEST_F(Netdev, AloneLetsNoWrappedFrameOut) {
  const Rendered rendered = contain(job_, kNetdevPolicy);
  for (const std::string_view to : {kDeniedV4, kDeniedV6, kAllowedV4, kAllowedV6}) {
    for (const Wrapping wrapping : kWrappings) {
      const std::string cookie = send(queued_, to, std::nullopt, wrapping);
      expectTheWireIsAlive();
      EXPECT_FALSE(left(cookie)) << name(wrapping) << " to " << to;
    }
  }
  EXPECT_TRUE(verify(job_.netns(), kNetdevPolicy, rendered.link).contained());
  caseMeasured("netdev.wrapped", left_.ofAny());
}

TEST_F(Netdev, AloneJudgesEveryShapeByItsDestination) {
  (void)contain(job_, kNetdevPolicy);
  for (const std::string_view to : {kDeniedV4, kDeniedV6}) {
    for (const Shape shape : shapesTo(to)) {
      const std::string cookie = send(queued_, to, std::nullopt, Wrapping::kPlain, shape);
      expectTheWireIsAlive();
      EXPECT_FALSE(left(cookie)) << name(shape) << " to " << to;
    }
  }
  for (const std::string_view to : {kAllowedV4, kAllowedV6}) {
    for (const Shape shape : shapesTo(to)) {
      EXPECT_TRUE(isReceived(send(queued_, to, std::nullopt, Wrapping::kPlain, shape)))
          << name(shape) << " to " << to;
    }
  }
  caseMeasured("netdev.denied", left_.ofAny());
  caseMeasured("netdev.allowed", received_.ofEach());
}

// Only a first fragment has a port to match. It leaves for the port that is open; without the
// others nobody receives a datagram.
TEST_F(Netdev, PinholePassesAFirstFragmentAndNoDatagram) {
  constexpr std::uint16_t kDomain = 53;
  (void)contain(job_, kNetdevPolicy);
  Sightings datagrams;
  for (const std::string_view to : {kResolverV4, kResolverV6}) {
    const std::string fragments =
        send(queued_, to, std::nullopt, Wrapping::kPlain, Shape::kFragments, kDomain);
    EXPECT_TRUE(
        isReceived(send(queued_, to, std::nullopt, Wrapping::kPlain, Shape::kWhole, kDomain)))
        << to;
    EXPECT_FALSE(datagrams.note(host_.services().received(fragments))) << to;
    EXPECT_EQ(tap_.count(fragments), 1U) << to;
  }
  caseMeasured("netdev.pinhole", received_.ofEach());
  caseMeasured("netdev.pinhole-in-fragments", datagrams.ofAny());
}

}  // namespace
}  // namespace vethgate::live
