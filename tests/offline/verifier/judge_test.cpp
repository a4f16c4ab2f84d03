// The judgement over whole captures: what real kernels hold, what does not belong to the question
// asked, and envelopes that no kernel makes.
#include <gmock/gmock.h>
#include <linux/netlink.h>

#include <filesystem>
#include <map>
#include <set>

#include "render/render.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

using testing::HasSubstr;

std::set<std::string> captureNames(const std::string& prefix) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(capturesFolder())) {
    const std::string name = entry.path().stem().string();
    if (name.starts_with(prefix) && entry.path().extension() == ".json") {
      names.insert(name);
    }
  }
  return names;
}

TEST(Captures, WhatTheApplierBuiltIsContainedOnBothKernels) {
  std::map<std::string, std::set<std::string>> digests;  // by policy
  for (const std::string& name : captureNames("contained-")) {
    const Fixture f = fixture(name);
    const Verdict verdict = judged(f);
    EXPECT_EQ(verdict.code, ExitCode::kDone) << name << ": " << reasonsOf(verdict);
    EXPECT_EQ(verdict.reasons.empty(), verdict.code == ExitCode::kDone);
    const Plan plan = renderPlan(f.policy, f.link);
    EXPECT_EQ(verdict.v4, plan.iptables ? plan.iptables->v4.size() : 0) << name;
    EXPECT_EQ(verdict.v6, plan.iptables ? plan.iptables->v6.size() : 0) << name;
    EXPECT_EQ(verdict.flower, plan.flower ? plan.flower->size() : 0) << name;
    EXPECT_EQ(verdict.netdev, plan.netdev ? plan.netdev->size() : 0) << name;
    ASSERT_TRUE(verdict.readback);
    digests[name.substr(0, name.find_last_of('-'))].insert(*verdict.readback);
  }
  EXPECT_EQ(digests.size(), 8U);
  std::set<std::string> all;
  for (const auto& [policy, both] : digests) {
    EXPECT_EQ(both.size(), 1U) << policy << " reads back differently on another kernel";
    all.insert(both.begin(), both.end());
  }
  EXPECT_EQ(all.size(), digests.size()) << "two policies read back as the same";
}

TEST(Captures, DropsCountWhatWasStopped) {
  // collect sent one datagram to 203.0.113.9 from each namespace; OUTPUT sees it first.
  EXPECT_THAT(judged(fixture("contained-small-6.1")).drops,
              testing::Contains(testing::Pair("iptables v4 #15 drop 203.0.113.0/24", 1)));
  EXPECT_THAT(judged(fixture("contained-flower-only-6.1")).drops,
              testing::Contains(testing::Pair(HasSubstr("drop 203.0.113.0/24"), 1)));
}

