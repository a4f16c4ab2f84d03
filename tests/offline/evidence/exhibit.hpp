// A good record with its logs and its programs, in a folder that is gone with it: what the tests of
// the judge spoil.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "evidence/judge.hpp"

namespace vethgate::evidence::test {

// What one test of a log prints between its beginning and its end.
struct LoggedTest {
  std::string name;
  std::vector<std::string> lines = {};
};

// A commit that is none.
inline const std::string kNoCommit(40, 'a');

// The log of a run, of a clean tree at commit `head`, in which all of `tests` passed.
[[nodiscard]] std::string logOf(const std::string& kernel, const std::vector<LoggedTest>& tests,
                                const std::string& head = kNoCommit);

// The first `from` of `text` replaced; throws when there is none.
[[nodiscard]] std::string replaced(std::string text, const std::string& from,
                                   const std::string& to);

class Exhibit {
 public:
  Exhibit();
  ~Exhibit();
  Exhibit(const Exhibit&) = delete;
  Exhibit& operator=(const Exhibit&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] std::filesystem::path build() const { return folder_ / "build"; }

  void write(const std::string& name, const std::string& text) const;
  [[nodiscard]] std::string read(const std::string& name) const;
  // Writes the logs, one for each kernel, of runs that measured all that this build requires, and
  // returns their names.
  [[nodiscard]] std::vector<std::string> writeRequired(const std::string& head = kNoCommit) const;
  // A record made of the logs as they stand.
  [[nodiscard]] std::string record() const;

  // Without the programs.
  [[nodiscard]] Judgement judged(const std::string& record) const;
  [[nodiscard]] Judgement judgedWithPrograms(const std::string& record) const;
  // Of a record made after `log` was edited: its digests are right.
  [[nodiscard]] Judgement judgedWith(const std::string& log, const std::string& text) const;

 private:
  std::filesystem::path folder_;
};

inline constexpr const char* kFirstLog = "one.log";
inline constexpr const char* kSecondLog = "two.log";
inline constexpr const char* kRequired = R"(# OUTCOME KERNELS ID [TEST]
held 6.1,6.12 Plain.Holds
held 6.1 Reach/Of.Targets
refused 6.1 reach.denied Reach/Of.Targets/Denied
connected 6.1 reach.allowed Reach/Of.Targets/Allowed
refused 6.1,6.12 plain.packet Plain.Holds
)";

}  // namespace vethgate::evidence::test
