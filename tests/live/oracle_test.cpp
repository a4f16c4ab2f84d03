// The tools people use are the oracles. For every golden policy, one namespace gets its plan from
// vethgate-apply, another the emitted texts from iptables-nft-restore, ip6tables-nft-restore,
// tc -batch and nft -f. Both must be contained, byte for byte the same, and iptables must print our
// rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/engine_files.hpp"
#include "tests/live/fixture/normal_capture.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/temporary_file.hpp"

namespace vethgate::live {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(VETHGATE_SOURCE_DIR) / "tests/offline/render/golden";

std::string readText(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<std::string> goldenPolicies() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(kGolden)) {
    if (fs::exists(entry.path() / "policy.json")) {
      names.push_back(entry.path().filename());
    }
  }
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(line);
  }
  return lines;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// "-p 47" as iptables prints it: by name where it or /etc/protocols has one.
std::string protocolsByName(std::string line) {
  static const std::regex number("-p ([0-9]+)");
  std::smatch found;
  if (std::regex_search(line, found, number)) {
    static const std::map<int, std::string> own{{132, "sctp"}, {50, "esp"}};
    const int protocol = std::stoi(found[1]);
    const protoent* const known = getprotobynumber(protocol);
    if (own.contains(protocol)) {
      return replaced(line, found.str(), "-p " + own.at(protocol));
    }
    if (known != nullptr) {
      return replaced(line, found.str(), std::string("-p ") + known->p_name);
    }
  }
  return line;
}

// An emitted line of `family` ("-4" or "-6") as iptables 1.8.9 prints the rule that it makes of it:
// a protocol with ports or flags gets its match, --syn its flags, units their short names, a log
// prefix quotes.
std::vector<std::string> asIptablesPrints(const std::string& emitted, const std::string& family) {
  std::vector<std::string> lines;
  for (std::string line : linesOf(emitted)) {
    if (!line.starts_with(family + " ")) {
      continue;
    }
    line = line.substr(family.size() + 1);
    if (line.find(" --") != std::string::npos) {
      line = replaced(line, "-p tcp", "-p tcp -m tcp");
      line = replaced(line, "-p udp", "-p udp -m udp");
    }
    line = replaced(line, "-p icmpv6", "-p ipv6-icmp");
    line = protocolsByName(line);
    line = replaced(line, "--syn", "--tcp-flags FIN,SYN,RST,ACK SYN");
    line = replaced(line, "/second", "/sec");
    line = replaced(line, "/minute", "/min");
    if (const std::size_t at = line.find("--log-prefix "); at != std::string::npos) {
      const std::size_t value = at + std::string_view("--log-prefix ").size();
      line = line.substr(0, value) + '"' + line.substr(value) + '"';
    }
    lines.push_back(line);
  }
  return lines;
}

std::vector<std::string> rulesPrinted(const Job& job, const char* program) {
  std::vector<std::string> lines = linesOf(tool(job, {program, "-S", "OUTPUT"}));
  std::erase_if(lines, [](const std::string& line) { return !line.starts_with("-A "); });
  return lines;
}

Json captured(const Job& job, const Rendered& rendered) {
  const TemporaryFile file;
  const Verdict verdict = verify(job.netns(), rendered.policy, rendered.link, file.path());
  EXPECT_TRUE(verdict.contained()) << verdict;
  return Json::parse(file.read());
}

// For live-mutants, which changes it in every way.
void leave(const std::string& name, const Rendered& rendered, const Json& capture) {
  const std::string base = vmVariable("VETHGATE_OUT") + "/golden-" + name;
  std::ofstream(base + ".policy.json") << rendered.policy;
  std::ofstream(base + ".link.json") << rendered.link;
  std::ofstream(base + ".json") << capture.dump();
}

// New namespaces get no tunl0, sit0 and so on, whatever modules other tests have loaded: what a
// capture holds is then the policy's alone.
class Oracles : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream(kFallbackTunnels) >> before_;
    std::ofstream(kFallbackTunnels) << 1;
  }
  void TearDown() override { std::ofstream(kFallbackTunnels) << before_; }

 private:
  static constexpr const char* kFallbackTunnels = "/proc/sys/net/core/fb_tunnels_only_for_init_net";
  int before_ = 0;
};

TEST_P(Oracles, BuildWhatTheApplierBuilds) {
  const std::string policy = readText(kGolden / GetParam() / "policy.json");
  Host hostOfOurs;
  Host hostOfTheirs;  // so that links have equal indexes
  const Job ours(hostOfOurs);
  const Job theirs(hostOfTheirs);

  const Rendered rendered = prepare(ours, policy);
  const Finished applied = applyPlan(ours.netns(), rendered.plan);
  ASSERT_TRUE(applied.ok()) << applied.summary();
  const Rendered renderedForTools = prepare(theirs, policy);
  applyWithOracles(theirs, renderedForTools);

  const Json capture = captured(ours, rendered);
  leave(GetParam(), rendered, capture);
  const std::vector<std::string> our = normalCapture(capture);
  const std::vector<std::string> their = normalCapture(captured(theirs, renderedForTools));
  ASSERT_EQ(our.size(), their.size());
  for (std::size_t i = 0; i < our.size(); ++i) {
    EXPECT_EQ(our[i], their[i]) << "message " << i;
  }
  if (Json::parse(rendered.plan).contains("iptables")) {
    const std::string emitted = render(policy, rendered.link, "iptables-save").out;
    EXPECT_EQ(rulesPrinted(ours, "iptables-nft"), asIptablesPrints(emitted, "-4"));
    EXPECT_EQ(rulesPrinted(ours, "ip6tables-nft"), asIptablesPrints(emitted, "-6"));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Oracles, testing::ValuesIn(goldenPolicies()), [](const auto& one) {
  std::string name = one.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

// The comparison itself: captures of two policies differ in the message that tells them apart.
TEST(OracleComparison, TellsPoliciesApart) {
  const auto capture = [](const char* policy) {
    Host host;
    const Job job(host);
    return normalCapture(captured(job, contain(job, policy)));
  };
  const std::vector<std::string> narrow = capture(R"({"version": 1, "deny": ["10.0.0.0/8"]})");
  const std::vector<std::string> wide = capture(R"({"version": 1, "deny": ["10.0.0.0/9"]})");
  ASSERT_EQ(narrow.size(), wide.size());
  std::size_t differences = 0;
  for (std::size_t i = 0; i < narrow.size(); ++i) {
    differences += narrow[i] == wide[i] ? 0U : 1U;
  }
  EXPECT_EQ(differences, 3U);  // one rule, one filter, the elements of one set
  EXPECT_EQ(narrow, capture(R"({"version": 1, "deny": ["10.0.0.0/8"]})"));
}

}  // namespace
}  // namespace vethgate::live
