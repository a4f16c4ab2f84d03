// Verifying while somebody changes the namespace. The states that it goes through are all wrong,
// each in one place or two: a fault is put in before another is taken out. A reading that mixes two
// of them can miss every fault, and would then look like the plan: no verdict may ever come of it.
// That such readings happen is shown in the same run, by the same reader without its checks.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_cls.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "applier/iptables.hpp"
#include "applier/netdev.hpp"
#include "applier/nft_encoding.hpp"
#include "base/error.hpp"
#include "netlink/message.hpp"
#include "netlink/socket.hpp"
#include "render/render.hpp"
#include "tests/live/fixture/containment.hpp"
#include "verifier/collect.hpp"
#include "verifier/verify.hpp"

namespace vethgate::live {
namespace {

constexpr int kVerifications = 1000;
constexpr int kUncheckedReadings = 600;
constexpr int kPrograms = 25;
constexpr std::chrono::milliseconds kAnswer{10'000};
constexpr std::chrono::milliseconds kPatience{30'000};
constexpr const char* kPolicy = R"({
  "version": 1,
  "deny": ["203.0.113.0/24"],
  "layers": ["iptables", "flower", "netdev"]})";
constexpr const char* kDenied = "203.0.113.0/24";

// Requests to one protocol of the kernel, each acknowledged. A transaction of nf_tables is one.
class Writer {
 public:
  explicit Writer(int protocol) : socket_(protocol) {}

  // The answers to a dump.
  [[nodiscard]] std::vector<RawMessage> ask(RawMessage request) {
    return dump(socket_, std::move(request), Deadline::after(kAnswer));
  }

  void send(std::vector<RawMessage> messages, std::size_t answered) {
    Bytes datagram;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      stampMessage(messages[i], socket_.nextSequence(), socket_.portId());
      datagram.insert(datagram.end(), messages[i].begin(), messages[i].end());
      datagram.resize(NLMSG_ALIGN(datagram.size()));
    }
    if (!socket_.sendDatagram(datagram)) {
      throw std::runtime_error("the kernel took no request");
    }
    for (const RawMessage& answer : socket_.receive(Deadline::after(kAnswer))) {
      if (const auto outcome = readAcknowledgement(answer); outcome.error != 0) {
        throwKernelError(outcome, "message type " +
                                      std::to_string(messageHeader(messages[answered]).nlmsg_type));
      }
    }
  }

 private:
  NetlinkSocket socket_;
};

constexpr std::uint16_t kMake = NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
constexpr std::uint16_t kTake = NLM_F_ACK;

tcmsg trafficControl(std::uint32_t link, std::uint32_t parent) {
  tcmsg header{};
  header.tcm_ifindex = static_cast<int>(link);
  header.tcm_parent = parent;
  return header;
}

RawMessage linkRequest(bool on) {
  MessageBuilder builder(on ? RTM_NEWLINK : RTM_DELLINK, on ? kMake : kTake);
  builder.header(ifinfomsg{});
  builder.putString(IFLA_IFNAME, "churn0");
  if (on) {
    const auto info = builder.nest(IFLA_LINKINFO);
    builder.putString(IFLA_INFO_KIND, "dummy");
  }
  return std::move(builder).finish();
}

RawMessage qdiscRequest(bool on) {
  constexpr std::uint32_t kLoopback = 1;
  MessageBuilder builder(on ? RTM_NEWQDISC : RTM_DELQDISC, on ? kMake : kTake);
  tcmsg header = trafficControl(kLoopback, TC_H_CLSACT);
  header.tcm_handle = TC_H_MAKE(TC_H_CLSACT, 0);
  builder.header(header);
  builder.putString(TCA_KIND, "clsact");
  return std::move(builder).finish();
}

constexpr std::uint32_t kEgress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);

// Of IPv4, without an action: everything passes. Before all others, or behind them.
RawMessage filterRequest(std::uint32_t link, std::uint32_t pref, bool on) {
  MessageBuilder builder(on ? RTM_NEWTFILTER : RTM_DELTFILTER, on ? kMake : kTake);
  tcmsg header = trafficControl(link, kEgress);
  header.tcm_handle = 1;
  header.tcm_info = TC_H_MAKE(pref << 16, htons(ETH_P_IP));
  builder.header(header);
  builder.putString(TCA_KIND, "flower");
  if (on) {
    const auto options = builder.nestUnmarked(TCA_OPTIONS);
    builder.putU16Be(TCA_FLOWER_KEY_ETH_TYPE, ETH_P_IP);
  }
  return std::move(builder).finish();
}

