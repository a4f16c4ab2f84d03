// Giving up power: capabilities, no_new_privs, seccomp.
#include "confine/confine.hpp"

#include <cap-ng.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <initializer_list>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <vector>

#include "base/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#define VETHGATE_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VETHGATE_ADDRESS_SANITIZER 1
#endif
#endif
#ifdef VETHGATE_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

namespace vethgate {
namespace {

[[noreturn]] void defect(const std::string& what, int error) {
  throw Failure(ExitCode::kDefect, what + ": " + std::generic_category().message(error));
}

bool holds(capng_type_t set, int capability) {
  return capng_have_capability(set, static_cast<unsigned>(capability)) == 1;
}

bool knownToKernel(int capability) { return prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; }

bool isListed(std::initializer_list<int> capabilities, int capability) {
  return std::find(capabilities.begin(), capabilities.end(), capability) != capabilities.end();
}

void readCapabilities() {
  if (capng_get_caps_process() != 0) {
    throw Failure(ExitCode::kDefect, "the capabilities of this process cannot be read");
  }
}

// Asks the kernel, since a capability that was kept by a mistake shows nowhere else.
void verifyCapabilities(std::initializer_list<int> capabilities, bool boundingCleared) {
  readCapabilities();
  for (int capability = 0; knownToKernel(capability); ++capability) {
    const bool unlisted =
        !isListed(capabilities, capability) &&
        (holds(CAPNG_PERMITTED, capability) || holds(CAPNG_EFFECTIVE, capability));
    const bool passedOn = holds(CAPNG_INHERITABLE, capability) ||
                          prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, capability, 0, 0) == 1 ||
                          (boundingCleared && prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1);
    if (unlisted || passedOn) {
      throw Failure(ExitCode::kDefect, "capability " + std::to_string(capability) +
                                           " is still held after it was given up");
    }
  }
}

struct FilterRelease {
  void operator()(void* filter) const noexcept { seccomp_release(filter); }
};
using Filter = std::unique_ptr<std::remove_pointer_t<scmp_filter_ctx>, FilterRelease>;

void check(int result, const char* what) {
  if (result != 0) {
    defect(std::string("the system call filter refuses ") + what, -result);
  }
}

void allow(const Filter& filter, std::initializer_list<int> calls) {
  for (const int call : calls) {
    check(seccomp_rule_add(filter.get(), SCMP_ACT_ALLOW, call, 0), "a rule");
  }
}

// Allows `call` only when all of `conditions` hold of its arguments.
void allowWhen(const Filter& filter, int call, std::initializer_list<scmp_arg_cmp> conditions) {
  check(seccomp_rule_add_array(filter.get(), SCMP_ACT_ALLOW, call,
                               static_cast<unsigned>(conditions.size()), conditions.begin()),
        "a rule with conditions");
}

scmp_arg_cmp equals(unsigned argument, scmp_datum_t value) {
  return {argument, SCMP_CMP_EQ, value, 0};
}

scmp_arg_cmp masked(unsigned argument, scmp_datum_t mask, scmp_datum_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

void allowParsing(const Filter& filter) {
  // Answers and logs go to descriptors that are open already; destructors close theirs.
  allow(filter, {SCMP_SYS(write), SCMP_SYS(writev), SCMP_SYS(close)});
  // malloc(3). Memory is anonymous and never executable.
  allow(filter, {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise)});
  allowWhen(filter, SCMP_SYS(mmap),
            {masked(2, PROT_EXEC, 0), masked(3, MAP_ANONYMOUS, MAP_ANONYMOUS)});
  // Waits, and the clock where the vDSO cannot serve it; restart_syscall follows SIGSTOP/SIGCONT.
  allow(filter, {SCMP_SYS(futex), SCMP_SYS(clock_gettime), SCMP_SYS(restart_syscall),
                 SCMP_SYS(exit), SCMP_SYS(exit_group)});
  // abort(3): a defect has to show as SIGABRT with its message, not as a forbidden call. It may
  // signal nobody but this process.
  allow(filter, {SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(rt_sigprocmask),
                 SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigreturn)});
  allowWhen(filter, SCMP_SYS(tgkill),
            {equals(0, static_cast<scmp_datum_t>(getpid())), equals(2, SIGABRT)});
}

void allowWaiting(const Filter& filter) {
  allow(filter, {SCMP_SYS(rt_sigtimedwait), SCMP_SYS(restart_syscall), SCMP_SYS(exit_group)});
}

void allowNetlink(const Filter& filter) {
  allow(filter, {SCMP_SYS(sendmsg), SCMP_SYS(sendto), SCMP_SYS(recvmsg), SCMP_SYS(recvfrom),
                 SCMP_SYS(poll), SCMP_SYS(ppoll)});
}

