// How each program gives up power, by the order of its own system calls: capabilities at once, the
// system call filter before it reads what the kernel or a capture says, and nothing behind the
// filter that could open, connect or run something.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/temporary_file.hpp"

namespace vethgate::live {
namespace {

// One line a call, in order; only calls that succeeded.
std::vector<std::string> traced(const Job& job, const std::string& name, const std::string& input) {
  const TemporaryFile log;
  const Finished finished =
      run({.argv = {"strace", "-f", "-qq", "-o", log.path(), "-e",
                    "trace=capset,prctl,seccomp,%file,%network,%process", program(name)},
           .input = input,
           .in = &job.netns()});
  EXPECT_TRUE(finished.ok()) << finished.summary();
  std::vector<std::string> calls;
  std::istringstream text(log.read());
  for (std::string line; std::getline(text, line);) {
    if (line.find(" = -1 ") == std::string::npos) {
      calls.push_back(line);
    }
  }
  return calls;
}

bool is(const std::string& call, const char* name) {
  return call.find(std::string(" ") + name + "(") != std::string::npos;
}

// Where in the order the first, or the last, call that `matches` stands; the size when there is
// none.
template <class Matches>
std::size_t first(const std::vector<std::string>& calls, Matches matches) {
  return static_cast<std::size_t>(std::ranges::find_if(calls, matches) - calls.begin());
}

template <class Matches>
std::size_t last(const std::vector<std::string>& calls, Matches matches) {
  for (std::size_t i = calls.size(); i-- > 0;) {
    if (matches(calls[i])) {
      return i;
    }
  }
  return calls.size();
}

bool locks(const std::string& call) {
  return call.find("seccomp(SECCOMP_SET_MODE_FILTER") != std::string::npos;
}
bool forbidsPrivileges(const std::string& call) {
  return call.find("prctl(PR_SET_NO_NEW_PRIVS, 1") != std::string::npos;
}
bool receives(const std::string& call) { return is(call, "recvmsg") || is(call, "recvfrom"); }
bool sends(const std::string& call) { return is(call, "sendmsg") || is(call, "sendto"); }
bool setsCapabilities(const std::string& call) { return is(call, "capset"); }

bool holdsExactly(const std::string& call, const std::string& capabilities) {
  return call.find("effective=" + capabilities + ",") != std::string::npos &&
         call.find("permitted=" + capabilities + ",") != std::string::npos &&
         call.find("inheritable=0") != std::string::npos;
}

void expectNothingOpensBehind(const std::vector<std::string>& calls, std::size_t lock) {
  for (std::size_t i = lock + 1; i < calls.size(); ++i) {
    EXPECT_TRUE(receives(calls[i]) || sends(calls[i]) || is(calls[i], "exit_group") ||
                calls[i].find("+++") != std::string::npos)
        << calls[i];
  }
}

TEST(Confinement, ProbeHoldsNothingAndIsLockedBeforeItsFirstAnswer) {
  Host host;
  const Job job(host);
  const auto calls = traced(job, "probe", "");
  const std::size_t capabilities = first(calls, setsCapabilities);
  const std::size_t lock = first(calls, locks);
  const std::size_t answer = first(calls, receives);
  ASSERT_LT(capabilities, lock);
  EXPECT_TRUE(holdsExactly(calls[capabilities], "0")) << calls[capabilities];
  EXPECT_LT(first(calls, forbidsPrivileges), lock);
  ASSERT_LT(answer, calls.size());
  EXPECT_LT(lock, answer);
  expectNothingOpensBehind(calls, lock);
}

TEST(Confinement, ApplyHoldsOneCapabilityAndIsLockedBeforeItSends) {
  Host host;
  const Job job(host);
  const auto calls = traced(job, "apply", prepare(job, kReferencePolicy).plan);
  const std::size_t capabilities = first(calls, setsCapabilities);
  const std::size_t lock = first(calls, locks);
  ASSERT_LT(capabilities, lock);
  EXPECT_TRUE(holdsExactly(calls[capabilities], "1<<CAP_NET_ADMIN")) << calls[capabilities];
  EXPECT_LT(first(calls, forbidsPrivileges), lock);
  const std::size_t message = first(calls, sends);
  ASSERT_LT(message, calls.size());
  EXPECT_LT(lock, message);
  expectNothingOpensBehind(calls, lock);
}

TEST(Confinement, VerifyHoldsNothingAndIsLockedOnceItHasCollected) {
  Host host;
  const Job job(host);
  const Rendered rendered = contain(job, kReferencePolicy);
  const auto calls = traced(
      job, "verify", R"({"policy":)" + rendered.policy + R"(,"link":)" + rendered.link + "}");
  const std::size_t collecting = first(calls, setsCapabilities);
  const std::size_t parsing = last(calls, setsCapabilities);
  const std::size_t lock = last(calls, locks);
  const std::size_t answer = last(calls, receives);
  ASSERT_LT(collecting, parsing);
  EXPECT_TRUE(holdsExactly(calls[collecting], "1<<CAP_NET_ADMIN")) << calls[collecting];
  EXPECT_TRUE(holdsExactly(calls[parsing], "0")) << calls[parsing];
  const std::size_t firstLock = first(calls, locks);
  ASSERT_LT(lock, calls.size());
  EXPECT_LT(collecting, firstLock);
  EXPECT_LT(firstLock, first(calls, sends));
  // Whether another legacy module was loaded meanwhile, and sockets to ask with.
  for (std::size_t i = firstLock + 1; i < lock; ++i) {
    const std::string& call = calls[i];
    EXPECT_TRUE(receives(call) || sends(call) || is(call, "access") || is(call, "bind") ||
                is(call, "getsockname") || is(call, "setsockopt") || setsCapabilities(call) ||
                locks(call) || forbidsPrivileges(call) ||
                call.find(" socket(AF_NETLINK, ") != std::string::npos)
        << call;
  }
  EXPECT_LT(firstLock, lock);
  EXPECT_LT(answer, parsing);
  EXPECT_LT(parsing, lock);
  for (std::size_t i = lock + 1; i < calls.size(); ++i) {
    EXPECT_FALSE(receives(calls[i]) || sends(calls[i])) << calls[i];
  }
  expectNothingOpensBehind(calls, lock);
}

}  // namespace
}  // namespace vethgate::live
