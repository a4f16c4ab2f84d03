#include "tests/live/demo/legs.hpp"

#include <cstdio>
#include <sstream>

namespace vethgate::live {
namespace {

std::string text(Outcome outcome) {
  std::ostringstream out;
  out << outcome;
  return out.str();
}

void printLine(std::string_view what, std::string_view target, const std::string& expected,
               const std::string& measured) {
  std::printf("    %-28.*s  %-30.*s  %-10s  %s\n", static_cast<int>(what.size()), what.data(),
              static_cast<int>(target.size()), target.data(), expected.c_str(), measured.c_str());
}

}  // namespace

std::vector<std::string> targetsOf(const std::vector<Leg>& legs) {
  std::vector<std::string> targets;
  for (const Leg& leg : legs) {
    targets.emplace_back(leg.target);
  }
  return targets;
}

bool judge(const std::vector<Leg>& legs, const PayloadReport& report, bool gvisor) {
  bool good = true;
  printLine("leg", "", "expected", "measured");
  for (const Leg& leg : legs) {
    const Outcome measured = report.outcome(leg.target);
    std::string note;
    if (measured != leg.expected) {
      note = "  <- NOT AS EXPECTED";
      good = false;
    } else if (!leg.note.empty()) {
      note = "  <- " + std::string(leg.note);
    }
    printLine(leg.what, leg.target, text(leg.expected), text(measured) + note);
  }
  std::printf("    (the job's kernel: %s%s)\n\n", report.kernelRelease().c_str(),
              report.onGvisor() ? ", gVisor" : "");
  if (report.onGvisor() != gvisor || report.onThisKernel() == gvisor) {
    std::ostringstream said;
    said << report;
    std::printf("    NOT the kernel that was meant:\n%s\n", said.str().c_str());
    good = false;
  }
  std::fflush(stdout);
  return good;
}

}  // namespace vethgate::live