void allowCollecting(const Filter& filter) {
  allowNetlink(filter);
  allowWhen(filter, SCMP_SYS(socket), {equals(0, AF_NETLINK)});
  allow(filter, {SCMP_SYS(bind), SCMP_SYS(getsockname), SCMP_SYS(setsockopt)});
  allowWhen(filter, SCMP_SYS(bpf), {equals(0, BPF_PROG_QUERY)});
  // Files of /proc that are open, and whether another is there by now; a capture's file.
  allow(filter, {SCMP_SYS(pread64), SCMP_SYS(access), SCMP_SYS(faccessat), SCMP_SYS(ftruncate)});
  // Giving up the rest, which none of these can do the reverse of.
  allow(filter, {SCMP_SYS(capget), SCMP_SYS(capset), SCMP_SYS(seccomp)});
  allowWhen(filter, SCMP_SYS(prctl), {equals(0, PR_SET_NO_NEW_PRIVS)});
}

}  // namespace

void keepOnlyCapabilities(std::initializer_list<int> capabilities) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    defect("no_new_privs cannot be set", errno);
  }
  if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0) {
    defect("the ambient capabilities cannot be cleared", errno);
  }
  readCapabilities();
  // Only CAP_SETPCAP clears the bounding set; without it, no_new_privs alone keeps it unreachable.
  const bool clearsBounding = holds(CAPNG_EFFECTIVE, CAP_SETPCAP);
  if (clearsBounding) {
    for (int capability = 0; knownToKernel(capability); ++capability) {
      if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
        defect(
            "capability " + std::to_string(capability) + " cannot be taken from the bounding set",
            errno);
      }
    }
  }
  std::vector<unsigned> kept;
  for (const int capability : capabilities) {
    if (holds(CAPNG_PERMITTED, capability)) {
      kept.push_back(static_cast<unsigned>(capability));
    }
  }
  capng_clear(CAPNG_SELECT_CAPS);
  for (const unsigned capability : kept) {
    if (capng_update(CAPNG_ADD, static_cast<capng_type_t>(CAPNG_EFFECTIVE | CAPNG_PERMITTED),
                     capability) != 0) {
      throw Failure(ExitCode::kDefect,
                    "capability " + std::to_string(capability) + " is not known to libcap-ng");
    }
  }
  if (capng_apply(CAPNG_SELECT_CAPS) != 0) {
    throw Failure(ExitCode::kDefect, "the capabilities cannot be given up");
  }
  verifyCapabilities(capabilities, clearsBounding);
}

// libcap-ng reads /proc/PID/status before anything else. The inheritable, ambient and bounding sets
// are as keepOnlyCapabilities() left them.
void dropLastCapabilities() {
  using Sets = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  Sets sets{};
  if (syscall(SYS_capset, &header, sets.data()) != 0 ||
      syscall(SYS_capget, &header, sets.data()) != 0) {
    defect("the last capabilities cannot be given up", errno);
  }
  for (const __user_cap_data_struct& set : sets) {
    if ((set.effective | set.permitted | set.inheritable) != 0) {
      throw Failure(ExitCode::kDefect, "a capability is still held after the last was given up");
    }
  }
}

void lockSyscalls(SeccompProfile profile) {
  // What libraries would open at their first use: the time zone of log lines. Once: a second filter
  // is made behind a first one that lets nothing be looked up.
  [[maybe_unused]] static const bool zoneKnown = (tzset(), true);
#ifdef VETHGATE_ADDRESS_SANITIZER
  // The leak checker stops threads with calls that no profile allows, so it runs here, not at exit.
  // A report of the sanitizer after this point ends in SIGSYS, which fails a test as well.
  __lsan_do_leak_check();
#endif
  const Filter filter(seccomp_init(SCMP_ACT_KILL_PROCESS));
  if (filter == nullptr) {
    throw Failure(ExitCode::kDefect, "the system call filter cannot be made");
  }
  // Calls of another architecture's table (32-bit on a 64-bit kernel) are no way around it.
  check(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS),
        "its architecture rule");
  const bool waits =
      profile == SeccompProfile::kWait || profile == SeccompProfile::kNetlinkThenWait;
  if (waits) {
    allowWaiting(filter);
  }
  if (profile != SeccompProfile::kWait) {
    allowParsing(filter);
  }
  if (profile == SeccompProfile::kNetlink || profile == SeccompProfile::kNetlinkThenWait) {
    allowNetlink(filter);
  }
  if (profile == SeccompProfile::kCollect) {
    allowCollecting(filter);
  }
#ifdef VETHGATE_ADDRESS_SANITIZER
  // What the sanitizers' own checks call: at each throw, and to probe an object's memory.
  allow(filter, {SCMP_SYS(sigaltstack), SCMP_SYS(pipe2)});
#endif
  // Of the two things that seccomp_load() sets, no_new_privs is its default.
  check(seccomp_load(filter.get()), "to be loaded");
}

}  // namespace vethgate
