// The whole log of one live run: GoogleTest's own lines, and the lines in which the run says what
// it is and what it measured (tests/live/fixture/evidence.hpp). All else in it is passed over. It
// must not know any record.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/fields.hpp"

namespace vethgate::evidence {

struct Measurement {
  std::string id;
  std::string outcome;
  std::string test;  // the one that was running
};

// What a record names as the case's test: of a row that was held, the row.
[[nodiscard]] std::string claimedTest(const Measurement& measured);

struct Log {
  Fields run;        // source_head, tree, host, kernel, time
  Fields artifacts;  // SHA-256 by name
  Fields runtimes;   // version by name
  Fields engines;    // version by name
  std::vector<Measurement> measured;
  std::map<std::string, bool, std::less<>> tests;  // true: ran to its end and passed
};

inline constexpr std::size_t kMaxLogBytes = std::size_t{64} << 20;

// Everything in `text` that keeps it from being the log of one whole run in which every test that
// began has passed goes to `problems`: a failed, skipped, unfinished or repeated test, none at all,
// counts that do not agree, a missing or early end, a line of the run's own out of its place.
// `where` begins each sentence.
[[nodiscard]] Log readLog(std::string_view text, const std::string& where, Problems& problems);

}  // namespace vethgate::evidence
