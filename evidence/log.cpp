#include "evidence/log.hpp"

#include <array>
#include <charconv>
#include <optional>
#include <set>
#include <utility>

#include "evidence/required.hpp"

namespace vethgate::evidence {
namespace {

// googletest 1.12, PrettyUnitTestResultPrinter.
constexpr std::string_view kFrame = "[==========] ";
constexpr std::string_view kRun = "[ RUN      ] ";
constexpr std::string_view kOk = "[       OK ] ";
constexpr std::string_view kFailed = "[  FAILED  ] ";
constexpr std::string_view kSkipped = "[  SKIPPED ] ";
constexpr std::string_view kPassed = "[  PASSED  ] ";
constexpr std::string_view kOurs = "vethgate-";
constexpr std::array<std::string_view, 5> kRunKeys = {"source_head", "tree", "host", "kernel",
                                                      "time"};
constexpr std::array<std::string_view, 2> kCaseKeys = {"id", "outcome"};

std::optional<std::size_t> leadingNumber(std::string_view text) {
  std::size_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  return parsed.ec == std::errc() ? std::optional(number) : std::nullopt;
}

// "Suite.Test/0 (12 ms)", "Suite.Test/0, where GetParam() = …"
std::string testOf(std::string_view text) {
  return std::string(text.substr(0, text.find_first_of(" ,")));
}

class LogReader {
 public:
  LogReader(std::string where, Problems& problems)
      : where_(std::move(where)), problems_(problems) {}

  void take(std::string_view line, std::size_t number) {
    place_ = where_ + " line " + std::to_string(number);
    if (line.starts_with(kOurs)) {
      takeOurs(line);
    } else if (line.starts_with(kFrame)) {
      takeFrame(line.substr(kFrame.size()));
    } else if (line.starts_with(kRun)) {
      begin(testOf(line.substr(kRun.size())));
    } else if (line.starts_with(kOk)) {
      end(testOf(line.substr(kOk.size())));
    } else if (line.starts_with(kFailed)) {
      spoil(testOf(line.substr(kFailed.size())), "failed", "failed");
    } else if (line.starts_with(kSkipped)) {
      spoil(testOf(line.substr(kSkipped.size())), "was skipped", "were skipped");
    } else if (line.starts_with(kPassed)) {
      takePassed(line.substr(kPassed.size()));
    }
  }

  [[nodiscard]] Log finish() {
    place_ = where_;
    if (!current_.empty()) {
      problem(current_ + " has no end");
    }
    if (runs_ != 1) {
      problem("holds " + std::to_string(runs_) + " lines vethgate-run, expected 1");
    }
    expectCount(announced_, log_.tests.size(), "that a run of tests begins");
    expectCount(concluded_, log_.tests.size(), "that the run of tests ended");
    expectCount(passed_, ok_, "how many tests passed");
    if (ok_ == 0) {
      problem("no test ran and passed");
    }
    return std::move(log_);
  }

 private:
  void problem(const std::string& what) { problems_.push_back(place_ + ": " + what); }

  void expectCount(const std::optional<std::size_t>& said, std::size_t found, const char* what) {
    if (!said) {
      problem(std::string("does not say ") + what);
    } else if (*said != found) {
      problem(std::string("says ") + what + " with " + std::to_string(*said) +
              " tests, but holds " + std::to_string(found));
    }
  }

  // Said a second time, it is another run's log behind this one.
  void say(std::optional<std::size_t>& once, std::string_view text, const char* what) {
    if (once) {
      problem(std::string("says again ") + what);
    }
    once = leadingNumber(text);
  }

  void takeFrame(std::string_view text) {
    constexpr std::string_view kRunning = "Running ";
    if (text.starts_with(kRunning)) {
      say(announced_, text.substr(kRunning.size()), "that a run of tests begins");
    } else {
      say(concluded_, text, "that the run of tests ended");
    }
  }

