// What the kernel's answers about tcx programs lead to, and how a capture holds them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/error.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

using testing::HasSubstr;

constexpr std::size_t kJobsEgress = 3;  // loopback and job, ingress and egress each

Fixture atRest() { return readTwice(fixture("contained-tiny-6.1")); }

TEST(Programs, NoneAttachedIsContained) {
  const Verdict verdict = judged(atRest());
  EXPECT_EQ(verdict.code, ExitCode::kDone) << reasonsOf(verdict);
  EXPECT_TRUE(verdict.unchecked.empty());
}

TEST(Programs, OneAttachedIsRefused) {
  for (std::size_t i = 0; i < 4; ++i) {
    Fixture f = atRest();
    f.capture.programs->at(i).count = 1;
    const Verdict verdict = judged(f);
    EXPECT_EQ(verdict.code, ExitCode::kRefused);
    EXPECT_THAT(reasonsOf(verdict), HasSubstr("programs: 1 are attached to tcx."));
  }
}

TEST(Programs, AKernelWithoutTheHookIsNoDoubt) {
  Fixture f = atRest();
  for (ProgramAnswer& answer : *f.capture.programs) {
    answer.error = EINVAL;
  }
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kDone) << reasonsOf(verdict);
  EXPECT_TRUE(verdict.unchecked.empty());
}

TEST(Programs, AKernelHasTheHookForEachLinkOrForNone) {
  for (std::size_t i = 0; i < 4; ++i) {
    Fixture f = atRest();
    f.capture.programs->at(i).error = EINVAL;
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("at one place and not at another"));
  }
}

TEST(Programs, WhatMightNotBeAskedIsSaid) {
  for (const int error : {EPERM, EACCES, ENOSYS}) {
    Fixture f = atRest();
    f.capture.programs->at(kJobsEgress).error = static_cast<std::uint32_t>(error);
    const Verdict verdict = judged(f);
    EXPECT_EQ(verdict.code, ExitCode::kDone) << reasonsOf(verdict);
    EXPECT_THAT(verdict.unchecked, testing::ElementsAre(HasSubstr("bpf(2) answers")));
    EXPECT_THAT(verdictText(verdict), HasSubstr("\"unchecked\":[\"whether tcx programs"));
  }
}

TEST(Programs, AnyOtherErrorIsRefused) {
  Fixture f = atRest();
  f.capture.programs->at(kJobsEgress).error = ENODEV;
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("tcx.egress of link 2 cannot be asked about"));
}

TEST(Programs, EachHookOfBothLinksIsAnsweredOnce) {
  for (std::size_t i = 0; i < 4; ++i) {
    Fixture f = atRest();
    f.capture.programs->erase(f.capture.programs->begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("programs: 0 answers are about"));
    f = atRest();
    f.capture.programs->push_back(f.capture.programs->at(i));
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("programs: 2 answers are about"));
    f = atRest();
    f.capture.programs->at(i).link = 9;
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("programs: 0 answers are about"));
  }
  Fixture f = atRest();
  f.capture.programs->push_back({9, ProgramHook::kTcxEgress, 0, 0});
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("programs: 5 answers are there, expected 4"));
}

TEST(Programs, ACaptureThatDoesNotSayIsSaidToBeOne) {
  Fixture f = atRest();
  f.capture.programs.reset();
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kDone) << reasonsOf(verdict);
  EXPECT_THAT(verdict.unchecked, testing::ElementsAre(HasSubstr("the capture does not say")));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Programs, ACaptureHoldsThem) {
  Fixture f = atRest();
  f.capture.programs->at(kJobsEgress).count = 7;
  f.capture.programs->at(0).error = EPERM;
  const std::string text = captureText(f.capture);
  EXPECT_EQ(readCapture(text), f.capture);
  const std::string answer = R"({"count":7,"error":0,"hook":"tcx.egress","link":2})";
  EXPECT_THAT(text, HasSubstr(answer));
  for (const char* wrong : {R"({"error":0,"hook":"tcx.egress","link":2})", R"({"count":7})",
                            R"([])", "7", R"({"count":7,"error":0,"hook":"xdp","link":2})",
                            R"({"count":7,"error":0,"hook":0,"link":2})",
                            R"({"count":4294967296,"error":0,"hook":"tcx.egress","link":2})",
                            R"({"count":7,"error":0,"hook":"tcx.egress","link":2,"more":1})",
                            R"({"count":7,"count":7,"error":0,"hook":"tcx.egress","link":2})"}) {
    try {
      static_cast<void>(readCapture(replaced(text, answer, wrong)));
      ADD_FAILURE() << wrong << " was accepted";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kBadInput) << wrong;
    }
  }
}

}  // namespace
}  // namespace vethgate::test
