// `./run bench [processes|randomised|packets|establish|concurrent] [NUMBER]`: what vethgate costs,
// measured side by side with iptables-nft-restore, ip6tables-nft-restore and tc -batch on the same
// rules, and with docker's command line program, in one run. It prints figures and judges none of
// them. NUMBER: of rounds, or of establishes at once.
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

#include "bench/establish.hpp"
#include "bench/measure.hpp"
#include "bench/packets.hpp"
#include "bench/policies.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/live/fixture/topology.hpp"

namespace vethgate::bench {
namespace {

constexpr int kRounds = 21;
constexpr int kEstablishRounds = 10;
constexpr int kEstablishesAtOnce = 20;
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

// One program's rounds.
class Series {
 public:
  // Returns what it took.
  const Measured& add(const Measured& one) { return rounds_.emplace_back(one); }
  [[nodiscard]] double medianOf(double Measured::*figure) const {
    std::vector<double> values;
    for (const Measured& one : rounds_) {
      values.push_back(one.*figure);
    }
    return median(std::move(values));
  }
  [[nodiscard]] double peakMiB() const {
    long peak = 0;
    for (const Measured& one : rounds_) {
      peak = std::max(peak, one.peakKiB);
    }
    return static_cast<double>(peak) / 1024;
  }

 private:
  std::vector<Measured> rounds_;
};

Measured operator+(const Measured& a, const Measured& b) {
  return {a.wall + b.wall, a.user + b.user, a.system + b.system, std::max(a.peakKiB, b.peakKiB)};
}

// What was measured at one size of policy, by the name that the table gives it.
constexpr const char* kOurs = "apply + verify";
constexpr const char* kTheirs = "all three";
using Measurements = std::map<std::string, Series>;

void measureRound(const std::string& policy, Addresses addresses, Measurements& series) {
  live::Host host;
  const live::Job ours(host);
  const live::Job theirs(host);
  const Documents made = documents(ours, policy);
  series["render"].add(measure({program("render"), "--link", kFolder + "/link.json", "--policy",
                                kFolder + "/policy.json", "--emit", "plan"},
                               "", ours.netns(), addresses));
  const Measured apply =
      series["apply"].add(measure({program("apply")}, made.plan, ours.netns(), addresses));
  const Measured verify =
      series["verify"].add(measure({program("verify")}, made.verify, ours.netns(), addresses));
  series[kOurs].add(apply + verify);

  (void)documents(theirs, policy);
  const std::string iptables = renderTo("iptables-save");
  const std::string filters = renderTo("tc");
  const Measured v4 = series["iptables-nft-restore"].add(
      measure({"iptables-nft-restore"}, iptables, theirs.netns(), addresses));
  const Measured v6 = series["ip6tables-nft-restore"].add(
      measure({"ip6tables-nft-restore"}, iptables, theirs.netns(), addresses));
  const Measured tc =
      series["tc -batch"].add(measure({"tc", "-batch", filters}, "", theirs.netns(), addresses));
  series[kTheirs].add(v4 + v6 + tc);
}

void printMeasurements(const std::string& size, const Measurements& series) {
  for (const char* name : {"render", "apply", "verify", kOurs, "iptables-nft-restore",
                           "ip6tables-nft-restore", "tc -batch", kTheirs}) {
    const Series& one = series.at(name);
    std::printf("%-9s %-22s %8.1f %8.1f %8.1f %8.1f\n", size.c_str(), name,
                one.medianOf(&Measured::wall), one.medianOf(&Measured::user),
                one.medianOf(&Measured::system), one.peakMiB());
  }
  const double theirs = series.at(kTheirs).medianOf(&Measured::wall);
  std::printf("%-9s %s over %s: %.2f; floor, our system time over their wall time: %.2f\n",
              size.c_str(), kOurs, kTheirs, series.at(kOurs).medianOf(&Measured::wall) / theirs,
              series.at(kOurs).medianOf(&Measured::system) / theirs);
  std::fflush(stdout);
}

void benchProcesses(int rounds, Addresses addresses) {
  std::printf("whole processes at %s addresses, median of %d rounds, interleaved; milliseconds\n",
              addresses == Addresses::kFixed ? "fixed" : "random", rounds);
  std::printf("%-9s %-22s %8s %8s %8s %8s\n", "denied", "program", "wall", "user", "system",
              "peak MiB");
  for (const std::size_t denied : {std::size_t{0}, std::size_t{1000}, std::size_t{10000}}) {
    const std::string policy = policyText(denied);
    Measurements series;
    for (int round = 0; round < rounds; ++round) {
      measureRound(policy, addresses, series);
    }
    printMeasurements(denied == 0 ? "reference" : std::to_string(denied), series);
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
      measure({program("apply")}, made.plan, one.job->netns(), Addresses::kRandom);
      measure({program("verify")}, made.verify, one.job->netns(), Addresses::kRandom);
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
  using vethgate::bench::Addresses;
  try {
    const std::string what = argc > 1 ? argv[1] : "all";
    const auto number = [&](int otherwise) { return argc > 2 ? std::stoi(argv[2]) : otherwise; };
    const auto asked = [&](const char* one) { return what == "all" || what == one; };
    mkdir(vethgate::bench::kFolder.c_str(), 0700);
    if (asked("processes")) {
      vethgate::bench::benchProcesses(number(vethgate::bench::kRounds), Addresses::kFixed);
    }
    if (what == "randomised") {
      vethgate::bench::benchProcesses(number(vethgate::bench::kRounds), Addresses::kRandom);
    }
    if (asked("packets")) {
      vethgate::bench::benchPackets();
    }
    if (asked("establish")) {
      vethgate::bench::benchEstablish(number(vethgate::bench::kEstablishRounds));
    }
    if (asked("concurrent")) {
      vethgate::bench::benchConcurrent(number(vethgate::bench::kEstablishesAtOnce));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 1;
  }
}
