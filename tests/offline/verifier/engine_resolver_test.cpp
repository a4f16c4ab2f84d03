// The engine's own NAT for its resolver: real namespaces of every engine, each single departure
// from it refused by name, and that it changes nothing of what is said of the rules.
#include <gmock/gmock.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include <array>
#include <set>

#include "engine_table.hpp"
#include "render/render.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

using testing::HasSubstr;

// Handles counted anew and each position the handle before, as the kernel would say it of the rules
// that are there now.
void repairPositions(Capture& capture) {
  const auto [first, count] = natIn(capture, DumpId::kNftRules);
  Bytes chain;
  for (std::size_t i = 0; i < count; ++i) {
    edit(capture, DumpId::kNftRules, first + i, [&chain, i](Attributes& all) {
      std::erase_if(all, [](const Attribute& one) { return one.type == NFTA_RULE_POSITION; });
      at(all, "3").value = be64(100 + i);
      if (at(all, "2").value == chain) {
        all.push_back(leaf(NFTA_RULE_POSITION, be64(99 + i)));
      }
      chain = at(all, "2").value;
    });
  }
}

// The listener's port in the translation of destinations and in the match of the way back.
void setPort(Capture& capture, std::size_t dnat, std::size_t snat, std::uint16_t port) {
  const Bytes bytes = be16(port);
  editNat(capture, DumpId::kNftRules, dnat, [&bytes](Attributes& all) {
    Bytes& info = at(all, kInfo).value;
    std::copy(bytes.begin(), bytes.end(), info.begin() + 36);
    std::copy(bytes.begin(), bytes.end(), info.begin() + 38);
  });
  editNat(capture, DumpId::kNftRules, snat, set("4/1[5]/2/3/1", bytes));
}

EngineResolver portsIn(Capture capture) {
  EngineResolver ports;
  for (const std::size_t rule : {kDnatTcp, kDnatUdp}) {
    editNat(capture, DumpId::kNftRules, rule, [&ports, rule](Attributes& all) {
      const Bytes& info = at(all, kInfo).value;
      (rule == kDnatTcp ? ports.tcp : ports.udp) =
          static_cast<std::uint16_t>(info.at(36) << 8 | info.at(37));
    });
  }
  return ports;
}

const std::vector<std::string> kPodman = {"engine-podman-4.3", "engine-podman-5.4"};

TEST(EngineResolver, EveryEnginesNamespaceIsContained) {
  for (const std::string& name : kDocker) {
    const Fixture f = fixture(name);
    const Verdict verdict = judged(f);
    EXPECT_EQ(reasonsOf(verdict), "") << name;
    EXPECT_EQ(verdict.code, ExitCode::kDone) << name;
    const EngineResolver ports = portsIn(f.capture);
    EXPECT_EQ(verdict.resolver, ports) << name;
    EXPECT_THAT(verdictText(verdict),
                HasSubstr(R"("engine":{"resolver":{"tcp":)" + std::to_string(ports.tcp) +
                          R"(,"udp":)" + std::to_string(ports.udp) + "}}"));
    EXPECT_THAT(verdictSentence(verdict), HasSubstr("but the engine's NAT for its resolver"));
  }
  for (const std::string& name : kPodman) {
    const Verdict verdict = judged(fixture(name));
    EXPECT_EQ(reasonsOf(verdict), "") << name;
    EXPECT_EQ(verdict.resolver, std::nullopt) << name;
    EXPECT_THAT(verdictText(verdict), HasSubstr(R"("engine":{"resolver":null})"));
    EXPECT_THAT(verdictSentence(verdict), HasSubstr("and nothing else is"));
  }
}

