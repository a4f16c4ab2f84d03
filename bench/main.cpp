// `./run bench [processes|packets] [ROUNDS]`: what vethgate costs, measured side by side with
// iptables-nft-restore, ip6tables-nft-restore and tc -batch on the same rules, in one run. It
// prints figures and judges none of them.
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/measure.hpp"
#include "bench/packets.hpp"
#include "bench/policies.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/live/fixture/topology.hpp"

namespace vethgate::bench {
namespace {

constexpr int kRounds = 21;
constexpr std::chrono::milliseconds kPacketSpan{400};
constexpr int kPacketRounds = 7;

std::string program(const std::string& name) {
  return std::string(VETHGATE_BIN_DIR) + "/vethgate-" + name;
}

// A folder for the documents that the measured programs read.
const std::string kFolder = "/tmp/vethgate-bench";

std::string writeDocument(const std::string& name, const std::string& text) {
  const std::string path = kFolder + "/" + name;
  std::ofstream(path) << text;
  return path;
}

// Probes the job's link and renders `policy` for it; returns nothing, leaves the documents.
struct Documents {
  std::string plan;
  std::string verify;
};

// `form` as in --emit; the policy and the link are those of the last documents().
std::string renderTo(const std::string& form) {
  return writeDocument(
      form, live::runOrThrow({.argv = {program("render"), "--link", kFolder + "/link.json",
                                       "--policy", kFolder + "/policy.json", "--emit", form}})
                .out);
}

Documents documents(const live::Job& job, const std::string& policy) {
  const std::string link = live::runOrThrow({.argv = {program("probe")}, .in = &job.netns()}).out;
  writeDocument("link.json", link);
  writeDocument("policy.json", policy);
  return {renderTo("plan"),
          writeDocument("verify.json", R"({"policy":)" + policy + R"(,"link":)" + link + "}")};
}

struct Series {
  std::vector<double> milliseconds;
  long peakKiB = 0;
  double add(const Measured& one) {
    milliseconds.push_back(one.milliseconds);
    peakKiB = std::max(peakKiB, one.peakKiB);
    return one.milliseconds;
  }
};

void benchProcesses(int rounds) {
  std::printf("whole processes, median of %d rounds, interleaved; milliseconds and peak memory\n",
              rounds);
  std::printf("%-9s %9s %9s %9s | %9s %9s %9s %9s | %6s | %s\n", "denied", "apply", "verify", "sum",
              "iptables", "ip6tables", "tc", "sum", "ratio", "peak MiB render/apply/verify");
  for (const std::size_t denied : {std::size_t{0}, std::size_t{1000}, std::size_t{10000}}) {
    const std::string policy = policyText(denied);
    std::map<std::string, Series> series;
    for (int round = 0; round < rounds; ++round) {
      live::Host host;
      const live::Job ours(host);
      const live::Job theirs(host);
      const Documents made = documents(ours, policy);
      series["render"].add(measure({program("render"), "--link", kFolder + "/link.json", "--policy",
                                    kFolder + "/policy.json", "--emit", "plan"},
                                   "", "", ours.netns()));
      const double apply =
          series["apply"].add(measure({program("apply")}, made.plan, "", ours.netns()));
      const double verify =
          series["verify"].add(measure({program("verify")}, made.verify, "", ours.netns()));
      series["ours"].add({apply + verify, 0, 0});
      (void)documents(theirs, policy);
      const std::string iptables = renderTo("iptables-save");
      const std::string filters = renderTo("tc");
      const double v4 =
          series["iptables"].add(measure({"iptables-nft-restore"}, iptables, "", theirs.netns()));
      const double v6 =
          series["ip6tables"].add(measure({"ip6tables-nft-restore"}, iptables, "", theirs.netns()));
      const double tc =
          series["tc"].add(measure({"tc", "-batch", filters}, "", "", theirs.netns()));
      series["theirs"].add({v4 + v6 + tc, 0, 0});
    }
    const auto at = [&](const char* name) { return median(series[name].milliseconds); };
    const auto peak = [&](const char* name) {
      return static_cast<double>(series[name].peakKiB) / 1024;
    };
    std::printf("%-9s %9.1f %9.1f %9.1f | %9.1f %9.1f %9.1f %9.1f | %6.2f | %.1f / %.1f / %.1f\n",
                denied == 0 ? "reference" : std::to_string(denied).c_str(), at("apply"),
                at("verify"), at("ours"), at("iptables"), at("ip6tables"), at("tc"), at("theirs"),
                at("ours") / at("theirs"), peak("render"), peak("apply"), peak("verify"));
    std::fflush(stdout);
  }
}

// One contained job per plan; the rounds take turns, so that no plan has the quiet half of the run.
void benchPackets() {
  struct Case {
    const char* name;
    std::string policy;  // empty: no plan
    Sender sender;
    std::unique_ptr<live::Job> job;
    std::vector<double> nanoseconds;
  };
  const std::string both = R"(["iptables","flower"])";
  const std::string flower = R"(["flower"])";
  constexpr std::size_t kMany = 10000;
  std::vector<Case> cases;
  const auto add = [&](const char* name, const std::string& policy, Sender sender) {
    cases.push_back({name, policy, sender, nullptr, {}});
  };
  add("AF_PACKET, no plan", "", Sender::kRaw);
  add("AF_PACKET, reference policy", policyText(0, both), Sender::kRaw);
  add("AF_PACKET, 10,000 prefixes", policyText(kMany, both), Sender::kRaw);
  add("UDP socket, no plan", "", Sender::kUdp);
  add("UDP socket, reference policy", policyText(0, both), Sender::kUdp);
  add("UDP socket, reference, flower alone", policyText(0, flower), Sender::kUdp);
  add("UDP socket, 10,000 prefixes", policyText(kMany, both), Sender::kUdp);
  add("UDP socket, 10,000, flower alone", policyText(kMany, flower), Sender::kUdp);

  live::Host host;
  for (Case& one : cases) {
    one.job = std::make_unique<live::Job>(host);
    if (!one.policy.empty()) {
      const Documents made = documents(*one.job, one.policy);
      measure({program("apply")}, made.plan, "", one.job->netns());
      measure({program("verify")}, made.verify, "", one.job->netns());
    }
  }
  for (int round = 0; round < kPacketRounds; ++round) {
    for (Case& one : cases) {
      one.nanoseconds.push_back(nanosecondsPerPacket(*one.job, one.sender, kPacketSpan));
    }
  }
  std::printf("\npackets to an allowed address, median of %d rounds of %lld ms\n", kPacketRounds,
              static_cast<long long>(kPacketSpan.count()));
  std::printf("%-38s %12s %12s %18s\n", "sender and plan", "packets/s", "ns/packet",
              "ns over no plan");
  const auto at = [&](std::size_t i) { return median(cases.at(i).nanoseconds); };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double without = at(cases[i].sender == Sender::kRaw ? 0 : 3);
    std::printf("%-38s %12.0f %12.0f %18.0f\n", cases[i].name, 1e9 / at(i), at(i), at(i) - without);
  }
  std::printf("flower's cost at 10,000 prefixes over its cost at the reference policy: %.2f\n",
              (at(2) - at(0)) / (at(1) - at(0)));
}

}  // namespace
}  // namespace vethgate::bench

int main(int argc, char** argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "all";
    const int rounds = argc > 2 ? std::stoi(argv[2]) : vethgate::bench::kRounds;
    mkdir(vethgate::bench::kFolder.c_str(), 0700);
    if (what == "all" || what == "processes") {
      vethgate::bench::benchProcesses(rounds);
    }
    if (what == "all" || what == "packets") {
      vethgate::bench::benchPackets();
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 1;
  }
}