  void takePassed(std::string_view text) {
    if (!concluded_ || !current_.empty()) {
      problem("says how many tests passed before the run ended");
    }
    say(passed_, text, "how many tests passed");
  }

  void begin(const std::string& test) {
    if (!current_.empty()) {
      problem(test + " begins before " + current_ + " has ended");
    }
    if (!announced_ || concluded_) {
      problem(test + " is outside the run of tests");
    }
    if (!log_.tests.emplace(test, false).second) {
      problem(test + " runs again");
    }
    current_ = test;
  }

  void end(const std::string& test) {
    if (test != current_) {
      problem(test + " passed, but " + (current_.empty() ? "no test" : current_) + " is running");
    } else if (!std::exchange(log_.tests.at(test), true)) {
      ++ok_;
    }
    current_.clear();
  }

  // With the test's own end; then counted and listed at the end of the run, which says it again.
  void spoil(const std::string& test, const char* how, const char* howMany) {
    if (leadingNumber(test)) {
      problem("says that " + test + " tests " + howMany);
    } else if (spoilt_.insert(test).second) {
      problem(test + " " + how);
    }
    if (test == current_) {
      current_.clear();
    }
  }

  void takeOurs(std::string_view line) {
    std::vector<std::string_view> words = wordsOf(line);
    if (words.empty()) {
      problem("is not printable ASCII");
      return;
    }
    const std::string_view kind = words.front().substr(kOurs.size());
    words.erase(words.begin());
    if (kind == "case") {
      takeCase(words);
    } else if (kind == "run") {
      ++runs_;
      expectEarly();
      log_.run = readFields(words, kRunKeys, place_, problems_);
    } else if (kind == "artifact") {
      expectEarly();
      takeNamed(log_.artifacts, words, "sha256");
    } else if (kind == "runtime") {
      expectEarly();
      takeNamed(log_.runtimes, words, "version");
    } else if (kind == "engine") {
      takeNamed(log_.engines, words, "version");
    } else {
      problem("\"" + std::string(kOurs) + std::string(kind) + "\" is unknown");
    }
  }

  void expectEarly() {
    if (announced_) {
      problem("comes after the tests began");
    }
  }

  // The same thing may be said twice: an engine is started more than once.
  void takeNamed(Fields& all, const std::vector<std::string_view>& words, std::string_view what) {
    const std::array<std::string_view, 2> keys = {"name", what};
    const Fields fields = readFields(words, keys, place_, problems_);
    const std::string& name = valueOf(fields, "name");
    const auto [had, isNew] = all.emplace(name, valueOf(fields, what));
    if (!isNew && had->second != valueOf(fields, what)) {
      problem(name + " has another " + std::string(what) + " than before");
    }
  }

  void takeCase(const std::vector<std::string_view>& words) {
    const Fields fields = readFields(words, kCaseKeys, place_, problems_);
    const std::string& id = valueOf(fields, "id");
    if (current_.empty()) {
      problem("the case " + id + " is outside a test");
      return;
    }
    for (const Measurement& earlier : log_.measured) {
      if (earlier.id == id) {
        problem("the case " + id + " is measured again");
        return;
      }
    }
    log_.measured.push_back({id, valueOf(fields, "outcome"), current_});
  }

  std::string where_;
  std::string place_;
  Problems& problems_;
  Log log_;
  std::string current_;  // the test that is running
  std::set<std::string> spoilt_;
  std::optional<std::size_t> announced_;
  std::optional<std::size_t> concluded_;
  std::optional<std::size_t> passed_;
  std::size_t ok_ = 0;
  std::size_t runs_ = 0;
};

}  // namespace

std::string claimedTest(const Measurement& measured) {
  return measured.outcome == kHeld ? rowOf(measured.test) : measured.test;
}

Log readLog(std::string_view text, const std::string& where, Problems& problems) {
  LogReader reader(where, problems);
  forEachLine(text, [&](std::string_view line, std::size_t number) { reader.take(line, number); });
  return reader.finish();
}

}  // namespace vethgate::evidence
