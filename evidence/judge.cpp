#include "evidence/judge.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"
#include "evidence/log.hpp"
#include "evidence/record.hpp"

namespace vethgate::evidence {
namespace {

using Key = std::pair<std::string, std::string>;  // id, kernel

std::string text(const Key& key) { return "the case " + key.first + " on " + key.second; }

// "line 7 (run live-6.1.log)"
std::string place(const RecordLine& line, std::string_view kind, std::string_view key) {
  return "line " + std::to_string(line.number) + " (" + std::string(kind) + " " + line[key] + ")";
}

struct Run {
  const RecordLine* line;
  std::string digest;
  std::string kernel;  // its series
  Log log;
};

class Judge {
 public:
  Judge(const Record& record, const Folder& folder, const std::vector<RequiredCase>& required,
        Judgement& judgement)
      : record_(record), folder_(folder), judgement_(judgement) {
    for (const RequiredCase& one : required) {
      required_.emplace(Key(one.id, one.kernel), &one);
    }
  }

  void all(const Folder* build) {
    for (const RecordLine& line : record_.runs) {
      openRun(line);
    }
    judgeNamed(record_.artifacts, "artifact", "sha256", &Log::artifacts);
    judgeNamed(record_.runtimes, "runtime", "version", &Log::runtimes);
    judgeNamed(record_.engines, "engine", "version", &Log::engines);
    judgeArtifacts(build);
    for (const RecordLine& line : record_.cases) {
      judgeCase(line);
    }
    judgeWhatIsLeft();
  }

 private:
  void problem(const std::string& what) { judgement_.problems.push_back(what); }

  // A value that the record states and something else decides.
  void expectSame(const std::string& where, std::string_view what, const std::string& stated,
                  const std::string& found, const std::string& by) {
    if (!stated.empty() && stated != found) {
      problem(where + ": " + std::string(what) + " is \"" + stated + "\", " + by + " \"" + found +
              "\"");
    }
  }

  void openRun(const RecordLine& line) {
    const std::string& name = line["log"];
    if (name.empty()) {
      return;  // said already
    }
    const std::string where = place(line, "run", "log");
    if (runs_.contains(name)) {
      problem(where + ": the log stands twice");
      return;
    }
    std::string content;
    try {
      content = folder_.read(name, kMaxLogBytes);
    } catch (const Failure& failure) {
      if (failure.code() != ExitCode::kBadInput) {
        throw;
      }
      problem(where + ": " + failure.what());
      return;
    }
    ++judgement_.logs;
    Run run{&line, sha256Hex(content), {}, readLog(content, name, judgement_.problems)};
    run.kernel = seriesOf(valueOf(run.log.run, "kernel"));
    expectSame(where, "sha256", line["sha256"], run.digest, "the file's is");
    for (const char* const key : {"kernel", "time"}) {
      expectSame(where, key, line[key], valueOf(run.log.run, key), "the log says");
    }
    for (const char* const key : {"source_head", "tree", "host"}) {
      expectSame("the header \"" + std::string(key) + "\"", "it", valueOf(record_.headers, key),
                 valueOf(run.log.run, key), name + " says");
    }
    for (const auto& [test, passed] : run.log.tests) {
      judgement_.tests += passed ? 1 : 0;
    }
    runs_.emplace(name, std::move(run));
  }

  // What the record names, and what the logs do, must be the same things.
  void judgeNamed(const std::vector<RecordLine>& lines, std::string_view kind,
                  std::string_view what, Fields Log::*inLog) {
    std::set<std::string, std::less<>> names;
    for (const RecordLine& line : lines) {
      const std::string& name = line["name"];
      const std::string where = place(line, kind, "name");
      if (!name.empty() && !names.insert(name).second) {
        problem(where + ": stands twice");
      }
      bool said = false;
      for (const auto& [log, run] : runs_) {
        if ((run.log.*inLog).contains(name)) {
          said = true;
          expectSame(where, what, line[what], valueOf(run.log.*inLog, name), log + " says");
        }
      }
      if (!said && !name.empty()) {
        problem(where + ": no log names it");
      }
    }
    const auto leftOut = [&](const std::string& log, const std::string& name) {
      problem(log + " names the " + std::string(kind) + " " + name + ", the record does not");
    };
    for (const auto& [log, run] : runs_) {
      for (const auto& [name, value] : run.log.*inLog) {
        if (!names.contains(name)) {
          leftOut(log, name);
        }
      }
    }
  }

  void judgeArtifacts(const Folder* build) {
    Fields stated;
    for (const RecordLine& line : record_.artifacts) {
      stated.emplace(line["name"], line["sha256"]);
    }
    for (const std::string_view name : kArtifacts) {
      if (!stated.contains(name)) {
        problem("the artifact " + std::string(name) + " is missing");
      }
      for (const auto& [log, run] : runs_) {
        if (!run.log.artifacts.contains(name)) {
          problem(log + " does not say which " + std::string(name) + " was there");
        }
      }
    }
    if (build == nullptr) {
      return;
    }
    for (const auto& [name, digest] : stated) {
      try {
        expectSame("the artifact " + name, "sha256", digest, build->digest(name), "the file's is");
      } catch (const Failure& failure) {
        if (failure.code() != ExitCode::kBadInput) {
          throw;
        }
        problem(std::string("the artifact ") + failure.what());
      }
    }
  }

