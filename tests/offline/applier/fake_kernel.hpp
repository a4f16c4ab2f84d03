// A kernel of a few lines: it remembers what was written, answers as the real one does, and fails
// where a test wants it to. It decodes headers only; whether the bytes mean what they should is
// golden_test.cpp.
#pragma once

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "applier/kernel.hpp"
#include "base/error.hpp"

namespace vethgate::test {

constexpr std::uint16_t nfType(std::uint16_t subsystem, std::uint16_t message) {
  return static_cast<std::uint16_t>(subsystem << 8 | message);
}
inline constexpr std::uint16_t kNewTable = nfType(NFNL_SUBSYS_NFTABLES, NFT_MSG_NEWTABLE);
inline constexpr std::uint16_t kNewChain = nfType(NFNL_SUBSYS_NFTABLES, NFT_MSG_NEWCHAIN);
inline constexpr std::uint16_t kNewRule = nfType(NFNL_SUBSYS_NFTABLES, NFT_MSG_NEWRULE);
inline constexpr std::uint16_t kGetGeneration = nfType(NFNL_SUBSYS_NFTABLES, NFT_MSG_GETGEN);
inline constexpr std::uint16_t kGetTables = nfType(NFNL_SUBSYS_NFTABLES, NFT_MSG_GETTABLE);
inline constexpr std::uint16_t kGetExtension = nfType(NFNL_SUBSYS_NFT_COMPAT, NFNL_MSG_COMPAT_GET);

class FakeKernel : public Kernel {
 public:
  struct Error {
    int error = 0;
    std::string text;
  };
  enum class Fault {
    kNone,
    kNoMemory,        // send reports ENOBUFS; the datagram was carried out all the same
    kSilence,         // no answer at all
    kOverrun,         // the answers were dropped
    kOtherSequence,   // the answers are of another request
    kOtherPort,       // the answers are for another socket
    kRepeatedAnswer,  // the first answer comes twice
    kOtherMessage,    // a notification in place of an answer
  };

  // What the namespace holds.
  bool clsact = false;
  bool guard = false;
  std::size_t filters = 0;
  std::size_t rules = 0;
  std::vector<std::string> tables;  // families of `filter` tables
  std::vector<RawMessage> otherQdiscs;
  std::vector<RawMessage> otherTables;

  // Called for each message; an error makes the kernel refuse it.
  std::function<Error(const nlmsghdr&, const RawMessage&)> refuse;
  // Called for each datagram, counted from 0.
  std::function<Fault(std::size_t)> fault;
  // Called for each dump and query.
  std::function<void(std::uint16_t type)> beforeRead;

  std::size_t sends = 0;
  std::vector<std::vector<std::uint16_t>> sent;  // message types, by datagram

  std::vector<RawMessage> dump(Channel /*channel*/, RawMessage request,
                               const Deadline& /*deadline*/) override {
    const std::uint16_t type = headerOf(request).nlmsg_type;
    if (beforeRead) {
      beforeRead(type);
    }
    std::vector<RawMessage> answer;
    if (type == RTM_GETQDISC) {
      answer = otherQdiscs;
      answer.push_back(qdisc("noqueue", TC_H_ROOT));
      if (clsact) {
        answer.push_back(qdisc("clsact", TC_H_CLSACT));
      }
    } else {
      answer = otherTables;
      for (const std::string& family : tables) {
        answer.push_back(table(family == "ip" ? NFPROTO_IPV4 : NFPROTO_IPV6, "filter"));
      }
    }
    answer.push_back(message(NLMSG_DONE, 0, 0, Bytes(4)));
    return answer;
  }

  RawMessage query(Channel /*channel*/, RawMessage request, const Deadline& /*deadline*/) override {
    if (beforeRead) {
      beforeRead(headerOf(request).nlmsg_type);
    }
    return message(kGetGeneration, 0, 0, Bytes(4));
  }

