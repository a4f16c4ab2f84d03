#include "evidence/record.hpp"

#include <algorithm>
#include <array>

namespace vethgate::evidence {
namespace {

constexpr std::size_t kCommitDigits = 40;

struct Kind {
  std::string_view word;
  std::vector<RecordLine> Record::*lines;
  std::span<const std::string_view> keys;
};

constexpr std::array<std::string_view, 2> kArtifactKeys = {"name", "sha256"};
constexpr std::array<std::string_view, 2> kVersionKeys = {"name", "version"};
constexpr std::array<std::string_view, 4> kRunKeys = {"log", "sha256", "kernel", "time"};
constexpr std::array<std::string_view, 6> kCaseKeys = {"id",  "outcome", "kernel",
                                                       "log", "test",    "sha256"};
constexpr std::array<Kind, 5> kKinds = {Kind{"artifact", &Record::artifacts, kArtifactKeys},
                                        Kind{"runtime", &Record::runtimes, kVersionKeys},
                                        Kind{"engine", &Record::engines, kVersionKeys},
                                        Kind{"run", &Record::runs, kRunKeys},
                                        Kind{"case", &Record::cases, kCaseKeys}};

constexpr std::array<std::string_view, 4> kHeaders = {"version", "source_head", "tree", "host"};

bool isCommit(std::string_view text) {
  return text.size() == kCommitDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

void judgeHeaders(const std::map<std::string, std::vector<std::string>, std::less<>>& found,
                  Record& record, Problems& problems) {
  for (const auto& [key, values] : found) {
    const std::string header = "the header \"" + key + "\"";
    if (std::ranges::find(kHeaders, key) == kHeaders.end()) {
      problems.push_back(header + " is unknown");
    } else if (values.size() > 1) {
      problems.push_back(header + " is repeated");
    } else if (values.front().empty()) {
      problems.push_back(header + " is empty");
    } else {
      record.headers.emplace(key, values.front());
    }
  }
  for (const std::string_view key : kHeaders) {
    if (!found.contains(key)) {
      problems.push_back("the header \"" + std::string(key) + "\" is missing");
    }
  }
  const auto expect = [&](std::string_view key, bool good, const std::string& what) {
    if (record.headers.contains(key) && !good) {
      problems.push_back("the header \"" + std::string(key) + "\" is \"" +
                         valueOf(record.headers, key) + "\", expected " + what);
    }
  };
  const std::string& tree = valueOf(record.headers, "tree");
  expect("version", valueOf(record.headers, "version") == kRecordVersion,
         std::string(kRecordVersion));
  expect("source_head", isCommit(valueOf(record.headers, "source_head")),
         "a commit's 40 lower-case hexadecimal digits");
  expect("tree", tree == "clean" || tree == "dirty", "clean or dirty");
}

}  // namespace

Record readRecord(std::string_view text, Problems& problems) {
  Record record;
  std::map<std::string, std::vector<std::string>, std::less<>> headers;
  forEachLine(text, [&](std::string_view line, std::size_t number) {
    const std::string_view content = line.substr(0, line.find('#'));
    if (content.find_first_not_of(' ') == std::string_view::npos) {
      return;
    }
    const std::string where = "line " + std::to_string(number);
    std::vector<std::string_view> words = wordsOf(content);
    if (words.empty()) {
      problems.push_back(where + ": is not printable ASCII");
      return;
    }
    for (const Kind& kind : kKinds) {
      if (words.front() == kind.word) {
        words.erase(words.begin());
        (record.*kind.lines).push_back({number, readFields(words, kind.keys, where, problems)});
        return;
      }
    }
    const std::size_t at = words.front().find('=');
    if (words.size() == 1 && at != std::string_view::npos) {
      headers[std::string(words.front().substr(0, at))].emplace_back(words.front().substr(at + 1));
    } else {
      problems.push_back(where + ": is neither a header nor a line of a known kind");
    }
  });
  judgeHeaders(headers, record, problems);
  return record;
}

std::string recordText(const Record& record) {
  std::string text = "# What live runs measured; `vethgate evidence check` judges it.\n";
  for (const std::string_view key : kHeaders) {
    text += std::string(key) + "=" + valueOf(record.headers, key) + "\n";
  }
  for (const Kind& kind : kKinds) {
    for (const RecordLine& line : record.*kind.lines) {
      text += kind.word;
      for (const std::string_view key : kind.keys) {
        text += " " + std::string(key) + "=" + line[key];
      }
      text += "\n";
    }
  }
  return text;
}

}  // namespace vethgate::evidence
