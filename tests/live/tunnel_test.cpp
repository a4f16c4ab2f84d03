// Packets inside packets: the outer address is one that nobody denies, and a host that has a
// tunnel's device up takes the inner one out and hands it to its own stack. Each layer is asked
// alone. The proof of arrival and of silence is that of frames_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <system_error>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/live/fixture/wire.hpp"
#include "tests/live/target.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::uint16_t kPort = 9999;

struct Tunnel {
  const char* name;
  std::string_view inner;
  std::string_view outer;
  bool gre = false;
};
constexpr std::array kTunnels = {Tunnel{"IPIP", kDeniedV4, kAllowedV4},
                                 Tunnel{"6in4", kDeniedV6, kAllowedV4},
                                 Tunnel{"4in6", kDeniedV4, kAllowedV6},
                                 Tunnel{"6in6", kDeniedV6, kAllowedV6},
                                 Tunnel{"GRE over IPv4", kDeniedV4, kAllowedV4, true},
                                 Tunnel{"GRE over IPv6", kDeniedV6, kAllowedV6, true}};

class Tunnels : public testing::Test {
 protected:
  // Devices for all but GRE: of that it is seen that the packet came out of the veth.
  Tunnels() : job_(host_), sender_(job_), tap_(job_) {
    (void)runOrThrow({.argv = {"modprobe", "-a", "ipip", "sit", "ip6_tunnel"}});
    configure(host_.netns(),
              "link set tunl0 up\nlink set sit0 up\nlink add tunnel6 type ip6tnl mode any local " +
                  std::string(kAllowedV6) + " remote any\nlink set tunnel6 up\n");
  }

  Datagram datagram(const Tunnel& tunnel) {
    return {.to = std::string(tunnel.inner),
            .port = kPort,
            .cookie = "tunnel " + std::to_string(++serial_) + ".",
            .outer = std::string(tunnel.outer),
            .gre = tunnel.gre};
  }

  std::string sendFrame(const Datagram& one) {
    for (const Bytes& frame : buildFrames(job_, one)) {
      sender_.send(frame);
    }
    return one.cookie;
  }

  // Through the namespace's own stack and so its OUTPUT chain, as a process under runc would.
  std::string sendPacket(const Datagram& one) {
    const std::string address = one.outer.empty() ? one.to : one.outer;
    const Endpoint to =
        parseTarget("udp:" + (isV6(address) ? "[" + address + "]" : address) + ":0");
    const NamespaceScope scope(job_.netns());
    const Descriptor fd(socket(to.family(), SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
    for (const Bytes& packet : buildPackets(job_, one)) {
      // EPERM is how the kernel says that OUTPUT dropped it.
      if (!fd.valid() ||
          (sendto(fd.get(), packet.data(), packet.size(), 0, to.raw(), to.length) < 0 &&
           errno != EPERM)) {
        throw std::system_error(errno, std::generic_category(), "sending a packet");
      }
    }
    return one.cookie;
  }

  bool comesOut(const Tunnel& tunnel, const std::string& cookie) {
    return received_.note(tunnel.gre ? tap_.waitFor(cookie, kPatience)
                                     : host_.services().waitFor(cookie, kPatience));
  }
  // To be asked once a later one has arrived.
  bool left(const std::string& cookie) {
    return left_.note(tap_.count(cookie) != 0 || host_.services().received(cookie));
  }

  // After these have come, whatever was sent before them and let through has come as well: frames,
  // and packets, which may have waited for the gateway's MAC.
  void expectTheWireIsAlive() {
    for (const std::string_view to : {kAllowedV4, kAllowedV6}) {
      const auto alive = [&] {
        return Datagram{.to = std::string(to),
                        .port = kPort,
                        .cookie = "alive " + std::to_string(++serial_) + "."};
      };
      EXPECT_TRUE(host_.services().waitFor(sendFrame(alive()), kPatience)) << to;
      EXPECT_TRUE(host_.services().waitFor(sendPacket(alive()), kPatience)) << to;
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

 private:
  static bool isV6(const std::string& address) { return address.find(':') != std::string::npos; }
};

std::string policy(const std::string& layers, const std::string& protocols = "") {
  return R"({"version": 1, "layers": [)" + layers + R"(], "protocols": [)" + protocols + "]}";
}

TEST_F(Tunnels, WithoutAPlanEachComesOut) {
  for (const Tunnel& tunnel : kTunnels) {
    EXPECT_TRUE(comesOut(tunnel, sendFrame(datagram(tunnel)))) << tunnel.name;
    EXPECT_TRUE(comesOut(tunnel, sendPacket(datagram(tunnel)))) << tunnel.name;
  }
  caseMeasured("tunnels.no-plan", received_.ofEach());
}

// The layers that see what the veth transmits.
class TunnelsByLayer : public Tunnels, public testing::WithParamInterface<const char*> {};

TEST_P(TunnelsByLayer, AloneLetsNoneOut) {
  const std::string layer = GetParam();
  (void)contain(job_, policy('"' + layer + '"'));
  for (const Tunnel& tunnel : kTunnels) {
    const std::string frame = sendFrame(datagram(tunnel));
    const std::string packet = sendPacket(datagram(tunnel));
    expectTheWireIsAlive();
    EXPECT_FALSE(left(frame)) << tunnel.name;
    EXPECT_FALSE(left(packet)) << tunnel.name;
  }
  caseMeasured("tunnels." + layer, left_.ofAny());
}

INSTANTIATE_TEST_SUITE_P(Layer, TunnelsByLayer, testing::Values("flower", "netdev"),
                         [](const auto& one) { return std::string(one.param); });

// Of what passes OUTPUT; frames do not.
TEST_F(Tunnels, OutputRulesAloneLetNoneOut) {
  (void)contain(job_, policy(R"("iptables")"));
  for (const Tunnel& tunnel : kTunnels) {
    const std::string packet = sendPacket(datagram(tunnel));
    EXPECT_TRUE(comesOut(tunnel, sendFrame(datagram(tunnel)))) << tunnel.name;
    expectTheWireIsAlive();
    EXPECT_FALSE(left(packet)) << tunnel.name;
  }
  caseMeasured("tunnels.output-rules.packet", left_.ofAny());
  caseMeasured("tunnels.output-rules.frame", received_.ofEach());
}

// It is the protocol that decides: named, it passes every layer.
TEST_F(Tunnels, LeaveWhereThePolicyNamesTheProtocol) {
  (void)contain(job_, policy(R"("iptables", "flower", "netdev")", "4, 41, 47"));
  for (const Tunnel& tunnel : kTunnels) {
    EXPECT_TRUE(comesOut(tunnel, sendFrame(datagram(tunnel)))) << tunnel.name;
    EXPECT_TRUE(comesOut(tunnel, sendPacket(datagram(tunnel)))) << tunnel.name;
  }
  caseMeasured("tunnels.protocol-that-the-policy-names", received_.ofEach());
}

}  // namespace
}  // namespace vethgate::live