RawMessage chainRequest(std::uint32_t link, bool on) {
  constexpr std::uint32_t kNumber = 5;
  MessageBuilder builder(on ? RTM_NEWCHAIN : RTM_DELCHAIN, on ? kMake : kTake);
  builder.header(trafficControl(link, kEgress));
  builder.putU32(TCA_CHAIN, kNumber);
  return std::move(builder).finish();
}

RawMessage transactionEdge(std::uint16_t type) {
  MessageBuilder builder(type, 0);
  builder.header(nfgenmsg{AF_UNSPEC, NFNETLINK_V0, htons(NFNL_SUBSYS_NFTABLES)});
  return std::move(builder).finish();
}

std::vector<RawMessage> transaction(std::uint16_t message, std::uint16_t flags,
                                    const std::function<void(MessageBuilder&)>& fill) {
  MessageBuilder builder(static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message), flags);
  builder.header(nfgenmsg{NFPROTO_IPV4, NFNETLINK_V0, 0});
  fill(builder);
  std::vector<RawMessage> messages;
  messages.push_back(transactionEdge(NFNL_MSG_BATCH_BEGIN));
  messages.push_back(std::move(builder).finish());
  messages.push_back(transactionEdge(NFNL_MSG_BATCH_END));
  return messages;
}

std::vector<RawMessage> tableRequest(bool on) {
  return transaction(on ? NFT_MSG_NEWTABLE : NFT_MSG_DELTABLE, on ? kMake : kTake,
                     [](MessageBuilder& builder) { builder.putString(NFTA_TABLE_NAME, "churn"); });
}

std::vector<RawMessage> nftChainRequest(bool on) {
  return transaction(on ? NFT_MSG_NEWCHAIN : NFT_MSG_DELCHAIN, on ? kMake : kTake,
                     [](MessageBuilder& builder) {
                       builder.putString(NFTA_CHAIN_TABLE, "filter");
                       builder.putString(NFTA_CHAIN_NAME, "churn");
                     });
}

std::vector<RawMessage> objectRequest(bool on) {
  return transaction(on ? NFT_MSG_NEWOBJ : NFT_MSG_DELOBJ, on ? kMake : kTake,
                     [](MessageBuilder& builder) {
                       builder.putString(NFTA_OBJ_TABLE, "filter");
                       builder.putString(NFTA_OBJ_NAME, "churn");
                       builder.putU32Be(NFTA_OBJ_TYPE, NFT_OBJECT_COUNTER);
                       const auto data = builder.nest(NFTA_OBJ_DATA);
                     });
}

// Accepts every packet, ahead of all rules of the plan.
std::vector<RawMessage> acceptRequest() {
  return transaction(NFT_MSG_NEWRULE, NLM_F_ACK | NLM_F_CREATE, [](MessageBuilder& builder) {
    builder.putString(NFTA_RULE_TABLE, "filter");
    builder.putString(NFTA_RULE_CHAIN, "OUTPUT");
    const auto expressions = builder.nest(NFTA_RULE_EXPRESSIONS);
    putVerdict(builder, NF_ACCEPT);
  });
}

// A rule is deleted by the name that the kernel gave it, here of the first in the chain.
Bytes firstHandle(Writer& writer) {
  MessageBuilder builder(nfTablesType(NFT_MSG_GETRULE), NLM_F_DUMP);
  builder.header(nfgenmsg{NFPROTO_IPV4, NFNETLINK_V0, 0});
  builder.putString(NFTA_RULE_TABLE, "filter");
  builder.putString(NFTA_RULE_CHAIN, "OUTPUT");
  const RawMessage first = writer.ask(std::move(builder).finish()).front();
  ByteView rest = ByteView(first).subspan(sizeof(nlmsghdr) + sizeof(nfgenmsg));
  while (rest.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, rest.data(), sizeof header);
    if ((header.nla_type & NLA_TYPE_MASK) == NFTA_RULE_HANDLE) {
      const ByteView handle = rest.subspan(sizeof header, header.nla_len - sizeof header);
      return {handle.begin(), handle.end()};
    }
    rest = rest.subspan(NLA_ALIGN(header.nla_len));
  }
  throw std::runtime_error("a rule without a handle");
}

std::vector<RawMessage> deleteRequest(const Bytes& handle) {
  return transaction(NFT_MSG_DELRULE, kTake, [&](MessageBuilder& builder) {
    builder.putString(NFTA_RULE_TABLE, "filter");
    builder.putString(NFTA_RULE_CHAIN, "OUTPUT");
    builder.put(NFTA_RULE_HANDLE, handle);
  });
}

