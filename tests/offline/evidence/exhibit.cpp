#include "tests/offline/evidence/exhibit.hpp"

#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include "base/digest.hpp"
#include "evidence/write.hpp"

namespace vethgate::evidence::test {
namespace {

namespace fs = std::filesystem;

std::string contentOf(std::string_view artifact) { return "program " + std::string(artifact); }

std::string measured(const std::string& id, const std::string& outcome) {
  return "vethgate-case id=" + id + " outcome=" + outcome;
}

}  // namespace

std::string logOf(const std::string& kernel, const std::vector<LoggedTest>& tests,
                  const std::string& head) {
  std::ostringstream log;
  log << "vethgate-run source_head=" << head << " tree=clean host=builder kernel=" << kernel
      << " time=1796000000\n";
  for (const std::string_view artifact : kArtifacts) {
    log << "vethgate-artifact name=" << artifact << " sha256=" << sha256Hex(contentOf(artifact))
        << "\n";
  }
  log << "vethgate-runtime name=runc version=1.1.5\n"
      << "Note: Google Test filter = *\n[==========] Running " << tests.size()
      << " tests from 2 test suites.\n[----------] Global test environment set-up.\n";
  for (const LoggedTest& test : tests) {
    log << "[ RUN      ] " << test.name << "\n";
    for (const std::string& line : test.lines) {
      log << line << "\n";
    }
    log << "[       OK ] " << test.name << " (12 ms)\n";
  }
  log << "\n[----------] Global test environment tear-down\n[==========] " << tests.size()
      << " tests from 2 test suites ran. (40 ms total)\n[  PASSED  ] " << tests.size()
      << " tests.\n";
  return log.str();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    throw std::logic_error("nothing to replace: " + from);
  }
  return text.replace(at, from.size(), to);
}

Exhibit::Exhibit() {
  std::string pattern = fs::temp_directory_path() / "vethgate-evidence.XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no folder can be made");
  }
  folder_ = pattern;
  for (const std::string_view artifact : kArtifacts) {
    fs::create_directories((build() / artifact).parent_path());
    std::ofstream(build() / artifact) << contentOf(artifact);
  }
  write(kFirstLog,
        logOf("6.1.0-50-amd64",
              {{.name = "Reach/Of.Targets/Denied", .lines = {measured("reach.denied", "refused")}},
               {.name = "Reach/Of.Targets/Allowed",
                .lines = {measured("reach.allowed", "connected"),
                          measured("Reach/Of.Targets", "held")}},
               {.name = "Plain.Holds",
                .lines = {"vethgate-engine name=docker-20.10 version=20.10.24",
                          "what the test itself prints", measured("plain.packet", "refused"),
                          measured("Plain.Holds", "held")}}}));
  write(kSecondLog,
        logOf("6.12.90+deb12-amd64",
              {{.name = "Plain.Holds",
                .lines = {measured("plain.packet", "refused"), measured("Plain.Holds", "held")}}}));
}

Exhibit::~Exhibit() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Exhibit::write(const std::string& name, const std::string& text) const {
  std::ofstream(folder_ / name) << text;
}

std::string Exhibit::read(const std::string& name) const {
  std::ostringstream text;
  text << std::ifstream(folder_ / name).rdbuf();
  return text.str();
}

std::vector<std::string> Exhibit::writeRequired(const std::string& head) const {
  std::map<std::string, std::vector<LoggedTest>> tests;  // by kernel
  const auto linesOf = [&](const std::string& kernel, const std::string& name) -> auto& {
    for (LoggedTest& test : tests[kernel]) {
      if (test.name == name) {
        return test.lines;
      }
    }
    tests[kernel].push_back({.name = name});
    return tests[kernel].back().lines;
  };
  for (const RequiredCase& one : requiredCases()) {
    linesOf(one.kernel, one.test).push_back(measured(one.id, one.outcome));
  }
  std::vector<std::string> logs;
  for (const auto& [kernel, all] : tests) {
    logs.push_back("live-" + kernel + ".log");
    write(logs.back(), logOf(kernel + ".1", all, head));
  }
  return logs;
}

std::string Exhibit::record() const { return recordOf(Folder(folder_), {kFirstLog, kSecondLog}); }

Judgement Exhibit::judged(const std::string& record) const {
  return judge(record, Folder(folder_), readRequired(kRequired), nullptr);
}

Judgement Exhibit::judgedWithPrograms(const std::string& record) const {
  const Folder programs(build());
  return judge(record, Folder(folder_), readRequired(kRequired), &programs);
}

Judgement Exhibit::judgedWith(const std::string& log, const std::string& text) const {
  write(log, text);
  return judged(record());
}

}  // namespace vethgate::evidence::test