// What tc, iptables-nft and nft did to a namespace that was contained before: see captures/collect.
const std::map<std::string, const char*> kTampered = {
    {"chain-template", "chain 3 is there, expected one chain 0"},
    {"flower-chain", "chain 7 is there, expected one chain 0"},
    {"flower-classid", "handle 0x2: RTM_NEWTFILTER/TCA_OPTIONS/TCA_FLOWER_CLASSID"},
    {"flower-cookie", "TCA_ACT_COOKIE"},
    {"flower-deleted", "flower pref 103 handle 0x2: drop 203.0.113.0/24 is missing (denied)"},
    {"flower-goto", "flower pref 90 handle 0x1: RTM_NEWTFILTER"},
    {"flower-indev", "TCA_FLOWER_INDEV"},
    {"flower-ingress", "flower pref 90 handle 0x1 is on the ingress hook of link 2"},
    {"flower-matchall", "TCA_KIND: is \"matchall\" at pref 90"},
    {"flower-mirred", "TCA_ACT_KIND: is \"mirred\", expected gact"},
    {"flower-narrowed", "flower pref 103 handle 0x2: IP protocol is 6, expected any (denied)"},
    {"flower-no-action", "TCA_FLOWER_ACT: is missing"},
    {"flower-pass", "flower pref 103 handle 0x2: action is pass, expected drop (denied)"},
    {"flower-random", "TCA_GACT_PROB"},
    {"flower-second-action", "TCA_FLOWER_ACT: holds 2 actions, expected 1"},
    {"flower-shared-action", "its action has ref 2 and bind 1, expected 1 and 1"},
    {"flower-source",
     "flower pref 103 handle 0x2: RTM_NEWTFILTER/TCA_OPTIONS/TCA_FLOWER_KEY_IPV4_SRC"},
    {"flower-tcp-flags", "TCA_FLOWER_KEY_TCP_FLAGS"},
    {"flower-u32", "TCA_KIND: is \"u32\" at pref 90"},
    {"flower-vlan", "the protocol is 33024"},
    {"iptables-comment", "iptables v4 #7: NFT_MSG_NEWRULE"},
    {"iptables-deleted", "iptables v4 #7: drop 203.0.113.0/24 is missing (denied)"},
    {"iptables-goto", "is -4 to chain other"},
    {"iptables-input", "a rule in chain INPUT of table ip filter"},
    {"iptables-inserted", "iptables v4 #1: accept 203.0.113.9/32 is there, expected no such rule"},
    {"iptables-interface", "iptables v4 #7: NFT_MSG_NEWRULE"},
    {"iptables-jump", "is -3 to chain other"},
    {"iptables-narrowed", "iptables v4 #7: protocol is 6, expected any (denied)"},
    {"iptables-nat",
     "table ip nat is there, expected none but that of the engine's resolver: missing chain "
     "DOCKER_OUTPUT"},
    {"iptables-negated", "NFTA_CMP_OP: is 1, expected 0 (equal)"},
    {"iptables-policy", "NFTA_CHAIN_POLICY: is 0, expected 1"},
    {"iptables-queue", "NFTA_TARGET_NAME: is \"NFQUEUE\", expected LOG"},
    {"iptables-return", "NFTA_VERDICT_CODE: is -5"},
    {"iptables-source", "iptables v4 #7: expression 1 is a payload load of 4 bytes at 12"},
    {"iptables-source-port", "iptables v4 #5: expression 5 is a payload load of 2 bytes at 0"},
    {"iptables-state", "iptables v4 #7: NFT_MSG_NEWRULE"},
    {"iptables-swapped",
     "iptables v4 #1: destination is 203.0.113.0/24, expected 169.254.169.254/32"},
    {"iptables-v6-code", "iptables v6 #3: NFT_MSG_NEWRULE"},
    {"iptables-v6-hop-limit", "is not a hop limit matched for equality"},
    {"legacy", "legacy iptables tables are there, expected none: ip filter"},
    {"nft-arp", "base chain o of table arp x is there"},
    {"nft-bridge", "table bridge x is there"},
    {"nft-chain", "chain other of table ip filter is there"},
    {"nft-comment", "NFTA_RULE_USERDATA"},
    {"nft-dormant", "NFTA_TABLE_FLAGS: is 1, expected 0"},
    {"nft-flowtable", "flowtable f of table ip filter is there, expected none"},
    {"nft-inet", "base chain OUTPUT of table inet x is there"},
    {"nft-limit-over", "NFTA_LIMIT_FLAGS: is 1"},
    {"nft-lookup", "set s of table ip filter is there, expected none"},
    {"nft-netdev", "base chain e of table netdev x is there"},
    {"nft-not-in-range", "NFTA_RANGE_OP: is 1"},
    {"nft-object", "object c of table ip filter is there, expected none"},
    {"nft-second-base", "base chain early of table ip filter is there"},
    {"nft-set", "set s of table ip filter is there, expected none"},
    {"qdisc-block", "qdisc clsact ffff:0000 at ffff:fff1 of link 2: RTM_NEWQDISC/TCA_EGRESS_BLOCK"},
    {"qdisc-lo", "qdiscs: link 1 has 1 qdiscs clsact, expected 0"},
    {"qdisc-missing", "qdiscs: link 2 has 0 qdiscs clsact, expected 1"},
    {"qdisc-root", "qdisc pfifo 0001:0000 at ffff:ffff of link 2: RTM_NEWQDISC: is there"},
};