// The netdev layer replaced in one transaction, since the kernel changes no set that a rule looks
// up: by the plan's own, or by one whose set lacks what the policy denies.
std::vector<RawMessage> netdevRequest(const Plan& plan, bool lacking) {
  MessageBuilder removal(nfTablesType(NFT_MSG_DELTABLE), kTake);
  removal.header(nfgenmsg{NFPROTO_NETDEV, NFNETLINK_V0, 0});
  removal.putString(NFTA_TABLE_NAME, "vethgate");
  std::vector<RawMessage> messages;
  messages.push_back(transactionEdge(NFNL_MSG_BATCH_BEGIN));
  messages.push_back(std::move(removal).finish());
  messages.push_back(newNetdevTable());
  messages.push_back(newEgressChain(plan.link.name));
  std::uint32_t number = 0;
  for (NetdevRule rule : plan.netdev.value()) {
    if (!rule.set.empty()) {
      if (lacking) {
        std::erase(rule.to, Prefix::parse(kDenied, "the denied prefix"));
      }
      messages.push_back(newSet(rule, ++number));
      for (RawMessage& elements : newSetElements(rule)) {
        messages.push_back(std::move(elements));
      }
    }
    messages.push_back(appendNetdevRule(rule));
  }
  messages.push_back(transactionEdge(NFNL_MSG_BATCH_END));
  return messages;
}

// Changes the namespace until it is destroyed, in a thread of its own. Whatever it does, at least
// one fault is there from the end of the constructor to the start of stop().
class Churner {
 public:
  Churner(const Namespace& netns, const Plan& plan) {
    {
      const NamespaceScope scope(netns);
      route_ = std::make_unique<Writer>(NETLINK_ROUTE);
      netfilter_ = std::make_unique<Writer>(NETLINK_NETFILTER);
    }
    const auto route = [this](RawMessage message) { route_->send({std::move(message)}, 0); };
    const auto nft = [this](std::vector<RawMessage> messages) {
      netfilter_->send(std::move(messages), 1);
    };
    const auto accept = [this](bool on) {
      if (on) {
        netfilter_->send(acceptRequest(), 1);
        accepting_ = firstHandle(*netfilter_);
      } else {
        netfilter_->send(deleteRequest(accepting_), 1);
      }
    };
    const std::uint32_t link = plan.link.index;
    constexpr std::uint32_t kFirstPref = 1;
    constexpr std::uint32_t kLastPref = 65'000;
    faults_ = {[route](bool on) { route(linkRequest(on)); },
               [route](bool on) { route(qdiscRequest(on)); },
               [route, link](bool on) { route(filterRequest(link, kFirstPref, on)); },
               [route, link](bool on) { route(filterRequest(link, kLastPref, on)); },
               [route, link](bool on) { route(chainRequest(link, on)); },
               [nft](bool on) { nft(tableRequest(on)); },
               [nft](bool on) { nft(nftChainRequest(on)); },
               [nft](bool on) { nft(objectRequest(on)); },
               accept,
               [nft, plan](bool on) { nft(netdevRequest(plan, on)); }};
    faults_[current_](true);
    thread_ = std::thread([this] { churn(); });
  }
  ~Churner() { stop(); }
  Churner(const Churner&) = delete;
  Churner& operator=(const Churner&) = delete;

  // Takes the last fault out. The thread's failure, if any, is in failure().
  void stop() {
    if (thread_.joinable()) {
      stopping_ = true;
      thread_.join();
      faults_[current_](false);
    }
  }
  [[nodiscard]] int swaps() const { return swaps_; }
  [[nodiscard]] const std::string& failure() const { return failure_; }  // after stop()

 private:
  void churn() {
    std::mt19937 random(20'260'101);  // NOLINT: the same churn every time
    try {
      while (!stopping_) {
        const std::size_t next = (current_ + 1 + random() % (faults_.size() - 1)) % faults_.size();
        faults_[next](true);
        faults_[std::exchange(current_, next)](false);
        ++swaps_;
        // Long enough, now and then, for a reading to be of one state.
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 8 == 0 ? 30'000 : 0));
      }
    } catch (const std::exception& error) {
      failure_ = error.what();
    }
  }

