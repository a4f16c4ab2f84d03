// Packets inside packets: the outer address is one that nobody denies, and a host whose tunl0 or
// sit0 is up takes the inner one out and hands it to its own stack. Each layer is asked alone. The
// proof of arrival and of silence is that of frames_test.cpp.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <system_error>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::uint16_t kPort = 9999;

// IPIP and 6in4, by what is inside.
constexpr std::array kInner = {kDeniedV4, kDeniedV6};

class Tunnels : public testing::Test {
 protected:
  Tunnels() : job_(host_), sender_(job_) {
    (void)runOrThrow({.argv = {"modprobe", "-a", "ipip", "sit"}});
    for (const char* link : {"tunl0", "sit0"}) {
      (void)runOrThrow({.argv = {"ip", "link", "set", link, "up"}, .in = &host_.netns()});
    }
  }

  Datagram datagram(std::string_view to) {
    return {.to = std::string(to),
            .port = kPort,
            .cookie = "tunnel " + std::to_string(++serial_) + ".",
            .outer = std::string(kAllowedV4)};
  }

  std::string sendFrame(std::string_view to) {
    const Datagram one = datagram(to);
    for (const Bytes& frame : buildFrames(job_, one)) {
      sender_.send(frame);
    }
    return one.cookie;
  }

  // Through the namespace's own stack and so its OUTPUT chain, as a process under runc would.
  std::string sendPacket(std::string_view to) {
    const Datagram one = datagram(to);
    const NamespaceScope scope(job_.netns());
    const Descriptor fd(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
    sockaddr_in outer{};
    outer.sin_family = AF_INET;
    inet_pton(AF_INET, one.outer.c_str(), &outer.sin_addr);
    for (const Bytes& packet : buildPackets(job_, one)) {
      // EPERM is how the kernel says that OUTPUT dropped it.
      if (!fd.valid() || (sendto(fd.get(), packet.data(), packet.size(), 0,
                                 reinterpret_cast<const sockaddr*>(&outer), sizeof outer) < 0 &&
                          errno != EPERM)) {
        throw std::system_error(errno, std::generic_category(), "sending a packet");
      }
    }
    return one.cookie;
  }

  bool isReceived(const std::string& cookie) {
    return received_.note(host_.services().waitFor(cookie, kPatience));
  }
  // To be asked once a later one has arrived.
  bool left(const std::string& cookie) { return left_.note(host_.services().received(cookie)); }

  // After it has come, whatever was sent before it and let through has come as well.
  void expectTheWireIsAlive() {
    const std::string cookie = "alive " + std::to_string(++serial_) + ".";
    for (const Bytes& frame :
         buildFrames(job_, {.to = std::string(kAllowedV4), .port = kPort, .cookie = cookie})) {
      sender_.send(frame);
    }
    EXPECT_TRUE(isReceived(cookie)) << "nothing passes at all";
  }

  Host host_;
  Job job_;
  const OneCpu pinned_;
  RawSender sender_;
  Sightings received_;
  Sightings left_;
  unsigned serial_ = 0;
};

std::string policy(const std::string& layers, const std::string& protocols = "") {
  return R"({"version": 1, "layers": [)" + layers + R"(], "protocols": [)" + protocols + "]}";
}

TEST_F(Tunnels, WithoutAPlanTheHostTakesTheInnerPacketOut) {
  for (const std::string_view to : kInner) {
    EXPECT_TRUE(isReceived(sendFrame(to))) << to;
    EXPECT_TRUE(isReceived(sendPacket(to))) << to;
  }
  caseMeasured("tunnels.no-plan", received_.ofEach());
}

TEST_F(Tunnels, FlowerAloneLetsNoneOut) {
  (void)contain(job_, policy(R"("flower")").c_str());
  for (const std::string_view to : kInner) {
    const std::string frame = sendFrame(to);
    const std::string packet = sendPacket(to);
    expectTheWireIsAlive();
    EXPECT_FALSE(left(frame)) << to;
    EXPECT_FALSE(left(packet)) << to;
  }
  caseMeasured("tunnels.flower", left_.ofAny());
}

TEST_F(Tunnels, NetdevAloneLetsNoneOut) {
  (void)contain(job_, policy(R"("netdev")").c_str());
  for (const std::string_view to : kInner) {
    const std::string frame = sendFrame(to);
    const std::string packet = sendPacket(to);
    expectTheWireIsAlive();
    EXPECT_FALSE(left(frame)) << to;
    EXPECT_FALSE(left(packet)) << to;
  }
  caseMeasured("tunnels.netdev", left_.ofAny());
}

// Of what passes OUTPUT; frames do not.
TEST_F(Tunnels, OutputRulesAloneLetNoneOut) {
  (void)contain(job_, policy(R"("iptables")").c_str());
  for (const std::string_view to : kInner) {
    const std::string packet = sendPacket(to);
    EXPECT_TRUE(isReceived(sendFrame(to))) << to;
    EXPECT_FALSE(left(packet)) << to;
  }
  caseMeasured("tunnels.output-rules.packet", left_.ofAny());
  caseMeasured("tunnels.output-rules.frame", received_.ofEach());
}

// It is the protocol that decides: named, it passes every layer.
TEST_F(Tunnels, LeaveWhereThePolicyNamesTheProtocol) {
  (void)contain(job_, policy(R"("iptables", "flower", "netdev")", "4, 41").c_str());
  for (const std::string_view to : kInner) {
    EXPECT_TRUE(isReceived(sendFrame(to))) << to;
    EXPECT_TRUE(isReceived(sendPacket(to))) << to;
  }
  caseMeasured("tunnels.protocol-that-the-policy-names", received_.ofEach());
}

}  // namespace
}  // namespace vethgate::live
