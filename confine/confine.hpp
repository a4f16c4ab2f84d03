// How a vethgate process gives up power: capabilities (libcap-ng), no_new_privs and seccomp
// (libseccomp). It must not know what the process is for beyond the profile that it names.
#pragma once

#include <initializer_list>

namespace vethgate {

// Keeps exactly the listed capabilities (CAP_* of <linux/capability.h>) in the permitted and
// effective sets, and none in the inheritable, ambient and bounding sets as far as the kernel lets
// this process clear them; sets no_new_privs. A capability that the process does not hold is not an
// error here: the operation that needs it reports that. Throws Failure(kDefect) when the kernel
// refuses a step.
void keepOnlyCapabilities(std::initializer_list<int> capabilities);

// The same as keepOnlyCapabilities({}) for a process that has called that function before and is
// locked to SeccompProfile::kCollect by now, where nothing can be looked up in /proc.
void dropLastCapabilities();

// Seccomp allow-lists; any other system call kills the process with SIGSYS
// (SECCOMP_RET_KILL_PROCESS).
enum class SeccompProfile {
  // Anonymous memory that is never executable, write(2) to and close(2) of open descriptors, the
  // clock, abort, exit: nothing can be opened, read or executed. A socket that is still open can be
  // written to, so close it before.
  kParse,
  // kParse plus sendmsg, recvmsg and poll on sockets that are open already; no socket options.
  kNetlink,
  // kNetlink, and what reading a namespace back takes: new netlink sockets and their options,
  // BPF_PROG_QUERY, pread(2), access(2), ftruncate(2) of an open descriptor. Nothing can be opened,
  // run or connected to. It is the one profile that can be narrowed: by dropLastCapabilities() and
  // then lockSyscalls(kParse).
  kCollect,
  // To wait for signals and to exit: for a process that has nothing else to do, ever.
  kWait,
  // kNetlink, and to wait for signals: for one that has a question first.
  kNetlinkThenWait,
};
// Once per process, with a single thread: a second call is killed by the first one's filter, except
// after kCollect. Reading of input, opening of files and sockets come before. Throws
// Failure(kDefect) when the kernel refuses.
void lockSyscalls(SeccompProfile profile);

}  // namespace vethgate