TEST(EngineResolver, DigestSaysThatItIsThereAndNotItsPorts) {
  std::set<std::string> with;
  std::set<std::string> without;
  for (const std::string& name : kDocker) {
    Fixture f = fixture(name);
    with.insert(judged(f).readback.value());
    setPort(f.capture, kDnatTcp, kSnatTcp, 1);
    setPort(f.capture, kDnatUdp, kSnatUdp, 65535);
    const Verdict verdict = judged(f);
    EXPECT_EQ(reasonsOf(verdict), "");
    EXPECT_EQ(verdict.resolver, (EngineResolver{65535, 1}));
    with.insert(verdict.readback.value());
  }
  for (const std::string& name : kPodman) {
    without.insert(judged(fixture(name)).readback.value());
  }
  without.insert(judged(fixture("contained-tiny-6.1")).readback.value());
  EXPECT_EQ(with.size(), 1U);
  EXPECT_EQ(without.size(), 1U);
  EXPECT_NE(with, without);
}

TEST(EngineResolver, NothingElseOfTheVerdictChangesWithIt) {
  for (const std::string& name : kDocker) {
    Fixture f = fixture(name);
    const Plan plan = renderPlan(f.policy, f.link);
    const Verdict there = judge(f.policy, plan, f.capture, true);
    for (const DumpId id : kNatDumps) {
      std::erase_if(messages(f.capture, id),
                    [](const RawMessage& message) { return isOf(message, "nat"); });
    }
    const Verdict gone = judge(f.policy, plan, f.capture, true);
    EXPECT_EQ(reasonsOf(gone), "");
    EXPECT_EQ(gone.resolver, std::nullopt);
    EXPECT_EQ(gone.reach, there.reach);
    EXPECT_NE(gone.reach, "");
    EXPECT_EQ(gone.drops, there.drops);
    EXPECT_EQ(gone.v4, there.v4);
    EXPECT_EQ(gone.unchecked, there.unchecked);
  }
}

TEST(EngineResolver, ItDoesNotExcuseWhatElseIsWrong) {
  Fixture f = fixture(kDocker.front());
  f.policy.iptables = false;
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_TRUE(verdict.resolver);
  EXPECT_THAT(reasonsOf(verdict), HasSubstr("table ip filter is there, expected none"));
  EXPECT_THAT(reasonsOf(verdict), testing::Not(HasSubstr("nat")));
}

TEST(EngineResolver, HandlesAndCountersCarryNoMeaning) {
  for (const std::string& name : kDocker) {
    Fixture f = fixture(name);
    const Verdict before = judged(f);
    repairPositions(f.capture);  // with other handles
    editNat(f.capture, DumpId::kNftTables, 0, set("4", be64(77)));
    for (std::size_t chain = 0; chain < 4; ++chain) {
      editNat(f.capture, DumpId::kNftChains, chain, set("2", be64(78 + chain)));
    }
    editNat(f.capture, DumpId::kNftRules, kSnatUdp, set("4/1[6]/2/2", be64(79)));
    editNat(f.capture, DumpId::kNftRules, kJump, set("4/1[2]/2/1", be64(80)));
    const Verdict after = judged(f);
    EXPECT_EQ(reasonsOf(after), "") << name;
    EXPECT_EQ(after.readback, before.readback);
    EXPECT_EQ(after.resolver, before.resolver);
  }
}

// Flags, both addresses, ports that are not the same, and padding.
TEST(EngineResolver, EveryBitOfATranslationIsJudged) {
  for (const std::string& name : kDocker) {
    Fixture f = fixture(name);
    ASSERT_EQ(reasonsOf(judged(f)), "");
    for (const auto& [rule, size] :
         {std::pair{kDnatTcp, 48U}, {kDnatUdp, 48U}, {kSnatTcp, 24U}, {kSnatUdp, 24U}}) {
      for (unsigned bit = 0; bit < size * 8; ++bit) {
        const auto flip = [bit, size = size](Attributes& all) {
          Bytes& info = at(all, kInfo).value;
          ASSERT_EQ(info.size(), size);
          info.at(bit / 8) = static_cast<std::uint8_t>(info.at(bit / 8) ^ (1U << bit % 8));
        };
        editNat(f.capture, DumpId::kNftRules, rule, flip);
        EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("NFTA_TARGET_INFO: is ")) << rule << " " << bit;
        editNat(f.capture, DumpId::kNftRules, rule, flip);
      }
    }
    EXPECT_EQ(reasonsOf(judged(f)), "");
  }
}

