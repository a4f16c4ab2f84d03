// The third layer against senders that the other two do not stop: past the queueing discipline,
// under a false protocol, as somebody else. Each row leaks first, without a plan and by the flower
// layer alone; the proof of arrival and of silence is that of frames_test.cpp.
#include <arpa/inet.h>
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
constexpr std::array kShapes = {Shape::kWhole, Shape::kOptions, Shape::kFragments};

class Netdev : public testing::Test {
 protected:
  Netdev() : job_(host_), queued_(job_), bypass_(job_, RawSender::Path::kQdiscBypass), tap_(job_) {}

  std::string send(const RawSender& sender, std::string_view to,
                   std::optional<std::uint16_t> protocol = std::nullopt,
                   Wrapping wrapping = Wrapping::kPlain, Shape shape = Shape::kWhole) {
    std::string cookie = "frame " + std::to_string(++serial_) + ".";
    for (const Bytes& frame : buildFrames(job_, {.to = std::string(to),
                                                .port = kPort,
                                                .cookie = cookie,
                                                .shape = shape,
                                                .wrapping = wrapping})) {
      sender.send(frame, protocol);
    }
    return cookie;
  }

  // A request for the gateway's address that says it comes from `sender`, the cookie behind it.
  std::string sendArp(const std::string& sender, bool ownMac = true) {
    std::string cookie = "arp " + std::to_string(++serial_) + ".";
    Bytes frame(6, 0xff);
    const auto append = [&frame](const auto& bytes) {
      frame.insert(frame.end(), bytes.begin(), bytes.end());
    };
    Mac mac = job_.mac();
    append(mac);
    append(Bytes{0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1});
    mac[5] = static_cast<std::uint8_t>(mac[5] ^ (ownMac ? 0 : 1));
    append(mac);
    append(addressBytes(sender));
    append(Bytes(6, 0));
    append(addressBytes(std::string(kProxyAddress)));
    append(cookie);
    queued_.send(frame);
    return cookie;
  }

  static Bytes addressBytes(const std::string& address) {
    Bytes bytes(4);
    EXPECT_EQ(inet_pton(AF_INET, address.c_str(), bytes.data()), 1) << address;
    return bytes;
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
  EXPECT_TRUE(leaves(sendArp("10.9.8.7")));
}

TEST_F(Netdev, ArpLeavesAsTheJobItselfAlone) {
  (void)contain(job_, kNetdevPolicy);
  const std::string foreign = sendArp("10.9.8.7");
  const std::string gateway = sendArp(std::string(kProxyAddress));
  const std::string otherMac = sendArp(job_.addressV4(), false);
  EXPECT_TRUE(leaves(sendArp(job_.addressV4())));
  EXPECT_FALSE(left(foreign));
  EXPECT_FALSE(left(gateway));
  EXPECT_FALSE(left(otherMac));
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
  for (const Shape shape : kShapes) {
    for (const std::string_view to : {kDeniedV4, kDeniedV6}) {
      const std::string cookie = send(queued_, to, std::nullopt, Wrapping::kPlain, shape);
      expectTheWireIsAlive();
      EXPECT_FALSE(left(cookie)) << name(shape) << " to " << to;
    }
    for (const std::string_view to : {kAllowedV4, kAllowedV6}) {
      EXPECT_TRUE(isReceived(send(queued_, to, std::nullopt, Wrapping::kPlain, shape)))
          << name(shape) << " to " << to;
    }
  }
  caseMeasured("netdev.denied", left_.ofAny());
  caseMeasured("netdev.allowed", received_.ofEach());
}

}  // namespace
}  // namespace vethgate::live
