#include "bench/establish.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "bench/measure.hpp"
#include "bench/reference.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/engine.hpp"
#include "tests/live/fixture/process.hpp"

namespace vethgate::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Logging, a pinhole for the proxy and a resolver, as the reference has them.
constexpr const char* kPolicy = R"({"version": 1, "resolvers": ["192.0.2.53"],
  "log": {"rate": "6/minute", "burst": 12},
  "allow": [{"to": "host-gateway", "protocol": "tcp", "ports": "49200-49299", "why": "proxy"}]})";
constexpr const char* kOwner = "bench";
// With many at once on one emulated CPU.
constexpr std::chrono::seconds kWithin{600};
// That, and as long again for removing what failed.
constexpr std::chrono::seconds kPatience{2 * kWithin};

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Stage {
 public:
  Stage() : engine(live::EngineKind::kDocker20, host) {
    engine.need({"load", "--quiet", "--input", VETHGATE_IMAGE});
  }

  // Started where docker's own program is started, so that both pay for the way there.
  [[nodiscard]] live::Finished vethgate(const std::vector<std::string>& arguments,
                                        const std::string& input = {}) const {
    std::vector<std::string> argv = engine.inside();
    argv.emplace_back(std::string(VETHGATE_BIN_DIR) + "/vethgate");
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    argv.insert(argv.end(), {"--engine", engine.socket()});
    return live::run({.argv = argv, .input = input, .deadline = kPatience});
  }

  [[nodiscard]] live::Finished establish(const std::string& job) const {
    const auto deadline = std::chrono::duration_cast<std::chrono::seconds>(
        (std::chrono::system_clock::now() + std::chrono::hours(1)).time_since_epoch());
    return vethgate({"establish"}, R"({"version": 1, "job": ")" + job + R"(", "owner": ")" +
                                       kOwner + R"(", "network": "bridge", "deadline": )" +
                                       std::to_string(deadline.count()) + R"(, "within": )" +
                                       std::to_string(kWithin.count()) + R"(, "policy": )" +
                                       kPolicy + "}");
  }

  void release(const std::string& job) const {
    // An engine that is behind with its work confirms no removal in time, and is asked again.
    const Deadline patience = Deadline::after(kPatience);
    live::Finished finished = vethgate({"release", job, "--owner", kOwner});
    while (!finished.ok() && !patience.passed()) {
      finished = vethgate({"release", job, "--owner", kOwner});
    }
    if (!finished.ok()) {
      throw std::runtime_error("release " + job + ": " + finished.summary());
    }
  }

  // Ids of what the engine has of a job, each with a line feed.
  [[nodiscard]] std::string left(const std::string& job) const {
    return engine.need({"ps", "--all", "--quiet", "--filter", "label=vethgate.job=" + job});
  }

  live::Namespace host;
  live::LiveEngine engine;
};

// What a busy machine adds comes and goes; the least is the nearest to what a quiet one takes.
double least(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

// What the steps of one kind took, in the order in which they were first seen.
class Table {
 public:
  void add(const std::string& step, double milliseconds) {
    const auto known = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const auto& row) { return row.first == step; });
    auto& row = known == rows_.end() ? rows_.emplace_back(step, std::vector<double>{}) : *known;
    row.second.push_back(milliseconds);
  }
  void print(const char* title) const {
    std::printf("  %-40s %8s %8s\n", title, "median", "least");
    for (const auto& [step, values] : rows_) {
      std::printf("    %-38s %8.0f %8.0f\n", step.c_str(), median(values), least(values));
    }
  }

 private:
  std::vector<std::pair<std::string, std::vector<double>>> rows_;
};

struct Answered {
  nlohmann::ordered_json answer;  // steps in the order in which they ended
  double milliseconds;
};

Answered established(const Stage& stage, const std::string& job) {
  const auto started = Clock::now();
  const live::Finished finished = stage.establish(job);
  const double took = secondsSince(started) * 1e3;
  if (!finished.ok()) {
    throw std::runtime_error("establish: " + finished.summary() + "\n" + stage.engine.log());
  }
  return {nlohmann::ordered_json::parse(finished.out), took};
}

// The very policy that vethgate has put in place, for the reference's link.
ReferenceRules rulesOf(const nlohmann::ordered_json& answer) {
  const auto text = [&](const char* form) {
    const live::Finished finished =
        live::render(answer.at("policy").dump(), answer.at("link").dump(), form);
    if (!finished.ok()) {
      throw std::runtime_error("render: " + finished.summary());
    }
    return finished.out;
  };
  return {text("iptables-save"), text("tc"), answer.at("link").at("name").get<std::string>()};
}

}  // namespace