TEST(Captures, WhatWasTamperedWithIsRefusedByName) {
  std::set<std::string> expected;
  for (const auto& [what, reason] : kTampered) {
    const std::string name = "refused-" + what + "-6.1";
    expected.insert(name);
    const Verdict verdict = judged(fixture(name));
    EXPECT_EQ(verdict.code, ExitCode::kRefused) << name;
    EXPECT_THAT(reasonsOf(verdict), HasSubstr(reason)) << name;
  }
  EXPECT_EQ(captureNames("refused-"), expected);
}

TEST(Judge, AnotherPolicyIsRefusedRuleByRule) {
  Fixture f = fixture("contained-small-6.1");
  f.policy = fixture("contained-tiny-6.1").policy;
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_EQ(verdict.policy, f.policy.digest);
  EXPECT_THAT(reasonsOf(verdict), HasSubstr("iptables v4: 20 rules are there, expected 11"));
  EXPECT_THAT(reasonsOf(verdict), HasSubstr("flower: 24 filters are there, expected"));
}

TEST(Judge, ALayerThatWasNotAskedForMayNotBeThere) {
  Fixture f = fixture("contained-tiny-6.1");
  f.policy.iptables = false;
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("table ip filter is there, expected none"));
  f = fixture("contained-tiny-6.1");
  f.policy.flower = false;
  const std::string reasons = reasonsOf(judged(f));
  EXPECT_THAT(reasons, HasSubstr("qdiscs: link 2 has 1 qdiscs clsact, expected 0"));
  EXPECT_THAT(reasons, HasSubstr("chain 0 is there, expected none"));
  EXPECT_THAT(reasons, HasSubstr("flower: 22 filters are there, expected 0"));
}

TEST(Judge, AnotherLinkOrNamespaceIsExitSeven) {
  const Fixture good = fixture("contained-small-6.1");
  ASSERT_EQ(judged(good).code, ExitCode::kDone);
  const std::map<std::string, std::function<void(Link&)>> changes = {
      {"index 3", [](Link& link) { link.index = 3; }},
      {"eth1", [](Link& link) { link.name = "eth1"; }},
      {"02:00:00:00:00:03", [](Link& link) { link.mac[5] = 3; }},
      {"peer 77", [](Link& link) { link.peer = 77; }},
      {"namespace is", [](Link& link) { link.netns += 1; }}};
  for (const auto& [what, change] : changes) {
    Fixture f = good;
    change(f.link);
    const Verdict verdict = judged(f);
    EXPECT_EQ(verdict.code, ExitCode::kWrongNamespace) << what;
    EXPECT_THAT(reasonsOf(verdict), HasSubstr(what));
    EXPECT_THAT(verdictText(verdict), HasSubstr("\"verdict\":\"refused\""));
  }
  Fixture f = good;
  f.capture.netns += 1;
  EXPECT_EQ(judged(f).code, ExitCode::kWrongNamespace);
}

TEST(Judge, LegacyTablesAreRefusedByName) {
  Fixture f = fixture("contained-small-6.1");
  f.capture.legacy = {"ip filter", "ip6 nat"};
  EXPECT_EQ(reasonsOf(judged(f)),
            "legacy iptables tables are there, expected none: ip filter, ip6 nat\n");
}

TEST(Judge, ReasonsAreBounded) {
  Fixture f = fixture("contained-small-6.1");
  for (std::size_t i = 0; i < 500; ++i) {
    f.policy.deny.push_back({Prefix(Address(Family::kV4, {100, static_cast<std::uint8_t>(i / 256),
                                                          static_cast<std::uint8_t>(i % 256), 0}),
                                    24),
                             "denied"});
  }
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.reasons.size(), 201U);
  EXPECT_THAT(verdict.reasons.back(), HasSubstr("more that are not listed"));
}

