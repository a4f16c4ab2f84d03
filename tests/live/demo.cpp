// The leak and its closure, measured on real containers and printed as a table: OUTPUT rules hold
// runc and not gVisor; the whole plan holds both, and lets through what the policy allows. Exit 0
// only if every leg came out as expected.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <sstream>
#include <string>
#include <vector>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/runtime.hpp"

namespace vethgate::live {
namespace {

struct Leg {
  std::string what;
  std::string target;
  Outcome expected;
  Outcome measured = Outcome::kNotTried;
};

struct Section {
  std::string title;
  bool leaks;  // what is denied connects here, and is expected to
  std::vector<Leg> legs;
};

std::string text(Outcome outcome) {
  std::ostringstream out;
  out << outcome;
  return out.str();
}

void progress(const std::string& line) {
  std::fprintf(stderr, "... %s\n", line.c_str());
  std::fflush(stderr);
}

std::vector<Leg> outputRulesLegs(bool leaks) {
  const Outcome denied = leaks ? Outcome::kConnected : Outcome::kRefused;
  return {
      {"denied address", std::string(kDeniedTcp), denied},
      {"denied IPv6 address", std::string(kDeniedTcpV6), denied},
      {"cloud metadata", std::string(kMetadata), denied},
      {"allowed address", std::string(kAllowedTcp), Outcome::kConnected},
  };
}

std::vector<Leg> wholePlanLegs(const Job& job) {
  const auto leg = [](const char* what, std::string_view target, Outcome expected) {
    return Leg{what, std::string(target), expected};
  };
  constexpr Outcome kYes = Outcome::kConnected;
  constexpr Outcome kNo = Outcome::kRefused;
  return {
      leg("denied address", kDeniedTcp, kNo),
      leg("denied address, UDP", kDeniedUdp, kNo),
      leg("denied IPv6 address", kDeniedTcpV6, kNo),
      leg("IPv6 link-local address", job.linkLocalTarget(), kNo),
      leg("IPv6 spelling of a denied address", kDeniedNat64, kNo),
      leg("cloud metadata", kMetadata, kNo),
      leg("allowed address", kAllowedTcp, kYes),
      leg("allowed address, second port", kAllowedTcpSecondPort, kYes),
      leg("allowed IPv6 address", kAllowedTcpV6, kYes),
      leg("proxy, port in the range", kProxyFirst, kYes),
      leg("proxy, port above the range", kProxyAbove, kNo),
      leg("resolver, port 53", kResolverUdp, kYes),
      leg("resolver, another port", kResolverOtherTcp, kNo),
  };
}

class Demo {
 public:
  int run() {
    Host host;
    progress("no rules: a plain process tries every target (all must be within reach)");
    const Job open(host);
    measure("no rules, a plain process", Runtime::kProcess, open,
            {{"denied address", std::string(kDeniedTcp), Outcome::kConnected},
             {"denied IPv6 address", std::string(kDeniedTcpV6), Outcome::kConnected},
             {"cloud metadata", std::string(kMetadata), Outcome::kConnected},
             {"allowed address", std::string(kAllowedTcp), Outcome::kConnected}});

    for (const Runtime runtime : {Runtime::kRunc, Runtime::kRunscBookworm}) {
      progress("OUTPUT rules alone: " + std::string(name(runtime)));
      const Job job(host);
      (void)contain(job, kOutputRulesPolicy);
      measure("OUTPUT rules alone, " + std::string(name(runtime)), runtime, job,
              outputRulesLegs(isGvisor(runtime)), isGvisor(runtime));
    }
    Verdict verdict;
    for (const Runtime runtime : {Runtime::kRunc, Runtime::kRunscBookworm}) {
      progress("whole plan: " + std::string(name(runtime)));
      const Job job(host);
      const Rendered rendered = contain(job, kReferencePolicy);
      measure("whole plan, " + std::string(name(runtime)), runtime, job, wholePlanLegs(job));
      verdict = verify(job.netns(), rendered.policy, rendered.link);
    }
    printTable();
    printVerdict(verdict);
    const bool good = asExpected_ && verdict.contained();
    std::printf("\n%s\n", good ? "Every leg as expected." : "NOT as expected.");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
  }

 private:
  void measure(const std::string& title, Runtime runtime, const Job& job, std::vector<Leg> legs,
               bool leaks = false) {
    std::vector<std::string> targets;
    for (const Leg& leg : legs) {
      targets.push_back(leg.target);
    }
    const PayloadReport report = runPayload(runtime, job, targets);
    for (Leg& leg : legs) {
      leg.measured = report.outcome(leg.target);
      asExpected_ = asExpected_ && leg.measured == leg.expected;
    }
    if (report.onGvisor() != isGvisor(runtime) || report.onThisKernel() == isGvisor(runtime)) {
      asExpected_ = false;
      std::fprintf(stderr, "the payload did not run on the kernel that was meant: %s\n",
                   report.kernelRelease().c_str());
    }
    sections_.push_back({title + " (its kernel: " + report.kernelRelease() +
                             (report.onGvisor() ? ", gVisor" : "") + ")",
                         leaks, std::move(legs)});
  }

  static const char* note(const Section& section, const Leg& leg) {
    if (leg.measured != leg.expected) {
      return "  <- NOT AS EXPECTED";
    }
    const bool leak = section.leaks && leg.target != kAllowedTcp;
    return leak ? "  <- the leak" : "";
  }

  void printTable() const {
    std::size_t what = 0;
    std::size_t target = 0;
    for (const Section& section : sections_) {
      for (const Leg& leg : section.legs) {
        what = std::max(what, leg.what.size());
        target = std::max(target, leg.target.size());
      }
    }
    const auto line = [&](const std::string& a, const std::string& b, const std::string& c,
                          const std::string& d) {
      std::printf("  %-*s  %-*s | %-9s | %s\n", static_cast<int>(what), a.c_str(),
                  static_cast<int>(target), b.c_str(), c.c_str(), d.c_str());
    };
    std::printf("\n");
    line("leg", "", "expected", "measured");
    for (const Section& section : sections_) {
      std::printf("%s\n", section.title.c_str());
      for (const Leg& leg : section.legs) {
        line(leg.what, leg.target, text(leg.expected), text(leg.measured) + note(section, leg));
      }
    }
  }

  static void printVerdict(const Verdict& verdict) {
    if (!verdict.document.is_object()) {
      std::printf("\nno verdict: %s\n", verdict.finished.summary().c_str());
      return;
    }
    std::printf("\nverdict after the gVisor payload: %s\n%s",
                verdict.document.value("verdict", "none").c_str(), verdict.reasons().c_str());
    std::printf("  policy   %s\n  readback %s\n", verdict.document.value("policy", "").c_str(),
                verdict.document.value("readback", "").c_str());
    std::printf("\n  dropped packets  rule\n");
    const Json drops = verdict.document.value("drops", Json::object());
    for (const auto& [rule, packets] : drops.items()) {
      if (packets.get<std::uint64_t>() != 0) {
        std::printf("  %15llu  %s\n", static_cast<unsigned long long>(packets.get<std::uint64_t>()),
                    rule.c_str());
      }
    }
  }

  std::vector<Section> sections_;
  bool asExpected_ = true;
};

}  // namespace
}  // namespace vethgate::live

int main() {
  try {
    return vethgate::live::Demo().run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "demo: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
