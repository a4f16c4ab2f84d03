// tcx programs (Linux 6.6), which act ahead of clsact: each leaks first, and is refused by the
// verifier. On an older kernel there is no such hook, which the verifier must not take for a doubt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/bpf.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{5};

bool kernelHasTcx() {
  utsname name{};
  int major = 0;
  int minor = 0;
  EXPECT_EQ(uname(&name), 0);
  EXPECT_EQ(std::sscanf(name.release, "%d.%d", &major, &minor), 2) << name.release;
  return major > 6 || (major == 6 && minor >= 6);
}

class Tcx : public testing::Test {
 protected:
  Tcx() : job_(host_), sender_(job_), loopback_(job_, RawSender::Path::kQueue, "lo"), tap_(job_) {}

  std::string send(const RawSender& sender, std::string_view to) {
    std::string cookie = "program " + std::to_string(++serial_) + ".";
    for (const Bytes& frame :
         buildFrames(job_, {.to = std::string(to), .port = 9999, .cookie = cookie})) {
      sender.send(frame);
    }
    return cookie;
  }
  bool isReceived(const std::string& cookie) { return host_.services().waitFor(cookie, kPatience); }
  // A later frame's arrival proves an earlier one's absence.
  bool isStopped(const std::string& cookie) {
    EXPECT_TRUE(tap_.waitFor(send(sender_, kAllowedV4), kPatience)) << "nothing passes at all";
    return tap_.count(cookie) == 0 && !host_.services().received(cookie);
  }

  // The program, or nothing on a kernel that has no such hook.
  std::optional<TcxProgram> attach(const char* link, TcxProgram::Hook hook,
                                   const std::optional<std::string>& redirectTo = std::nullopt) {
    try {
      return std::optional<TcxProgram>(std::in_place, job_, link, hook, redirectTo);
    } catch (const std::system_error& error) {
      EXPECT_EQ(error.code().value(), EINVAL) << error.what();
      EXPECT_FALSE(kernelHasTcx());
      return std::nullopt;
    }
  }

  // What the verifier says while the program is attached, and again after it is gone.
  void expectVerdicts(const Rendered& rendered, std::optional<TcxProgram> program,
                      const std::string& place) {
    if (program) {
      const Verdict verdict = verify(job_.netns(), rendered.policy, rendered.link);
      EXPECT_TRUE(verdict.refused()) << verdict;
      EXPECT_THAT(verdict.reasons(), HasSubstr("1 are attached to " + place));
      program.reset();
    }
    const Verdict verdict = verify(job_.netns(), rendered.policy, rendered.link);
    EXPECT_TRUE(verdict.contained()) << verdict;
    EXPECT_EQ(verdict.document.at("unchecked"), Json::array());  // CAP_NET_ADMIN may ask
  }

  Host host_;
  Job job_;
  const OneCpu pinned_;
  RawSender sender_;
  RawSender loopback_;
  WireTap tap_;
  unsigned serial_ = 0;
};

TEST_F(Tcx, ProgramThatPassesOpensTheFlowerLayerAndIsRefused) {
  const Rendered rendered = contain(job_, kFlowerPolicy);
  EXPECT_TRUE(isStopped(send(sender_, kDeniedV4)));
  auto program = attach(kJobLink, TcxProgram::Hook::kEgress);
  if (program) {
    EXPECT_TRUE(isReceived(send(sender_, kDeniedV4)));
    EXPECT_TRUE(isReceived(send(sender_, kDeniedV6)));
  }
  expectVerdicts(rendered, std::move(program), "tcx.egress");
  EXPECT_TRUE(isStopped(send(sender_, kDeniedV4)));
}

TEST_F(Tcx, ProgramThatPassesDoesNotOpenTheNetdevLayer) {
  const Rendered rendered = contain(job_, kNetdevPolicy);
  auto program = attach(kJobLink, TcxProgram::Hook::kEgress);
  EXPECT_TRUE(isStopped(send(sender_, kDeniedV4)));
  EXPECT_TRUE(isStopped(send(sender_, kDeniedV6)));
  expectVerdicts(rendered, std::move(program), "tcx.egress");
}

TEST_F(Tcx, ProgramOnIngressIsRefused) {
  const Rendered rendered = contain(job_, kFlowerPolicy);
  expectVerdicts(rendered, attach(kJobLink, TcxProgram::Hook::kIngress), "tcx.ingress");
}

// A frame that a program sends on skips the nf_tables egress chain of the link that it is sent to.
TEST_F(Tcx, ProgramOnTheLoopbackCanLeadPastTheNetdevLayerAndIsRefused) {
  const Rendered rendered = contain(job_, kWithoutFlowerPolicy);
  EXPECT_TRUE(isStopped(send(sender_, kDeniedV4)));
  EXPECT_TRUE(isStopped(send(loopback_, kDeniedV4)));
  auto program = attach("lo", TcxProgram::Hook::kEgress, kJobLink);
  if (program) {
    EXPECT_TRUE(isReceived(send(loopback_, kDeniedV4)));
  }
  expectVerdicts(rendered, std::move(program), "tcx.egress of link 1");
}

}  // namespace
}  // namespace vethgate::live
