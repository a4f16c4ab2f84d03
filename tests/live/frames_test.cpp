// What a sender that writes whole frames gets out of the veth. gVisor's sentry is such a sender, so
// a compromised one may wrap a packet in anything. The proof of arrival is a socket on the denied
// address, or the frame itself on the host's end of the veth; the proof of silence is that a later,
// allowed frame of the same sender has arrived.
#include "tests/live/fixture/frames.hpp"

#include <gtest/gtest.h>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::uint16_t kPort = 9999;
// ARP, IPv4, IPv6, and everything else.
constexpr std::size_t kTailFilters = 4;

// A receiver takes the tag off and goes on with what is inside.
constexpr std::array kTagged = {Wrapping::kVlanZero, Wrapping::kServiceVlanZero,
                                Wrapping::kDoubleVlanZero};
// The host has no use for these; that they leave the namespace is bad enough.
constexpr std::array kForeign = {Wrapping::kMpls, Wrapping::kPppoe, Wrapping::kLlcSnap,
                                 Wrapping::kUnknownType};
constexpr std::array kFamilies = {kDeniedV4, kDeniedV6};

class Frames : public testing::Test {
 protected:
  Frames() : job_(host_), sender_(job_), tap_(job_) {}

  std::string send(std::string_view to, Wrapping wrapping, Shape shape = Shape::kWhole,
                   std::uint16_t port = kPort) {
    std::string cookie = "frame " + std::to_string(++serial_) + ".";
    for (const Bytes& frame : buildFrames(job_, {.to = std::string(to),
                                                .port = port,
                                                .cookie = cookie,
                                                .shape = shape,
                                                .wrapping = wrapping})) {
      sender_.send(frame);
    }
    return cookie;
  }

  bool leaves(const std::string& cookie) { return tap_.waitFor(cookie, kPatience); }
  bool isReceived(const std::string& cookie) {
    return received_.note(host_.services().waitFor(cookie, kPatience));
  }
  // To be asked once a later frame has arrived.
  bool left(const std::string& cookie) {
    return left_.note(tap_.count(cookie) != 0 || host_.services().received(cookie));
  }
  // A frame that the plan lets pass, seen on the other side.
  void expectTheWireIsAlive() {
    EXPECT_TRUE(leaves(send(kAllowedV4, Wrapping::kPlain))) << "nothing passes at all";
  }

  // The last filters of the plan, which the ethertype decides.
  void removeTheTail(const Rendered& rendered) {
    const Json filters = Json::parse(rendered.plan).at("flower");
    for (std::size_t i = filters.size() - kTailFilters; i < filters.size(); ++i) {
      tool(job_, {"tc", "filter", "del", "dev", kJobLink, "egress", "pref",
                  std::to_string(filters[i].at("pref").get<int>())});
    }
  }

  Host host_;
  Job job_;
  const OneCpu pinned_;
  RawSender sender_;
  WireTap tap_;
  Sightings received_;
  Sightings left_;
  unsigned serial_ = 0;
};

TEST_F(Frames, WithoutAPlanEveryWrappingLeaves) {
  for (const std::string_view to : kFamilies) {
    for (const Wrapping wrapping : kTagged) {
      EXPECT_TRUE(isReceived(send(to, wrapping))) << name(wrapping) << " to " << to;
    }
    for (const Wrapping wrapping : kForeign) {
      EXPECT_TRUE(leaves(send(to, wrapping))) << name(wrapping) << " to " << to;
    }
  }
}

