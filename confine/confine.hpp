// How a vethgate process gives up power: capabilities (libcap-ng), no_new_privs and seccomp
// (libseccomp). It must not know what the process is for beyond the profile that it names.
#pragma once

#include <initializer_list>

namespace vethgate {

// Keeps exactly the listed capabilities (CAP_* of <linux/capability.h>) in the permitted and effective
// sets, and none in the inheritable, ambient and bounding sets as far as the kernel lets this process
// clear them; sets no_new_privs. A capability that the process does not hold is not an error here: the
// operation that needs it reports that. Throws Failure(kDefect) when the kernel refuses a step.
void keepOnlyCapabilities(std::initializer_list<int> capabilities);

// Seccomp allow-lists; any other system call kills the process (SECCOMP_RET_KILL_PROCESS).
enum class SeccompProfile {
  kParse,    // memory, write to open descriptors, clock, exit: nothing can be opened or sent
  kNetlink,  // kParse plus sendmsg/recvmsg/poll on sockets that are open already
};
void lockSyscalls(SeccompProfile profile);

}  // namespace vethgate
