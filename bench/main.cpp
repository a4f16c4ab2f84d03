// `./run bench [processes|randomised|packets|establish|concurrent] [NUMBER]`: what vethgate costs,
// measured side by side with iptables-nft-restore, ip6tables-nft-restore, tc -batch and nft -f on
// the same rules, and with docker's command line program, in one run. It prints figures and judges
// none of them. NUMBER: of rounds, or of establishes at once.
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
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
using Measurements = std::map<std::string, Series>;
constexpr const char* kOurTwo = "apply + verify, 2 layers";
constexpr const char* kOurThree = "apply + verify, 3 layers";
constexpr const char* kTheirTwo = "theirs, 2 layers";
constexpr const char* kTheirThree = "theirs, 3 layers";
constexpr std::array kTable{"probe",
                            "render, 2 layers",
                            "apply, 2 layers",
                            "verify, 2 layers",
                            kOurTwo,
                            "render, 3 layers",
                            "apply, 3 layers",
                            "verify, 3 layers",
                            kOurThree,
                            "iptables-nft-restore",
                            "ip6tables-nft-restore",
                            "tc -batch",
                            "nft -f",
                            kTheirTwo,
                            kTheirThree};

void measureOurs(const live::Job& job, const std::string& policy, const std::string& layers,
                 Addresses addresses, Measurements& series) {
  series["probe"].add(measure({program("probe")}, "", job.netns(), addresses));
  const Documents made = documents(job, policy);
  series["render" + layers].add(measure({program("render"), "--link", kFolder + "/link.json",
                                         "--policy", kFolder + "/policy.json", "--emit", "plan"},
                                        "", job.netns(), addresses));
  const Measured apply =
      series["apply" + layers].add(measure({program("apply")}, made.plan, job.netns(), addresses));
  const Measured verify = series["verify" + layers].add(
      measure({program("verify")}, made.verify, job.netns(), addresses));
  series["apply + verify" + layers].add(apply + verify);
}

void measureRound(std::size_t denied, Addresses addresses, Measurements& series) {
  live::Host host;
  measureOurs(live::Job(host), policyText(denied, kTwoLayers), ", 2 layers", addresses, series);
  measureOurs(live::Job(host), policyText(denied, kThreeLayers), ", 3 layers", addresses, series);

  const live::Job theirs(host);
  (void)documents(theirs, policyText(denied, kThreeLayers));
  const std::string iptables = renderTo("iptables-save");
  const std::string filters = renderTo("tc");
  const std::string netdev = renderTo("nft");
  const Measured v4 = series["iptables-nft-restore"].add(
      measure({"iptables-nft-restore"}, iptables, theirs.netns(), addresses));
  const Measured v6 = series["ip6tables-nft-restore"].add(
      measure({"ip6tables-nft-restore"}, iptables, theirs.netns(), addresses));
  const Measured tc =
      series["tc -batch"].add(measure({"tc", "-batch", filters}, "", theirs.netns(), addresses));
  const Measured nft =
      series["nft -f"].add(measure({"nft", "-f", netdev}, "", theirs.netns(), addresses));
  series[kTheirTwo].add(v4 + v6 + tc);
  series[kTheirThree].add(v4 + v6 + tc + nft);
}

void printMeasurements(const std::string& size, const Measurements& series) {
  for (const char* name : kTable) {
    const Series& one = series.at(name);
    std::printf("%-9s %-24s %8.1f %8.1f %8.1f %8.1f\n", size.c_str(), name,
                one.medianOf(&Measured::wall), one.medianOf(&Measured::user),
                one.medianOf(&Measured::system), one.peakMiB());
  }
  for (const auto& [ours, theirs] :
       {std::pair{kOurTwo, kTheirTwo}, std::pair{kOurThree, kTheirThree}}) {
    const double wall = series.at(theirs).medianOf(&Measured::wall);
    std::printf("%-9s %s over %s: %.2f; floor, our system time over their wall time: %.2f\n",
                size.c_str(), ours, theirs, series.at(ours).medianOf(&Measured::wall) / wall,
                series.at(ours).medianOf(&Measured::system) / wall);
  }
  std::fflush(stdout);
}

