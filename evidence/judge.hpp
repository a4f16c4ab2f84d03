// Whether a record and its logs are evidence that every required case was measured in its
// direction. It asks the files alone: no kernel, no engine, no network.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/fields.hpp"
#include "evidence/folder.hpp"
#include "evidence/required.hpp"

namespace vethgate::evidence {

// Below the folder of a build: what is tested, and what it is tested with. The digest of each must
// be in a record.
inline constexpr std::string_view kArtifacts[] = {
    "bin/vethgate",        "bin/vethgate-apply",  "bin/vethgate-hold",        "bin/vethgate-probe",
    "bin/vethgate-render", "bin/vethgate-verify", "image/vethgate-image.tar", "tests/live-tests",
    "tests/payload",       "tests/job-image.tar"};

struct Judgement {
  Problems problems;      // all of them; none: the evidence is good
  std::size_t cases = 0;  // lines of the record that were judged
  std::size_t tests = 0;  // that ran and passed, in all logs
  std::size_t logs = 0;   // that were read
  std::string sourceHead;
  std::string tree;  // "clean" or "dirty"

  [[nodiscard]] bool good() const { return problems.empty() && cases > 0; }
};

// `folder` holds `record` and its logs. `build`, where it is given, is the folder of the programs
// that the record is about. Throws for what is no judgement alone: kUnsupported.
[[nodiscard]] Judgement judge(std::string_view record, const Folder& folder,
                              const std::vector<RequiredCase>& required, const Folder* build);

// A line for each problem, then one that counts what was judged.
[[nodiscard]] std::string judgementText(const Judgement& judgement);
// {"evidence": "good"|"refused", "problems": […], "cases": 0, "tests": 0, "logs": 0,
//  "source_head": "…", "tree": "…"}
[[nodiscard]] std::string judgementJson(const Judgement& judgement);

}  // namespace vethgate::evidence
