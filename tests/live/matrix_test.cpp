// Every layer against every kind of frame, in one table that the test prints: what the other suites
// show one by one, for whoever wants to see it at once. Proofs of arrival and of silence are those
// of frames_test.cpp: on the host's end of the veth, and a later, allowed frame.
#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <iomanip>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::uint16_t kPort = 9999;
constexpr int kNameWidth = 36;

struct Kind {
  const char* name;
  const char* to;
  Wrapping wrapping = Wrapping::kPlain;
  Shape shape = Shape::kWhole;
  bool bypass = false;
  std::optional<std::uint16_t> protocol = {};  // what the sender calls it
  const char* outer = "";
  bool gre = false;
  bool stoppedByFlower = true;
  bool foreignArp = false;  // a request that says it comes from `to`, in place of a packet
};

std::vector<Kind> kinds() {
  const char* const v4 = kDeniedV4.data();
  const char* const v6 = kDeniedV6.data();
  return {
      {"IPv4", v4},
      {"IPv6", v6},
      {"IPv4 in fragments", v4, Wrapping::kPlain, Shape::kFragments},
      {"IPv6 in fragments", v6, Wrapping::kPlain, Shape::kFragments},
      {"IPv4 with options", v4, Wrapping::kPlain, Shape::kOptions},
      {"IPv6 with options", v6, Wrapping::kPlain, Shape::kOptions},
      {"IPv6 with destination options", v6, Wrapping::kPlain, Shape::kDestinationOptions},
      {"IPv4 in 802.1Q VLAN 0", v4, Wrapping::kVlanZero},
      {"IPv6 in 802.1Q VLAN 0", v6, Wrapping::kVlanZero},
      {"IPv4 in 802.1ad VLAN 0", v4, Wrapping::kServiceVlanZero},
      {"IPv6 in 802.1ad VLAN 0", v6, Wrapping::kServiceVlanZero},
      {"IPv4 in QinQ 0/0", v4, Wrapping::kDoubleVlanZero},
      {"IPv6 in QinQ 0/0", v6, Wrapping::kDoubleVlanZero},
      {"IPv4 in MPLS", v4, Wrapping::kMpls},
      {"IPv6 in MPLS", v6, Wrapping::kMpls},
      {"IPv4 in PPPoE", v4, Wrapping::kPppoe},
      {"IPv6 in PPPoE", v6, Wrapping::kPppoe},
      {"IPv4 in LLC/SNAP", v4, Wrapping::kLlcSnap},
      {"IPv6 in LLC/SNAP", v6, Wrapping::kLlcSnap},
      {"IPv4 in ethertype 0x88b5", v4, Wrapping::kUnknownType},
      {"IPv6 in ethertype 0x88b5", v6, Wrapping::kUnknownType},
      {.name = "IPIP to an allowed address", .to = v4, .outer = kAllowedV4.data()},
      {.name = "6in4 to an allowed address", .to = v6, .outer = kAllowedV4.data()},
      {.name = "4in6 to an allowed address", .to = v4, .outer = kAllowedV6.data()},
      {.name = "6in6 to an allowed address", .to = v6, .outer = kAllowedV6.data()},
      {.name = "IPv4 in GRE over IPv4", .to = v4, .outer = kAllowedV4.data(), .gre = true},
      {.name = "IPv6 in GRE over IPv6", .to = v6, .outer = kAllowedV6.data(), .gre = true},
      {.name = "IPv4 past the queueing discipline",
       .to = v4,
       .bypass = true,
       .stoppedByFlower = false},
      {.name = "IPv6 past the queueing discipline",
       .to = v6,
       .bypass = true,
       .stoppedByFlower = false},
      {.name = "IPv4 that is called ARP",
       .to = v4,
       .protocol = std::uint16_t{ETH_P_ARP},
       .stoppedByFlower = false},
      {.name = "IPv6 that is called ARP",
       .to = v6,
       .protocol = std::uint16_t{ETH_P_ARP},
       .stoppedByFlower = false},
      {.name = "ARP in another's name", .to = v4, .stoppedByFlower = false, .foreignArp = true},
  };
}

struct Column {
  const char* name;
  const char* policy;  // nullptr: no plan
};
constexpr std::array kColumns{
    Column{"no plan", nullptr},
    Column{"iptables", R"({"version": 1, "layers": ["iptables"]})"},
    Column{"flower", R"({"version": 1, "layers": ["flower"]})"},
    Column{"netdev", R"({"version": 1, "layers": ["netdev"]})"},
    Column{"all three", R"({"version": 1})"},
};

std::vector<Bytes> framesOf(const Kind& kind, const Job& job, const std::string& cookie) {
  if (kind.foreignArp) {
    return {buildArpRequest(job, kind.to, job.mac(), cookie)};
  }
  return buildFrames(job, {.to = kind.to,
                           .port = kPort,
                           .cookie = cookie,
                           .shape = kind.shape,
                           .wrapping = kind.wrapping,
                           .outer = kind.outer,
                           .gre = kind.gre});
}

// OUTPUT never sees a frame.
bool leavesAsExpected(const Kind& kind, std::string_view column) {
  return column == "no plan" || column == "iptables" ||
         (column == "flower" && !kind.stoppedByFlower);
}

TEST(Matrix, OfLayersAndFrames) {
  std::vector<std::vector<std::string>> table;
  for (const Kind& kind : kinds()) {
    table.push_back({kind.name});
  }
  for (const Column& column : kColumns) {
    Host host;
    const Job job(host);
    if (column.policy != nullptr) {
      (void)contain(job, column.policy);
    }
    const OneCpu pinned;
    const RawSender queued(job);
    const RawSender bypass(job, RawSender::Path::kQdiscBypass);
    WireTap tap(job);
    unsigned serial = 0;
    std::size_t row = 0;
    for (const Kind& kind : kinds()) {
      const std::string cookie = "matrix " + std::to_string(++serial) + ".";
      for (const Bytes& frame : framesOf(kind, job, cookie)) {
        (kind.bypass ? bypass : queued).send(frame, kind.protocol);
      }
      const std::string alive = "alive " + std::to_string(++serial) + ".";
      for (const Bytes& frame :
           buildFrames(job, {.to = std::string(kAllowedV4), .port = kPort, .cookie = alive})) {
        queued.send(frame);
      }
      ASSERT_TRUE(tap.waitFor(alive, kPatience)) << "nothing passes at all: " << column.name;
      const bool left = tap.count(cookie) != 0;
      EXPECT_EQ(left, leavesAsExpected(kind, column.name)) << kind.name << ", " << column.name;
      table[row++].push_back(left ? "leaves" : "-");
    }
  }
  std::cout << std::left << std::setw(kNameWidth) << "to a denied address";
  for (const Column& column : kColumns) {
    std::cout << std::setw(11) << column.name;
  }
  for (const std::vector<std::string>& row : table) {
    std::cout << "\n" << std::setw(kNameWidth) << row.front();
    for (std::size_t i = 1; i < row.size(); ++i) {
      std::cout << std::setw(11) << row[i];
    }
  }
  std::cout << std::endl;
}

}  // namespace
}  // namespace vethgate::live
