// The applier, killed before each of its sends. However far it got: either nothing was written, and
// the namespace is as good as new, or the veth is shut and no second applier touches the namespace.
// Without the flower layer there is one transaction, and so no death that leaves half of anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <ostream>
#include <set>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/snapshot.hpp"
#include "tests/live/fixture/temporary_file.hpp"
#include "tests/live/fixture/wire.hpp"
#include "tests/live/target.hpp"

namespace vethgate::live {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr const char* kSends = "sendto,sendmsg,sendmmsg";
constexpr const char* kReceives = "recvfrom,recvmsg,recvmmsg";

Finished applyUnderStrace(const Job& job, const std::string& plan, const std::string& injection,
                          const std::string& log) {
  return run({.argv = {"strace", "-f", "--seccomp-bpf", "-qq", "-o", log, "-e", injection,
                       program("apply")},
              .input = plan,
              .in = &job.netns()});
}

std::size_t countCalls(const Job& job, const std::string& plan, const std::string& calls) {
  const TemporaryFile log;
  const Finished finished = applyUnderStrace(job, plan, "trace=" + calls, log.path());
  EXPECT_TRUE(finished.ok()) << finished.summary();
  const std::string text = log.read();
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// strace lets the process die before the call is carried out.
Finished applyKilledAt(const Job& job, const std::string& plan, const std::string& calls,
                       std::size_t number) {
  const TemporaryFile log;
  return applyUnderStrace(
      job, plan, "inject=" + calls + ":signal=SIGKILL:when=" + std::to_string(number), log.path());
}

Bytes frameTo(const Job& job, std::string_view to, const std::string& cookie,
              Wrapping wrapping = Wrapping::kPlain) {
  return buildFrames(job,
                     {.to = std::string(to), .port = 9999, .cookie = cookie, .wrapping = wrapping})
      .front();
}

// Everything that a job could try: frames of its own, and ordinary sockets.
struct Stimulus {
  std::vector<std::string> cookies;
  std::size_t frames = 0;                 // so many of them, the first ones
  std::vector<std::string> deniedFrames;  // those of them that no whole plan lets out

  Stimulus(const Job& job, const RawSender& sender) {
    for (const std::string_view to : {kAllowedV4, kDeniedV4, kAllowedV6, kDeniedV6}) {
      for (const Wrapping wrapping : {Wrapping::kPlain, Wrapping::kVlanZero}) {
        const std::string cookie = "raw " + std::to_string(cookies.size()) + ".";
        sender.send(frameTo(job, to, cookie, wrapping));
        cookies.push_back(cookie);
        if (to == kDeniedV4 || to == kDeniedV6) {
          deniedFrames.push_back(cookie);
        }
      }
    }
    cookies.emplace_back("raw ARP.");
    sender.send(buildArpRequest(job, job.addressV4(), job.mac(), cookies.back()));
    frames = cookies.size();
    const NamespaceScope scope(job.netns());
    for (const std::string_view target : {kAllowedUdp, kDeniedUdp, kAllowedUdpV6, kDeniedUdpV6}) {
      const std::string cookie = "socket " + std::to_string(cookies.size()) + ".";
      const Endpoint to = parseTarget(target);
      const Descriptor fd(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
      (void)!sendto(fd.get(), cookie.data(), cookie.size(), 0, to.raw(), to.length);
      cookies.push_back(cookie);
    }
  }
};

// The job and the far end of its veth, seen alive before the applier runs: that nothing comes out
// afterwards then is the applier's doing.
class Wire {
 public:
  explicit Wire(const Job& job) : job_(job), sender_(job), tap_(job) { expectAlive("before"); }

  void expectAllLeaves(const std::string& when) {
    const Stimulus stimulus(job_, sender_);
    for (const std::string& cookie : stimulus.cookies) {
      EXPECT_TRUE(tap_.waitFor(cookie, kPatience)) << when << ": " << cookie;
    }
  }

  // Frames are handed over before the send returns.
  void expectNothingLeaves(const std::string& when) {
    const std::size_t before = tap_.frameCount();
    const Stimulus stimulus(job_, sender_);
    EXPECT_EQ(tap_.frameCount(), before) << when;
    tried_.insert(stimulus.cookies.begin(),
                  stimulus.cookies.begin() + static_cast<std::ptrdiff_t>(stimulus.frames));
  }

  // Takes what shuts the veth away: the next frame comes out, and so would have any before it.
  void expectAliveOnceOpened(const std::string& when) {
    tool(job_, {"tc", "qdisc", "del", "dev", kJobLink, "clsact"});
    tool(job_, {"nft", "flush", "ruleset"});
    expectAlive(when + ", opened again");
    for (const std::string& cookie : tried_) {
      EXPECT_EQ(tap_.count(cookie), 0U) << when << ": " << cookie;
    }
  }

 private:
  void expectAlive(const std::string& when) {
    const std::string cookie = "alive " + std::to_string(++serial_) + ".";
    sender_.send(frameTo(job_, kDeniedV4, cookie));
    EXPECT_TRUE(tap_.waitFor(cookie, kPatience)) << when << ": nothing passes at all";
  }

  const Job& job_;
  const OneCpu pinned_;
  RawSender sender_;
  WireTap tap_;
  std::set<std::string> tried_;
  unsigned serial_ = 0;
};

struct Layers {
  const char* name;
  const char* policy;
  bool guarded;  // by the flower layer's drop-all filter while it is built
};

void PrintTo(const Layers& layers, std::ostream* out) { *out << layers.name; }

class Killed : public testing::TestWithParam<Layers> {};

TEST_P(Killed, BeforeEachSendTheVethIsShutOrNothingWasTouched) {
  const std::string policy = GetParam().policy;
  Host host;
  const Job rehearsal(host);
  const std::size_t sends = countCalls(rehearsal, prepare(rehearsal, policy).plan, kSends);
  ASSERT_GT(sends, 3U);

  std::size_t untouched = 0;
  std::size_t shut = 0;
  for (std::size_t number = 1; number <= sends; ++number) {
    const std::string when =
        "killed before send " + std::to_string(number) + " of " + std::to_string(sends);
    const Job job(host);
    const std::string clean = snapshot(job);
    const Rendered rendered = prepare(job, policy);
    Wire wire(job);
    const Finished killed = applyKilledAt(job, rendered.plan, kSends, number);
    ASSERT_EQ(killed.signal, SIGKILL) << when << ": " << killed.summary();
    if (snapshot(job) == clean) {
      ++untouched;
      EXPECT_EQ(shut, 0U) << when << ": the namespace is clean again";
      wire.expectAllLeaves(when);
      EXPECT_TRUE(applyPlan(job.netns(), rendered.plan).ok()) << when;
      EXPECT_TRUE(verify(job.netns(), policy, rendered.link).contained()) << when;
    } else {
      ++shut;
      ASSERT_TRUE(GetParam().guarded) << when << ": half of a transaction\n" << snapshot(job);
      wire.expectNothingLeaves(when);
      EXPECT_EQ(applyPlan(job.netns(), rendered.plan).exit, 5) << when;
      EXPECT_TRUE(verify(job.netns(), policy, rendered.link).refused()) << when;
      wire.expectNothingLeaves(when + ", after a second applier");
      wire.expectAliveOnceOpened(when);
    }
  }
  // Each kind of death that there is was met, or the counting is wrong.
  EXPECT_GE(untouched, 1U);
  if (GetParam().guarded) {
    EXPECT_GE(shut, 3U);
  }
}

TEST_P(Killed, AfterTheLastSendThePlanIsWhole) {
  const std::string policy = GetParam().policy;
  Host host;
  const Job rehearsal(host);
  const std::size_t receives = countCalls(rehearsal, prepare(rehearsal, policy).plan, kReceives);
  const Job job(host);
  const Rendered rendered = prepare(job, policy);
  const Finished killed = applyKilledAt(job, rendered.plan, kReceives, receives);
  ASSERT_EQ(killed.signal, SIGKILL) << killed.summary();

  const OneCpu pinned;
  WireTap tap(job);
  const RawSender sender(job);
  const Stimulus stimulus(job, sender);
  sender.send(frameTo(job, kAllowedV4, "last."));
  EXPECT_TRUE(tap.waitFor("last.", kPatience));
  ASSERT_EQ(stimulus.deniedFrames.size(), 4U);
  for (const std::string& cookie : stimulus.deniedFrames) {
    EXPECT_EQ(tap.count(cookie), 0U) << cookie;
  }
  EXPECT_TRUE(verify(job.netns(), policy, rendered.link).contained());
  EXPECT_EQ(applyPlan(job.netns(), rendered.plan).exit, 5);
}

INSTANTIATE_TEST_SUITE_P(Layers, Killed,
                         testing::Values(Layers{"all", kReferencePolicy, true},
                                         Layers{"iptables_netdev", kWithoutFlowerPolicy, false}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace vethgate::live