  std::unique_ptr<Writer> route_;
  std::unique_ptr<Writer> netfilter_;
  Bytes accepting_;  // the handle of the rule that accepts everything
  std::vector<std::function<void(bool)>> faults_;
  std::size_t current_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<int> swaps_ = 0;
  std::string failure_;
  std::thread thread_;
};

struct Outcomes {
  int contained = 0;
  int refused = 0;   // read in peace, and judged
  int changing = 0;  // never read in peace
};

class Churn : public testing::Test {
 protected:
  Churn()
      : job_(host_),
        rendered_(contain(job_, kPolicy)),
        policy_(readPolicy(std::string_view(rendered_.policy))),
        link_(readLink(Json::parse(rendered_.link), "link")),
        plan_(renderPlan(policy_, link_)) {
    for (const NetdevRule& rule : plan_.netdev.value()) {
      if (!rule.set.empty()) {
        sets_.push_back(rule.set);
      }
    }
  }

  // As vethgate-verify does it, without its process.
  void verifyOnce(Outcomes& outcomes) {
    try {
      const Capture capture =
          collect(link_.index, sets_, Surroundings(), Deadline::after(kPatience));
      const auto verdict = judge(policy_, plan_, capture);
      ++(verdict.code == ExitCode::kDone ? outcomes.contained : outcomes.refused);
    } catch (const Failure& failure) {
      ASSERT_EQ(failure.code(), ExitCode::kRefused) << failure.what();
      ++outcomes.changing;
    }
  }

  // One pass, whatever happened meanwhile, judged with and without its second reading.
  void readUnchecked(int& tornOnce, int& tornTwice) {
    Capture capture;
    try {
      capture =
          readNamespace(link_.index, sets_, Surroundings(), Deadline::after(kPatience)).capture;
    } catch (const Failure& failure) {  // one dump that kept being interrupted
      ASSERT_EQ(failure.code(), ExitCode::kRefused) << failure.what();
      return;
    }
    tornTwice += judge(policy_, plan_, capture).code == ExitCode::kDone ? 1 : 0;
    for (std::size_t i = 0; i < kReadTwice; ++i) {
      capture.dump(againOf(static_cast<DumpId>(i))).reset();
    }
    tornOnce += judge(policy_, plan_, capture).code == ExitCode::kDone ? 1 : 0;
  }

  Host host_;
  Job job_;
  Rendered rendered_;
  Policy policy_;
  Link link_;
  Plan plan_;
  std::vector<std::string> sets_;
};

TEST_F(Churn, NoTornReadingIsEverContained) {
  const NamespaceScope scope(job_.netns());
  Outcomes before;
  verifyOnce(before);
  EXPECT_EQ(before.contained, 1) << "nobody changes anything yet";

  Outcomes outcomes;
  Churner churner(job_.netns(), plan_);
  for (int i = 0; i < kVerifications; ++i) {
    ASSERT_NO_FATAL_FAILURE(verifyOnce(outcomes));
  }
  const int swaps = churner.swaps();
  int byProgram = 0;
  for (int i = 0; i < kPrograms; ++i) {
    const Verdict verdict = verify(job_.netns(), rendered_.policy, rendered_.link);
    EXPECT_FALSE(verdict.finished.timedOut);
    EXPECT_THAT(verdict.finished.exit, testing::AnyOf(7, 8)) << verdict;
    byProgram += verdict.contained() ? 1 : 0;
  }
  int tornOnce = 0;
  int tornTwice = 0;
  for (int i = 0; i < kUncheckedReadings; ++i) {
    ASSERT_NO_FATAL_FAILURE(readUnchecked(tornOnce, tornTwice));
  }
  churner.stop();
  EXPECT_EQ(churner.failure(), "");
  Outcomes after;
  verifyOnce(after);
  EXPECT_EQ(after.contained, 1) << "nobody changes anything any more";

  std::cout << "churn: " << kVerifications << " verifications over " << swaps
            << " changes: " << outcomes.contained << " contained, " << outcomes.refused
            << " refused as read, " << outcomes.changing << " never at rest; " << kPrograms
            << " by the program: " << byProgram << " contained\n"
            << "churn: " << kUncheckedReadings << " unchecked readings: " << tornOnce
            << " torn and taken for the plan when read once, " << tornTwice << " when read twice\n";
  EXPECT_EQ(outcomes.contained, 0);
  EXPECT_EQ(byProgram, 0);
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.changing, 0);
  EXPECT_GT(swaps, kVerifications / 10);
  EXPECT_GT(tornOnce, 0) << "the churn tears nothing, so its absence proves nothing";
}

}  // namespace
}  // namespace vethgate::live