  bool send(Channel channel, ByteView datagram) override {
    const Fault fault_ = fault ? fault(sends) : Fault::kNone;
    ++sends;
    std::vector<RawMessage> messages;
    while (!datagram.empty()) {
      nlmsghdr header{};
      std::memcpy(&header, datagram.data(), sizeof header);
      messages.emplace_back(datagram.begin(), datagram.begin() + header.nlmsg_len);
      datagram = datagram.subspan(NLMSG_ALIGN(header.nlmsg_len));
    }
    std::vector<std::uint16_t> types;
    types.reserve(messages.size());
    for (const RawMessage& one : messages) {
      types.push_back(headerOf(one).nlmsg_type);
    }
    sent.push_back(std::move(types));
    std::deque<RawMessage> answers;
    if (channel == Channel::kRoute) {
      for (const RawMessage& one : messages) {
        carryOut(one, answers);
      }
    } else if (headerOf(messages.front()).nlmsg_type == NFNL_MSG_BATCH_BEGIN) {
      commit(messages, answers);
    } else {
      answerExtension(messages.front(), answers);
    }
    distort(fault_, answers);
    for (RawMessage& answer : answers) {
      queueOf(channel).push_back(std::move(answer));
    }
    return fault_ != Fault::kNoMemory;
  }

  std::vector<RawMessage> receive(Channel channel, const Deadline& /*deadline*/) override {
    if (overrun_) {
      throw ReceiveOverrun("fake: dropped");
    }
    std::deque<RawMessage>& queue = queueOf(channel);
    if (queue.empty()) {
      throw Failure(ExitCode::kDeadline, "fake: no answer came in time");
    }
    std::vector<RawMessage> answer{queue.front()};
    queue.pop_front();
    return answer;
  }

  std::uint32_t nextSequence(Channel /*channel*/) override { return ++sequence_; }
  [[nodiscard]] std::uint32_t portId(Channel /*channel*/) const override { return kPort; }

  static nlmsghdr headerOf(const RawMessage& bytes) {
    nlmsghdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    return header;
  }

  static RawMessage qdisc(const std::string& kind, std::uint32_t parent, std::uint32_t handle = 0) {
    tcmsg header{};
    header.tcm_ifindex = 3;
    header.tcm_parent = parent;
    header.tcm_handle = handle;
    return message(RTM_NEWQDISC, 0, 0, withName(header, TCA_KIND, kind));
  }

  static RawMessage table(std::uint8_t family, const std::string& name) {
    nfgenmsg header{};
    header.nfgen_family = family;
    return message(kNewTable, 0, 0, withName(header, NFTA_TABLE_NAME, name));
  }

 private:
  static constexpr std::uint32_t kPort = 4711;