void benchProcesses(int rounds, Addresses addresses) {
  std::printf("whole processes at %s addresses, median of %d rounds, interleaved; milliseconds\n",
              addresses == Addresses::kFixed ? "fixed" : "random", rounds);
  std::printf("%-9s %-24s %8s %8s %8s %8s\n", "denied", "program", "wall", "user", "system",
              "peak MiB");
  for (const std::size_t denied : {std::size_t{0}, std::size_t{1000}, std::size_t{10000}}) {
    Measurements series;
    for (int round = 0; round < rounds; ++round) {
      measureRound(denied, addresses, series);
    }
    printMeasurements(denied == 0 ? "reference" : std::to_string(denied), series);
  }
}

// One contained job per plan; the rounds take turns, so that no plan has the quiet half of the run.
void benchPackets() {
  struct Case {
    std::string name;
    std::string policy;  // empty: no plan
    Sender sender;
    std::unique_ptr<live::Job> job;
    std::vector<double> nanoseconds;
  };
  constexpr std::size_t kMany = 10000;
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const std::string& policy, Sender sender) {
    cases.push_back({name, policy, sender, nullptr, {}});
  };
  const std::string flower = R"(["flower"])";
  const std::string none = ", no plan";
  const std::string few = ", reference policy, 2 layers";
  const std::string many = ", 10,000 prefixes, 2 layers";
  for (const auto& [name, sender] : {std::pair{std::string("AF_PACKET"), Sender::kRaw},
                                     std::pair{std::string("UDP socket"), Sender::kUdp}}) {
    add(name + none, "", sender);
    add(name + few, policyText(0, kTwoLayers), sender);
    add(name + ", reference policy, 3 layers", policyText(0, kThreeLayers), sender);
    if (sender == Sender::kUdp) {  // which iptables judges as well
      add(name + ", reference policy, flower alone", policyText(0, flower), sender);
    }
    add(name + many, policyText(kMany, kTwoLayers), sender);
    add(name + ", 10,000 prefixes, 3 layers", policyText(kMany, kThreeLayers), sender);
    if (sender == Sender::kUdp) {
      add(name + ", 10,000 prefixes, flower alone", policyText(kMany, flower), sender);
    }
  }

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
  std::printf("%-42s %12s %12s %18s\n", "sender and plan", "packets/s", "ns/packet",
              "ns over no plan");
  double without = 0;
  std::map<std::string, double> over;
  for (const Case& one : cases) {
    const double each = median(one.nanoseconds);
    without = one.policy.empty() ? each : without;
    over[one.name] = each - without;
    std::printf("%-42s %12.0f %12.0f %18.0f\n", one.name.c_str(), 1e9 / each, each, over[one.name]);
  }
  std::printf("flower's cost at 10,000 prefixes over its cost at the reference policy: %.2f\n",
              over.at("AF_PACKET" + many) / over.at("AF_PACKET" + few));
}

// Of rounds, or of establishes at once; `otherwise` where the command line names none.
int numberFrom(int argc, char** argv, int otherwise) {
  if (argc < 3) {
    return otherwise;
  }
  constexpr int kMost = 1'000;
  const std::string_view text = argv[2];
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size() || number < 1 || number > kMost) {
    throw std::invalid_argument("the number is \"" + std::string(text) + "\", expected 1 to " +
                                std::to_string(kMost));
  }
  return number;
}

}  // namespace
}  // namespace vethgate::bench

int main(int argc, char** argv) {
  using vethgate::bench::Addresses;
  constexpr std::array kKnown{"all",     "processes", "randomised",
                              "packets", "establish", "concurrent"};
  try {
    const std::string what = argc > 1 ? argv[1] : "all";
    if (argc > 3 || std::find(kKnown.begin(), kKnown.end(), what) == kKnown.end()) {
      throw std::invalid_argument("\"" + what +
                                  "\" is not measured; processes, randomised, packets, establish "
                                  "and concurrent are, with a number behind them");
    }
    const auto number = [&](int otherwise) {
      return vethgate::bench::numberFrom(argc, argv, otherwise);
    };
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
  } catch (const std::invalid_argument& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << "\n";
    return 1;
  }
}