void benchEstablish(int rounds) {
  const Stage stage;
  const Reference reference(stage.engine);
  Table ours;
  Table theirs;
  std::vector<double> ourTimes;
  std::vector<double> theirTimes;
  // The first round loads the kernel's modules, and does not count.
  for (int round = 0; round <= rounds; ++round) {
    const auto [answer, took] = established(stage, "job");
    stage.release("job");
    const std::string holder = "reference-" + std::to_string(round);
    const auto started = Clock::now();
    const Steps steps = reference.establish(holder, rulesOf(answer));
    const double theirTook = secondsSince(started) * 1e3;
    stage.engine.need({"rm", "--force", holder});
    if (round == 0) {
      continue;
    }
    ourTimes.push_back(took);
    theirTimes.push_back(theirTook);
    for (const auto& [step, milliseconds] : answer.at("timings").items()) {
      ours.add(step, milliseconds.get<double>());
    }
    for (const auto& [step, milliseconds] : steps) {
      theirs.add(step, milliseconds);
    }
  }
  std::printf("\nestablish on %s, from request to answer, %d rounds, interleaved; milliseconds\n",
              std::string(name(stage.engine.kind())).c_str(), rounds);
  ours.print("vethgate, by its answers; steps overlap");
  theirs.print("reference: docker run, one by one");
  const auto ratio = [](const char* what, double mine, double other) {
    std::printf("  %s: vethgate %.0f, reference %.0f, ratio %.2f\n", what, mine, other,
                mine / other);
  };
  ratio("median", median(ourTimes), median(theirTimes));
  ratio("least", least(ourTimes), least(theirTimes));
  std::fflush(stdout);
}

void benchConcurrent(int count) {
  const Stage stage;
  // Alone first, for the kernel's modules, and to compare with.
  const double alone = established(stage, "alone").milliseconds;
  stage.release("alone");

  const auto started = Clock::now();
  std::vector<std::future<live::Finished>> attempts;
  for (int i = 0; i < count; ++i) {
    attempts.push_back(std::async(
        std::launch::async, [&stage, i] { return stage.establish("job-" + std::to_string(i)); }));
  }
  std::vector<live::Finished> ended;
  for (std::future<live::Finished>& attempt : attempts) {
    ended.push_back(attempt.get());
  }
  const double all = secondsSince(started);
  int answered = 0;
  std::map<std::string, int> refusals;
  std::vector<std::string> unsaid;
  for (int i = 0; i < count; ++i) {
    const live::Finished& finished = ended.at(static_cast<std::size_t>(i));
    if (finished.ok()) {
      ++answered;
      continue;
    }
    if (finished.exit <= 1) {
      throw std::runtime_error("establish: " + finished.summary());
    }
    const std::string reason = finished.lastErrorLine();
    const bool nothing = reason.find("nothing of the attempt is left") != std::string::npos;
    // A removal that an engine does not confirm in time is said, and left to the sweep.
    ++refusals["exit " + std::to_string(finished.exit) +
               (nothing ? ", nothing left" : ", saying what may be left")];
    // Before a release hides whether that was true.
    const std::string left = nothing ? stage.left("job-" + std::to_string(i)) : "";
    if (!left.empty()) {
      unsaid.push_back(left + "after: " + reason);
    }
  }
  for (int i = 0; i < count; ++i) {
    stage.release("job-" + std::to_string(i));
  }
  if (const std::string left = stage.engine.need({"ps", "--all", "--quiet"}); !left.empty()) {
    throw std::runtime_error("after release these are left: " + left);
  }
  std::printf("\n%d establishes at once, %.1f s in all; one alone took %.1f s\n", count, all,
              alone / 1e3);
  std::printf("  %d answered\n", answered);
  for (const auto& [how, many] : refusals) {
    std::printf("  %d refused: %s\n", many, how.c_str());
  }
  std::printf("  nothing left after release\n");
  std::fflush(stdout);
  if (!unsaid.empty()) {
    throw std::runtime_error(std::to_string(unsaid.size()) +
                             " said that nothing is left, and something was: " + unsaid.front());
  }
  if (answered == 0) {
    throw std::runtime_error("none was answered");
  }
}

}  // namespace vethgate::bench