TEST(EngineResolver, ItsPortsAreNotZeroAndTheSameBothWays) {
  Fixture f = fixture(kDocker.front());
  setPort(f.capture, kDnatUdp, kSnatUdp, 0);
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("ip nat DOCKER_OUTPUT #2"));
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("leads to port 0"));
  f = fixture(kDocker.front());
  const EngineResolver ports = portsIn(f.capture);
  ASSERT_NE(ports.tcp, ports.udp);
  setPort(f.capture, kDnatUdp, kSnatTcp, ports.udp);  // the way back of the other one
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("ip nat DOCKER_POSTROUTING #1"));
}

TEST(EngineResolver, OneWriterWroteAllRules) {
  const Capture other = fixture(kDocker.at(1)).capture;
  for (const std::size_t rule : {kDnatTcp, kDnatUdp, kSnatTcp, kSnatUdp}) {
    Fixture f = fixture(kDocker.at(0));
    const EngineResolver ports = portsIn(f.capture);
    Attributes expressions;
    Capture from = other;
    editNat(from, DumpId::kNftRules, rule,
            [&expressions](Attributes& all) { expressions = at(all, "4").children; });
    editNat(f.capture, DumpId::kNftRules, rule,
            [&expressions](Attributes& all) { at(all, "4").children = expressions; });
    setPort(f.capture, kDnatTcp, kSnatTcp, ports.tcp);
    setPort(f.capture, kDnatUdp, kSnatUdp, ports.udp);
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("NFTA_EXPR_NAME: is \"")) << rule;
  }
}

TEST(EngineResolver, AMissingRuleIsNamed) {
  const std::vector<std::string> names = {
      "DOCKER_OUTPUT",      "DOCKER_OUTPUT",      "OUTPUT",
      "DOCKER_POSTROUTING", "DOCKER_POSTROUTING", "POSTROUTING"};
  for (std::size_t rule = 0; rule < kRules; ++rule) {
    Fixture f = fixture(kDocker.at(rule % 2));
    auto& rules = messages(f.capture, DumpId::kNftRules);
    rules.erase(rules.begin() +
                static_cast<std::ptrdiff_t>(natIn(f.capture, DumpId::kNftRules).first + rule));
    repairPositions(f.capture);
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("ip nat " + names.at(rule))) << rule;
    // Also when the chain says so.
    const std::size_t chain = std::array{0U, 0U, 1U, 2U, 2U, 3U}.at(rule);
    editNat(f.capture, DumpId::kNftChains, chain, [](Attributes& all) {
      Bytes& uses = at(all, "6").value;
      uses.back() = static_cast<std::uint8_t>(uses.back() - 1);
    });
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("NFTA_CHAIN_USE: is ")) << rule;
  }
}

TEST(EngineResolver, RulesKeepTheirOrder) {
  for (std::size_t rule = 0; rule + 1 < kRules; ++rule) {
    Fixture f = fixture(kDocker.at(rule % 2));
    auto& rules = messages(f.capture, DumpId::kNftRules);
    const std::size_t first = natIn(f.capture, DumpId::kNftRules).first + rule;
    std::swap(rules.at(first), rules.at(first + 1));
    repairPositions(f.capture);
    EXPECT_EQ(judged(f).code, ExitCode::kRefused) << rule;
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("table ip nat is there")) << rule;
  }
}

TEST(EngineResolver, ChainsKeepTheirOrder) {
  for (std::size_t chain = 0; chain + 1 < 4; ++chain) {
    Fixture f = fixture(kDocker.at(chain % 2));
    auto& chains = messages(f.capture, DumpId::kNftChains);
    const std::size_t first = natIn(f.capture, DumpId::kNftChains).first + chain;
    std::swap(chains.at(first), chains.at(first + 1));
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr(" stands behind ")) << chain;
  }
}