  void judgeCase(const RecordLine& line) {
    ++judgement_.cases;
    const Key key(line["id"], line["kernel"]);
    const std::string where = place(line, "case", "id");
    if (!line["outcome"].empty() && !isOutcome(line["outcome"])) {
      problem(where + ": the outcome \"" + line["outcome"] + "\" is unknown");
    }
    if (!key.first.empty() && !key.second.empty()) {
      if (!seen_.insert(key).second) {
        problem(where + ": " + text(key) + " stands twice");
      }
      const auto required = required_.find(key);
      if (required == required_.end()) {
        problem(where + ": " + text(key) + " is not among the required ones");
      } else {
        judgeRequired(line, where, *required->second);
      }
    }
    if (!line["log"].empty()) {
      const auto run = runs_.find(line["log"]);
      if (run == runs_.end()) {
        problem(where + ": " + line["log"] + " is not the log of a run that could be read");
      } else {
        judgeByLog(line, where, run->second);
      }
    }
  }

  void judgeRequired(const RecordLine& line, const std::string& where,
                     const RequiredCase& required) {
    expectSame(where, "outcome", line["outcome"], required.outcome, "required is");
    if (required.test != line["test"]) {
      // The list names a row where any of its instances will do.
      expectSame(where, "test", line["test"].empty() ? "" : rowOf(line["test"]), required.test,
                 "required is");
    }
  }

  void judgeByLog(const RecordLine& line, const std::string& where, const Run& run) {
    const std::string& log = line["log"];
    expectSame(where, "kernel", line["kernel"], run.kernel, log + " ran on");
    expectSame(where, "sha256", line["sha256"], run.digest, log + " has");
    if (line["id"].empty()) {
      return;
    }
    for (const Measurement& measured : run.log.measured) {
      if (measured.id == line["id"]) {
        expectSame(where, "outcome", line["outcome"], measured.outcome, log + " measured");
        expectSame(where, "test", line["test"], claimedTest(measured), log + " measured it in");
        judgeTest(where, log, run.log, measured);
        return;
      }
    }
    problem(where + ": " + log + " did not measure it");
  }

  // The test that measured it; for a row, every instance.
  void judgeTest(const std::string& where, const std::string& name, const Log& log,
                 const Measurement& measured) {
    const std::string claimed = claimedTest(measured);
    const auto notPassed = [&](const std::string& test) {
      problem(where + ": " + test + " did not pass in " + name);
    };
    for (const auto& [test, passed] : log.tests) {
      if ((test == claimed || (measured.outcome == kHeld && rowOf(test) == claimed)) && !passed) {
        notPassed(test);
      }
    }
  }

  void judgeWhatIsLeft() {
    for (const auto& [key, required] : required_) {
      if (!seen_.contains(key)) {
        problem(text(key) + " is missing");
      }
    }
    std::map<Key, std::string> by;
    for (const auto& [log, run] : runs_) {
      for (const Measurement& measured : run.log.measured) {
        const Key key(measured.id, run.kernel);
        if (!seen_.contains(key)) {
          problem(log + " measured " + text(key) + ", which the record leaves out");
        }
        if (const auto [had, isNew] = by.emplace(key, log); !isNew) {
          problem(text(key) + " is measured in " + had->second + " and in " + log);
        }
      }
    }
  }

  const Record& record_;
  const Folder& folder_;
  Judgement& judgement_;
  std::map<Key, const RequiredCase*> required_;
  std::map<std::string, Run, std::less<>> runs_;  // by the log's name
  std::set<Key> seen_;
};

}  // namespace

Judgement judge(std::string_view record, const Folder& folder,
                const std::vector<RequiredCase>& required, const Folder* build) {
  Judgement judgement;
  const Record read = readRecord(record, judgement.problems);
  judgement.sourceHead = valueOf(read.headers, "source_head");
  judgement.tree = valueOf(read.headers, "tree");
  Judge(read, folder, required, judgement).all(build);
  return judgement;
}

std::string judgementText(const Judgement& judgement) {
  std::string text;
  for (const std::string& problem : judgement.problems) {
    text += "problem: " + printable(problem) + "\n";
  }
  return text + "judged " + std::to_string(judgement.cases) + " cases by " +
         std::to_string(judgement.tests) + " tests in " + std::to_string(judgement.logs) +
         " logs: " +
         (judgement.good() ? "good" : std::to_string(judgement.problems.size()) + " problems") +
         "\n";
}

std::string judgementJson(const Judgement& judgement) {
  Json problems = Json::array();
  for (const std::string& problem : judgement.problems) {
    problems.push_back(printable(problem));
  }
  return canonicalText({{"evidence", judgement.good() ? "good" : "refused"},
                        {"problems", problems},
                        {"cases", judgement.cases},
                        {"tests", judgement.tests},
                        {"logs", judgement.logs},
                        {"source_head", judgement.sourceHead},
                        {"tree", judgement.tree}}) +
         "\n";
}

}  // namespace vethgate::evidence
