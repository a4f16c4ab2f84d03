// The applier, killed before each of its sends. However far it got: either nothing was written, and
// the namespace is as good as new, or the veth is shut and no second applier touches the namespace.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_ether.h>

#include <algorithm>
#include <csignal>

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
// For frames that were to be dropped to show themselves on the other end. They are handed over
// before the send returns; this is for what the kernel might put off.
constexpr std::chrono::milliseconds kGrace{200};
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

Bytes arpRequest(const Job& job) {
  Bytes frame(6, 0xff);
  const auto append = [&](const auto& bytes) {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
  };
  append(job.mac());
  append(Bytes{0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 1});  // RFC 826: Ethernet, IPv4, a request
  append(job.mac());
  append(Bytes{172, 31, 0, 99, 0, 0, 0, 0, 0, 0, 172, 31, 0, 1});
  return frame;
}

// Everything that a job could try: frames of its own, and ordinary sockets.
struct Stimulus {
  std::vector<std::string> cookies;

  explicit Stimulus(const Job& job) {
    const RawSender sender(job);
    for (const std::string_view to : {kAllowedV4, kDeniedV4, kAllowedV6, kDeniedV6}) {
      for (const Wrapping wrapping : {Wrapping::kPlain, Wrapping::kVlanZero}) {
        const std::string cookie = "raw " + std::to_string(cookies.size()) + ".";
        const Datagram datagram{
            .to = std::string(to), .port = 9999, .cookie = cookie, .wrapping = wrapping};
        sender.send(buildFrames(job, datagram).front());
        cookies.push_back(cookie);
      }
    }
    sender.send(arpRequest(job));
    cookies.emplace_back("\xac\x1f\x00\x63", 4);  // the address that only this ARP request names
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

void expectNothingLeaves(const Job& job, const std::string& when) {
  const OneCpu pinned;
  WireTap tap(job);
  const Stimulus stimulus(job);
  EXPECT_FALSE(tap.waitFor("no frame holds this", kGrace));
  EXPECT_EQ(tap.frameCount(), 0U) << when;
}

void expectAllLeaves(const Job& job, const std::string& when) {
  const OneCpu pinned;
  WireTap tap(job);
  const Stimulus stimulus(job);
  for (const std::string& cookie : stimulus.cookies) {
    EXPECT_TRUE(tap.waitFor(cookie, kPatience)) << when << ": " << cookie;
  }
}

TEST(Killed, BeforeEachSendTheVethIsShutOrNothingWasTouched) {
  Host host;
  const Job rehearsal(host);
  const std::size_t sends =
      countCalls(rehearsal, prepare(rehearsal, kReferencePolicy).plan, kSends);
  ASSERT_GT(sends, 3U);

  std::size_t untouched = 0;
  std::size_t shut = 0;
  for (std::size_t number = 1; number <= sends; ++number) {
    const std::string when =
        "killed before send " + std::to_string(number) + " of " + std::to_string(sends);
    const Job job(host);
    const std::string clean = snapshot(job);
    const Rendered rendered = prepare(job, kReferencePolicy);
    const Finished killed = applyKilledAt(job, rendered.plan, kSends, number);
    ASSERT_EQ(killed.signal, SIGKILL) << when << ": " << killed.summary();
    if (snapshot(job) == clean) {
      ++untouched;
      EXPECT_EQ(shut, 0U) << when << ": the namespace is clean again";
      expectAllLeaves(job, when);
      EXPECT_TRUE(applyPlan(job.netns(), rendered.plan).ok()) << when;
      EXPECT_TRUE(verify(job.netns(), kReferencePolicy, rendered.link).contained()) << when;
    } else {
      ++shut;
      expectNothingLeaves(job, when);
      EXPECT_EQ(applyPlan(job.netns(), rendered.plan).exit, 5) << when;
      EXPECT_TRUE(verify(job.netns(), kReferencePolicy, rendered.link).refused()) << when;
      expectNothingLeaves(job, when + ", after a second applier");
    }
  }
  // Both kinds of death were met, or the counting is wrong.
  EXPECT_GE(untouched, 1U);
  EXPECT_GE(shut, 3U);
}

// Its last message is with the kernel, its answer unread: the plan is whole, and the namespace
// spent.
TEST(Killed, AfterTheLastSendThePlanIsWhole) {
  Host host;
  const Job rehearsal(host);
  const std::size_t receives =
      countCalls(rehearsal, prepare(rehearsal, kReferencePolicy).plan, kReceives);
  const Job job(host);
  const Rendered rendered = prepare(job, kReferencePolicy);
  const Finished killed = applyKilledAt(job, rendered.plan, kReceives, receives);
  ASSERT_EQ(killed.signal, SIGKILL) << killed.summary();

  const OneCpu pinned;
  WireTap tap(job);
  const Stimulus stimulus(job);
  const RawSender sender(job);
  sender.send(
      buildFrames(job, {.to = std::string(kAllowedV4), .port = 9999, .cookie = "last."}).front());
  EXPECT_TRUE(tap.waitFor("last.", kPatience));
  const auto isDenied = [](std::size_t i) { return i == 2 || i == 3 || i == 6 || i == 7; };
  for (std::size_t i = 0; i < 8; ++i) {
    if (isDenied(i)) {
      EXPECT_EQ(tap.count(stimulus.cookies[i]), 0U) << stimulus.cookies[i];
    }
  }
  EXPECT_TRUE(verify(job.netns(), kReferencePolicy, rendered.link).contained());
  EXPECT_EQ(applyPlan(job.netns(), rendered.plan).exit, 5);
}

}  // namespace
}  // namespace vethgate::live
