// What real kernels sent for real namespaces, decoded to the last attribute and judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <map>
#include <set>

#include "base/error.hpp"
#include "probe/link_selection.hpp"
#include "tests/offline/probe/captures.hpp"

namespace vethgate {
namespace {

using captures::Section;

constexpr std::uint64_t kNetns = 4026532290;

// By section: what the refusal says, empty where the veth is to be chosen.
const std::map<std::string, std::string>& verdicts() {
  static const std::map<std::string, std::string> expected{
      {"accepted", ""},
      {"no-carrier", ""},
      {"names", ""},
      {"same-index", ""},
      {"fallback", ""},
      {"down", R"(link 2 "eth0" (veth): is not UP)"},
      {"pair-inside", "the namespace has 3 links where one veth is expected"},
      {"peer-inside", "the namespace has 2 links where one veth is expected"},
      {"loopback-only", "no link but its loopback where one veth is expected"},
      {"bridge", R"("br0" (bridge): a bridge stands in the namespace)"},
      {"in-bridge", R"("br0" (bridge): a bridge stands in the namespace)"},
      {"dummy", R"("d0" (dummy))"},
      {"bond", R"("bond0" (bond))"},
      {"vlan", R"("v5" (vlan))"},
      {"macvlan", R"("mv" (macvlan))"},
      {"ipvlan", R"("iv" (ipvlan))"},
      {"tap", R"("tap0" (tun))"},
      {"tun", R"("tun0" (tun))"},
      {"xdp-generic", R"("eth0" (veth): an XDP program is attached)"},
      {"xdp-driver", R"("eth0" (veth): an XDP program is attached)"},
      {"xdp-loopback", R"("lo" (of no kind): an XDP program is attached)"},
      {"fallback-up", "the namespace has 2 links beside 8 dormant fallback tunnels"},
  };
  return expected;
}

class Capture : public testing::TestWithParam<Section> {};

TEST_P(Capture, IsJudgedByWhatItHolds) {
  const std::string& expected = verdicts().at(GetParam().name);
  const std::vector<LinkState> links = decodeLinks(GetParam().dump);
  ASSERT_EQ(GetParam().dump.size() - 1, links.size());
  try {
    const Link link = selectLink(links, kNetns);
    EXPECT_EQ("", expected) << "was accepted";
    // The fallback tunnels come first, and take the low indexes.
    EXPECT_EQ(GetParam().name == "fallback" ? 11U : 2U, link.index);
    EXPECT_EQ("eth0", link.name);
    EXPECT_EQ(GetParam().name == "same-index" ? 2U : 77U, link.peer);
    if (GetParam().name != "same-index") {
      EXPECT_EQ("02:42:ac:11:00:02", macText(link.mac));
    }
    EXPECT_EQ(kNetns, link.netns);
  } catch (const Failure& failure) {
    ASSERT_NE("", expected) << failure.what();
    EXPECT_EQ(ExitCode::kWrongNamespace, failure.code());
    EXPECT_THAT(failure.what(), testing::HasSubstr(expected));
  }
}

std::string sectionName(const testing::TestParamInfo<Section>& parameter) {
  std::string name = "Linux_" + parameter.param.kernel + "_" + parameter.param.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Capture, testing::ValuesIn(captures::all()), sectionName);

TEST(Captures, HoldEverySectionOfBothDebianKernels) {
  for (const char* kernel : {"6.1", "6.12"}) {
    std::set<std::string> names;
    for (const Section& section : captures::read(kernel)) {
      names.insert(section.name);
    }
    for (const auto& [name, verdict] : verdicts()) {
      EXPECT_TRUE(names.contains(name)) << kernel << " " << name;
    }
  }
}

TEST(Captures, DecodeToTheValuesThatTheKernelHad) {
  const std::vector<LinkState> links = decodeLinks(captures::dump("6.1", "accepted"));
  ASSERT_EQ(2U, links.size());
  EXPECT_EQ("lo", links[0].name);
  EXPECT_EQ("", links[0].kind);
  EXPECT_EQ(772, links[0].hardwareType);  // ARPHRD_LOOPBACK
  EXPECT_EQ(0x10049U, links[0].flags);    // UP, LOOPBACK, RUNNING, LOWER_UP
  EXPECT_EQ(0, links[0].operState);       // IF_OPER_UNKNOWN
  EXPECT_EQ("eth0", links[1].name);
  EXPECT_EQ("veth", links[1].kind);
  EXPECT_EQ(1, links[1].hardwareType);  // ARPHRD_ETHER
  EXPECT_EQ(0x11043U, links[1].flags);  // UP, BROADCAST, RUNNING, MULTICAST, LOWER_UP
  EXPECT_EQ(6, links[1].operState);     // IF_OPER_UP
  EXPECT_EQ(77U, links[1].peer);
  EXPECT_TRUE(links[1].peerElsewhere);
  EXPECT_TRUE(links[1].hasMac);
  EXPECT_EQ(0U, links[1].master);
  EXPECT_FALSE(links[1].xdp);

  const std::vector<LinkState> bond = decodeLinks(captures::dump("6.1", "bond"));
  EXPECT_EQ(bond[2].index, bond[1].master);
  const std::vector<LinkState> inside = decodeLinks(captures::dump("6.1", "peer-inside"));
  EXPECT_FALSE(inside[1].peerElsewhere);
  EXPECT_EQ(inside[2].index, inside[1].peer);
}

}  // namespace
}  // namespace vethgate