TEST(EngineResolver, ARuleMoreIsRefused) {
  for (std::size_t rule = 0; rule < kRules; ++rule) {
    Fixture f = fixture(kDocker.at(rule % 2));
    auto& rules = messages(f.capture, DumpId::kNftRules);
    const auto at = rules.begin() +
                    static_cast<std::ptrdiff_t>(natIn(f.capture, DumpId::kNftRules).first + rule);
    rules.insert(at, *at);
    repairPositions(f.capture);
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("ip nat ")) << rule;
    EXPECT_EQ(judged(f).code, ExitCode::kRefused) << rule;
  }
  // Behind the last one, when all six have been recognised.
  Fixture f = fixture(kDocker.front());
  auto& rules = messages(f.capture, DumpId::kNftRules);
  const auto [first, count] = natIn(f.capture, DumpId::kNftRules);
  const RawMessage last = rules.at(first + count - 1);
  rules.insert(rules.begin() + static_cast<std::ptrdiff_t>(first + count), last);
  repairPositions(f.capture);
  EXPECT_THAT(reasonsOf(judged(f)),
              HasSubstr("ip nat POSTROUTING #2: NFT_MSG_NEWRULE: is there, expected 1 in"));
  EXPECT_EQ(judged(f).resolver, std::nullopt);
}

TEST(EngineResolver, AChainMoreOrMissingIsRefused) {
  for (std::size_t chain = 0; chain < 4; ++chain) {
    Fixture f = fixture(kDocker.at(chain % 2));
    auto& chains = messages(f.capture, DumpId::kNftChains);
    const auto at = chains.begin() +
                    static_cast<std::ptrdiff_t>(natIn(f.capture, DumpId::kNftChains).first + chain);
    const RawMessage copy = *at;
    chains.insert(at, copy);
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr(" of table ip nat stands twice")) << chain;
    std::erase(chains, copy);
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("resolver: missing chain ")) << chain;
  }
}

TEST(EngineResolver, WithoutAPartOfItTheRestIsRefused) {
  for (const DumpId id : kNatDumps) {
    Fixture f = fixture(kDocker.front());
    const auto nat = [](const RawMessage& message) { return isOf(message, "nat"); };
    EXPECT_GT(std::erase_if(messages(f.capture, id), nat), 0U);
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("table ip nat is there")) << dumpName(id);
    f = fixture(kDocker.front());
    for (const DumpId other : kNatDumps) {
      if (other != id) {
        std::erase_if(messages(f.capture, other), nat);
      }
    }
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("table ip nat is there")) << dumpName(id);
  }
}

TEST(EngineResolver, TheTableTwiceIsRefused) {
  Fixture f = fixture(kDocker.front());
  auto& tables = messages(f.capture, DumpId::kNftTables);
  tables.insert(tables.begin(), tables.at(natIn(f.capture, DumpId::kNftTables).first));
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("table ip nat stands twice"));
}

TEST(EngineResolver, InAnotherFamilyItIsForeign) {
  for (const auto& [family, name] : {std::pair{10, "ip6"}, std::pair{1, "inet"}}) {
    Fixture f = fixture(kDocker.front());
    for (const DumpId id : kNatDumps) {
      const auto [first, count] = natIn(f.capture, id);
      for (std::size_t i = 0; i < count; ++i) {
        poke(f.capture, id, first + i, 16, {static_cast<std::uint8_t>(family)});
      }
    }
    const Verdict verdict = judged(f);
    EXPECT_EQ(verdict.resolver, std::nullopt);
    EXPECT_THAT(reasonsOf(verdict),
                HasSubstr(std::string("table ") + name + " nat is there, expected none\n"));
  }
}

TEST(EngineResolver, LegacyIptablesIsRefusedAllTheSame) {
  Fixture f = fixture(kDocker.front());
  f.capture.legacy = {"ip nat"};
  EXPECT_EQ(reasonsOf(judged(f)), "legacy iptables tables are there, expected none: ip nat\n");
}

}  // namespace
}  // namespace vethgate::test