  template <class Header>
  static Bytes withName(const Header& header, std::uint16_t type, const std::string& name) {
    Bytes bytes(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    append(bytes, type, name);
    return bytes;
  }

  static void append(Bytes& bytes, std::uint16_t type, const std::string& text) {
    const nlattr attribute{static_cast<std::uint16_t>(sizeof(nlattr) + text.size() + 1), type};
    const auto* const first = reinterpret_cast<const std::uint8_t*>(&attribute);
    bytes.insert(bytes.end(), first, first + sizeof attribute);
    bytes.insert(bytes.end(), text.begin(), text.end());
    bytes.push_back(0);
    bytes.resize(NLMSG_ALIGN(bytes.size()));
  }

  static RawMessage message(std::uint16_t type, std::uint16_t flags, std::uint32_t sequence,
                            const Bytes& payload) {
    const nlmsghdr header{static_cast<std::uint32_t>(sizeof(nlmsghdr) + payload.size()), type,
                          flags, sequence, kPort};
    Bytes bytes(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    return bytes;
  }

  static RawMessage answerTo(const RawMessage& request, const Error& error) {
    nlmsghdr about = headerOf(request);
    const int code = -error.error;
    Bytes payload(sizeof code + sizeof about);
    std::memcpy(payload.data(), &code, sizeof code);
    std::memcpy(payload.data() + sizeof code, &about, sizeof about);
    std::uint16_t flags = NLM_F_CAPPED;
    if (!error.text.empty()) {
      append(payload, NLMSGERR_ATTR_MSG, error.text);
      flags |= NLM_F_ACK_TLVS;
    }
    return message(NLMSG_ERROR, flags, about.nlmsg_seq, payload);
  }

  Error judge(const RawMessage& request) {
    const nlmsghdr header = headerOf(request);
    if (refuse) {
      if (Error error = refuse(header, request); error.error != 0) {
        return error;
      }
    }
    // The two requests that are malformed on purpose.
    constexpr std::size_t kPlainClsact = 48;
    if (header.nlmsg_type == RTM_NEWACTION) {
      return {EINVAL, ""};
    }
    if (header.nlmsg_type == RTM_NEWQDISC) {
      if (header.nlmsg_len > kPlainClsact) {
        return {EINVAL, "Ingress block index cannot be 0"};
      }
      if (clsact) {
        return {EEXIST, "Exclusivity flag on, cannot modify"};
      }
    }
    if (header.nlmsg_type == RTM_NEWTFILTER && !clsact) {
      return {EINVAL, "Parent Qdisc doesn't exists"};
    }
    return {};
  }

  void carryOut(const RawMessage& request, std::deque<RawMessage>& answers) {
    const nlmsghdr header = headerOf(request);
    const Error error = judge(request);
    if (error.error == 0) {
      tcmsg tc{};
      std::memcpy(&tc, request.data() + NLMSG_HDRLEN, sizeof tc);
      const bool isGuard = tc.tcm_info >> 16 == kGuardPref;
      switch (header.nlmsg_type) {
        case RTM_NEWQDISC:
          clsact = true;
          break;
        case RTM_DELQDISC:
          clsact = guard = false;
          filters = 0;
          break;
        case RTM_NEWTFILTER:
          if (isGuard) {
            guard = true;
          } else {
            ++filters;
          }
          break;
        case RTM_DELTFILTER:
          if (isGuard) {
            guard = false;
          }
          break;
        default:
          break;
      }
    }
    if (error.error != 0 || (header.nlmsg_flags & NLM_F_ACK) != 0) {
      answers.push_back(answerTo(request, error));
    }
  }

  void commit(const std::vector<RawMessage>& messages, std::deque<RawMessage>& answers) {
    bool failed = false;
    std::size_t newRules = 0;
    std::vector<std::string> newTables;
    for (const RawMessage& one : messages) {
      const nlmsghdr header = headerOf(one);
      const Error error = judge(one);
      failed = failed || error.error != 0;
      if (header.nlmsg_type == kNewRule) {
        ++newRules;
      }
      if (header.nlmsg_type == kNewTable) {
        if (one.at(NLMSG_HDRLEN) != NFPROTO_NETDEV)
          newTables.emplace_back(one.at(NLMSG_HDRLEN) == NFPROTO_IPV4 ? "ip" : "ip6");
      }
      if (error.error != 0 || (header.nlmsg_flags & NLM_F_ACK) != 0) {
        answers.push_back(answerTo(one, error));
      }
    }
    if (!failed && headerOf(messages.back()).nlmsg_type == NFNL_MSG_BATCH_END) {
      rules += newRules;
      tables.insert(tables.end(), newTables.begin(), newTables.end());
    }
  }

  void answerExtension(const RawMessage& request, std::deque<RawMessage>& answers) {
    const nlmsghdr header = headerOf(request);
    const Error error = judge(request);
    if (error.error != 0) {
      answers.push_back(answerTo(request, error));
    } else {
      answers.push_back(message(kGetExtension, NLM_F_MULTI, header.nlmsg_seq, Bytes(4)));
    }
  }

  void distort(Fault fault_, std::deque<RawMessage>& answers) {
    const auto rewrite = [&](auto change) {
      for (RawMessage& answer : answers) {
        nlmsghdr header = headerOf(answer);
        change(header);
        std::memcpy(answer.data(), &header, sizeof header);
      }
    };
    switch (fault_) {
      case Fault::kNone:
      case Fault::kNoMemory:
        break;
      case Fault::kSilence:
        answers.clear();
        break;
      case Fault::kOverrun:
        overrun_ = true;
        break;
      case Fault::kOtherSequence:
        rewrite([](nlmsghdr& header) { header.nlmsg_seq += 100'000; });
        break;
      case Fault::kOtherPort:
        rewrite([](nlmsghdr& header) { ++header.nlmsg_pid; });
        break;
      case Fault::kRepeatedAnswer:
        answers.push_front(answers.front());
        break;
      case Fault::kOtherMessage:
        rewrite([](nlmsghdr& header) { header.nlmsg_type = RTM_NEWLINK; });
        break;
    }
  }

  [[nodiscard]] std::deque<RawMessage>& queueOf(Channel channel) {
    return channel == Channel::kRoute ? routeQueue_ : netfilterQueue_;
  }

  std::deque<RawMessage> routeQueue_;
  std::deque<RawMessage> netfilterQueue_;
  std::uint32_t sequence_ = 0;
  bool overrun_ = false;
};

}  // namespace vethgate::test