TEST(Judge, TheFirstReasonAloneIsTheFirstOfAll) {
  const auto first = [](const Fixture& f) {
    return judge(f.policy, renderPlan(f.policy, f.link), f.capture, false, Reasons::kFirst);
  };
  std::size_t several = 0;
  for (const std::string& name : captureNames("refused-")) {
    const Verdict all = judged(fixture(name));
    const Verdict one = first(fixture(name));
    EXPECT_EQ(one.code, all.code) << name;
    EXPECT_THAT(one.reasons, testing::ElementsAre(all.reasons.at(0))) << name;
    several += all.reasons.size() > 1 ? 1 : 0;
  }
  EXPECT_GT(several, 10U);
  Fixture elsewhere = fixture("contained-tiny-6.1");
  elsewhere.link.mac.at(5) ^= 1;
  EXPECT_EQ(first(elsewhere).code, ExitCode::kWrongNamespace);
  const Fixture contained = fixture("contained-small-6.1");
  EXPECT_EQ(verdictText(first(contained)), verdictText(judged(contained)));
}

TEST(Envelope, EveryDumpMustBeThereAndEnd) {
  const Fixture good = readTwice(fixture("contained-small-6.1"));
  EXPECT_EQ(reasonsOf(judged(good)), "");
  for (std::size_t i = 0; i < kDumpCount; ++i) {
    const auto id = static_cast<DumpId>(i);
    if (id == DumpId::kNftElements) {
      continue;  // one answer a set, none here: see netdev_test.cpp
    }
    const std::string name(dumpName(id));
    Fixture f = good;
    f.capture.dump(id).reset();
    EXPECT_EQ(reasonsOf(judged(f)), "dump " + name + ": is missing\n");
    f = good;
    messages(f.capture, id).pop_back();
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump " + name + ": ")) << "without its end";
    f = good;
    messages(f.capture, id).push_back(messages(f.capture, id).back());
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump " + name + ": ")) << "with its end twice";
    f = good;
    messages(f.capture, id).clear();
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump " + name + ": is empty"));
  }
}

TEST(Envelope, EachHeaderFieldIsChecked) {
  struct Field {
    std::size_t offset;
    std::uint8_t bit;
    const char* expected;
  };
  // struct nlmsghdr: length, type, flags, sequence, port. The last message, and the first.
  const std::vector<Field> fields = {
      {0, 1, "nlmsg_len"}, {4, 1, ""},  {6, 1, "nlmsg_flags"},       {7, 1, ""},
      {8, 1, ""},          {12, 1, ""}, {6, NLM_F_DUMP_INTR, "dump"}};
  const Fixture good = readTwice(fixture("contained-small-6.1"));
  for (std::size_t i = 0; i < kDumpCount; ++i) {
    const auto id = static_cast<DumpId>(i);
    if (id == DumpId::kNftElements) {
      continue;
    }
    for (const std::size_t index : {std::size_t{0}, good.capture.dump(id)->size() - 1}) {
      for (const Field& field : fields) {
        Fixture f = good;
        messages(f.capture, id).at(index).at(field.offset) ^= field.bit;
        const std::string reasons = reasonsOf(judged(f));
        EXPECT_NE(reasons, "") << dumpName(id) << " message " << index << " byte " << field.offset;
        EXPECT_THAT(reasons, HasSubstr(field.expected));
      }
    }
  }
}

TEST(Envelope, AnInterruptedDumpAndAnErrorAtItsEndAreNamed) {
  Fixture f = fixture("contained-small-6.1");
  messages(f.capture, DumpId::kNftRules).at(3).at(6) |= NLM_F_DUMP_INTR;
  EXPECT_EQ(reasonsOf(judged(f)), "dump nft.rules: message 3 says that the dump was interrupted\n");
  f = fixture("contained-small-6.1");
  messages(f.capture, DumpId::kQdiscs).back().at(16) = 0xf3;
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump qdiscs: ends with the error 243"));
}

TEST(Envelope, DumpsOfOneSocketFollowEachOther) {
  Fixture f = fixture("contained-small-6.1");
  std::swap(f.capture.dump(DumpId::kNftSets), f.capture.dump(DumpId::kNftObjects));
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("the sequence numbers of a socket jump"));
}

TEST(Envelope, AMarkOfAnotherGenerationIsSeen) {
  Fixture f = fixture("contained-small-6.1");
  messages(f.capture, DumpId::kNftRules).at(2).at(19) ^= 1;  // nfgenmsg.res_id
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("changed while it was read"));
}

}  // namespace
}  // namespace vethgate::test
