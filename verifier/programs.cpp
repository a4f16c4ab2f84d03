// What the answers of BPF_PROG_QUERY mean; see programs.hpp. Sources: kernel/bpf/syscall.c,
// bpf_prog_query(); kernel/bpf/tcx.c, tcx_prog_query().
#include "verifier/programs.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <system_error>

namespace vethgate {
namespace {

std::string placeOf(std::uint32_t link, ProgramHook hook) {
  return std::string(hookName(hook)) + " of link " + std::to_string(link);
}

std::string errorText(std::uint32_t error) {
  return std::generic_category().message(static_cast<int>(error));
}

// One hook of one link. Returns the errno of a question that might not be asked, else 0.
std::uint32_t checkHook(const std::vector<ProgramAnswer>& answers, std::uint32_t link,
                        ProgramHook hook, Findings& findings) {
  const auto isAbout = [&](const ProgramAnswer& answer) {
    return answer.link == link && answer.hook == hook;
  };
  const auto asked = std::count_if(answers.begin(), answers.end(), isAbout);
  if (asked != 1) {
    findings.add("programs: " + std::to_string(asked) + " answers are about " +
                 placeOf(link, hook) + ", expected 1");
    return 0;
  }
  const ProgramAnswer& answer = *std::find_if(answers.begin(), answers.end(), isAbout);
  if (answer.count != 0) {
    findings.add("programs: " + std::to_string(answer.count) + " are attached to " +
                 placeOf(link, hook) + ", expected none: they act ahead of the rules");
    return 0;
  }
  switch (answer.error) {
    case 0:
    case EINVAL:  // no such hook: the kernel is older than 6.6 or was built without it
      return 0;
    case EPERM:   // no CAP_NET_ADMIN in the initial user namespace, or a filter of the engine's
    case EACCES:  // a security module
    case ENOSYS:  // a filter of the engine's, or a kernel without bpf(2)
      return answer.error;
    default:
      findings.add("programs: " + placeOf(link, hook) +
                   " cannot be asked about: " + errorText(answer.error));
      return 0;
  }
}

}  // namespace

void checkPrograms(const Capture& capture, std::uint32_t job, std::vector<std::string>& unchecked,
                   Findings& findings) {
  if (!capture.programs) {
    unchecked.emplace_back("whether tcx programs are attached: the capture does not say");
    return;
  }
  std::uint32_t forbidden = 0;
  for (const std::uint32_t link : {kLoopbackIndex, job}) {
    for (const ProgramHook hook : {ProgramHook::kTcxIngress, ProgramHook::kTcxEgress}) {
      forbidden = std::max(forbidden, checkHook(*capture.programs, link, hook, findings));
    }
  }
  const auto unknown =
      std::count_if(capture.programs->begin(), capture.programs->end(),
                    [](const ProgramAnswer& answer) { return answer.error == EINVAL; });
  if (unknown != 0 && unknown != std::ssize(*capture.programs)) {
    findings.add("programs: the kernel knows the hooks of tcx at one place and not at another");
  }
  if (capture.programs->size() != 4) {
    findings.add("programs: " + std::to_string(capture.programs->size()) +
                 " answers are there, expected 4");
  }
  if (forbidden != 0) {
    unchecked.push_back("whether tcx programs are attached: bpf(2) answers \"" +
                        errorText(forbidden) + "\"");
  }
}

}  // namespace vethgate
