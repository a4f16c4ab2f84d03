// The record of one or more live runs, as text: what a run claims, line by line, and where the logs
// are that must bear it out. docs/evidence.md describes it. It must not know the logs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/fields.hpp"

namespace vethgate::evidence {

inline constexpr std::size_t kMaxRecordBytes = std::size_t{4} << 20;
inline constexpr std::string_view kRecordVersion = "1";

// One line that is no header. A field that is missing, empty or repeated is absent, and has been
// told as a problem.
struct RecordLine {
  std::size_t number = 0;
  Fields fields;

  [[nodiscard]] const std::string& operator[](std::string_view key) const {
    return valueOf(fields, key);
  }
};

struct Record {
  Fields headers;                     // version, source_head, tree, host
  std::vector<RecordLine> artifacts;  // name, sha256
  std::vector<RecordLine> runtimes;   // name, version
  std::vector<RecordLine> engines;    // name, version
  std::vector<RecordLine> runs;       // log, sha256, kernel, time
  std::vector<RecordLine> cases;      // id, outcome, kernel, log, test, sha256
};

// `problems` gets every line that cannot be read, and every header that is missing, repeated, empty
// or unknown or has the wrong shape.
[[nodiscard]] Record readRecord(std::string_view text, Problems& problems);

// What readRecord() reads; line numbers are not used.
[[nodiscard]] std::string recordText(const Record& record);

}  // namespace vethgate::evidence
