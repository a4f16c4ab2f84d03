#include "evidence/write.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"
#include "evidence/log.hpp"
#include "evidence/record.hpp"
#include "evidence/required.hpp"

namespace vethgate::evidence {
namespace {

std::vector<RecordLine> named(const Fields& all, const char* what) {
  std::vector<RecordLine> lines;
  for (const auto& [name, value] : all) {
    lines.push_back({0, {{"name", name}, {what, value}}});
  }
  return lines;
}

}  // namespace

std::string recordOf(const Folder& folder, const std::vector<std::string>& logs) {
  Record record;
  record.headers.emplace("version", kRecordVersion);
  Fields artifacts;
  Fields runtimes;
  Fields engines;
  for (const std::string& name : logs) {
    const std::string text = folder.read(name, kMaxLogBytes);
    const std::string digest = sha256Hex(text);
    Problems leftToTheJudge;
    const Log log = readLog(text, name, leftToTheJudge);
    if (log.run.empty()) {
      badInput(name +
               ": does not say what its run was; live-tests does when VETHGATE_EVIDENCE is set");
    }
    for (const char* const key : {"source_head", "tree", "host"}) {
      const auto [had, isNew] = record.headers.emplace(key, valueOf(log.run, key));
      if (!isNew && had->second != valueOf(log.run, key)) {
        badInput(name + ": its " + key + " is \"" + valueOf(log.run, key) + "\", that of " +
                 logs.front() + " is \"" + had->second + "\"");
      }
    }
    const std::string& kernel = valueOf(log.run, "kernel");
    record.runs.push_back({0,
                           {{"log", name},
                            {"sha256", digest},
                            {"kernel", kernel},
                            {"time", valueOf(log.run, "time")}}});
    artifacts.insert(log.artifacts.begin(), log.artifacts.end());
    runtimes.insert(log.runtimes.begin(), log.runtimes.end());
    engines.insert(log.engines.begin(), log.engines.end());
    for (const Measurement& one : log.measured) {
      record.cases.push_back({0,
                              {{"id", one.id},
                               {"outcome", one.outcome},
                               {"kernel", seriesOf(kernel)},
                               {"log", name},
                               {"test", claimedTest(one)},
                               {"sha256", digest}}});
    }
  }
  record.artifacts = named(artifacts, "sha256");
  record.runtimes = named(runtimes, "version");
  record.engines = named(engines, "version");
  return recordText(record);
}

}  // namespace vethgate::evidence