// The tail's own control: the same filters without it drop plain frames, and let wrapped ones out.
TEST_F(Frames, PlanWithoutItsTailLetsWrappedFramesOut) {
  removeTheTail(contain(job_, kReferenceFlowerPolicy));
  for (const std::string_view to : kFamilies) {
    const std::string plain = send(to, Wrapping::kPlain);
    for (const Wrapping wrapping : kTagged) {
      EXPECT_TRUE(isReceived(send(to, wrapping))) << name(wrapping) << " to " << to;
    }
    for (const Wrapping wrapping : kForeign) {
      EXPECT_TRUE(leaves(send(to, wrapping))) << name(wrapping) << " to " << to;
    }
    EXPECT_FALSE(left(plain)) << "plain, to " << to;
  }
  caseMeasured("frames.flower-without-tail.tagged", received_.ofEach());
  caseMeasured("frames.flower-without-tail.plain", left_.ofAny());
}

TEST_F(Frames, WholePlanLetsNoWrappedFrameOut) {
  const Rendered rendered = contain(job_, kReferenceFlowerPolicy);
  for (const std::string_view to : {kDeniedV4, kDeniedV6, kAllowedV4, kAllowedV6}) {
    std::vector<std::pair<Wrapping, std::string>> sent;
    for (const Wrapping wrapping : kTagged) {
      sent.emplace_back(wrapping, send(to, wrapping));
    }
    for (const Wrapping wrapping : kForeign) {
      sent.emplace_back(wrapping, send(to, wrapping));
    }
    expectTheWireIsAlive();
    for (const auto& [wrapping, cookie] : sent) {
      EXPECT_FALSE(left(cookie)) << name(wrapping) << " to " << to;
    }
  }
  EXPECT_TRUE(verify(job_.netns(), kReferenceFlowerPolicy, rendered.link).contained());
  caseMeasured("frames.flower.wrapped", left_.ofAny());
}

template <class Check>
void forEveryShape(std::string_view v4, std::string_view v6, const Check& check) {
  for (const std::string_view to : {v4, v6}) {
    for (const Shape shape : shapesTo(to)) {
      check(to, shape);
    }
  }
}

TEST_F(Frames, WithoutAPlanEveryShapeReachesADeniedAddress) {
  forEveryShape(kDeniedV4, kDeniedV6, [&](std::string_view to, Shape shape) {
    EXPECT_TRUE(isReceived(send(to, Wrapping::kPlain, shape))) << name(shape) << " to " << to;
  });
  caseMeasured("frames.no-plan.denied", received_.ofEach());
}

TEST_F(Frames, NoShapeReachesADeniedAddress) {
  (void)contain(job_, kReferenceFlowerPolicy);
  forEveryShape(kDeniedV4, kDeniedV6, [&](std::string_view to, Shape shape) {
    const std::string cookie = send(to, Wrapping::kPlain, shape);
    expectTheWireIsAlive();
    EXPECT_FALSE(left(cookie)) << name(shape) << " to " << to;
  });
  caseMeasured("frames.flower.denied", left_.ofAny());
}

TEST_F(Frames, EveryShapeReachesAnAllowedAddress) {
  (void)contain(job_, kReferenceFlowerPolicy);
  forEveryShape(kAllowedV4, kAllowedV6, [&](std::string_view to, Shape shape) {
    EXPECT_TRUE(isReceived(send(to, Wrapping::kPlain, shape))) << name(shape) << " to " << to;
  });
  caseMeasured("frames.flower.allowed", received_.ofEach());
}

// No filter that names a port matches a fragment, the first one included. A pinhole is therefore
// shut for fragments: the safe side.
TEST_F(Frames, PinholeIsShutForFragments) {
  constexpr std::uint16_t kDomain = 53;
  (void)contain(job_, kReferenceFlowerPolicy);
  for (const std::string_view to : {kResolverV4, kResolverV6}) {
    const std::string fragments = send(to, Wrapping::kPlain, Shape::kFragments, kDomain);
    EXPECT_TRUE(isReceived(send(to, Wrapping::kPlain, Shape::kWhole, kDomain))) << to;
    EXPECT_FALSE(left(fragments)) << to;
  }
  caseMeasured("frames.flower.pinhole", received_.ofEach());
  caseMeasured("frames.flower.pinhole-in-fragments", left_.ofAny());
}

}  // namespace
}  // namespace vethgate::live
