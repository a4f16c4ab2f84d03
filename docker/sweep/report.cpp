#include "docker/sweep/report.hpp"

#include <algorithm>
#include <cstddef>

#include "base/json.hpp"
#include "base/log.hpp"

namespace vethgate::docker {
namespace {

using Object = nlohmann::ordered_json;

// An engine accepts 128 characters as a name, and may have whole pages to say.
constexpr std::size_t kMaxTextBytes = 1'000;

std::string text(std::string words) {
  words.resize(std::min(words.size(), kMaxTextBytes));
  return words;
}

template <class Entry>
Object named(const Entry& entry) {
  return {{"id", entry.id}, {"name", quoted(entry.name)}};
}
Object object(const Finding& finding) {
  Object all = named(finding);
  if (!finding.text.empty()) {
    all["text"] = text(finding.text);
  }
  return all;
}
Object object(const Deferred& deferred) {
  Object all = named(deferred);
  all["reason"] = word(deferred.bound);
  return all;
}
Object object(const Kept& kept) {
  Object all = named(kept);
  all["attached"] = {{"id", kept.attachedId}, {"name", quoted(kept.attachedName)}};
  all["text"] = text(kept.text);
  return all;
}
Object object(const Skipped& skipped) {
  Object all = named(skipped);
  all["reason"] = word(skipped.reason);
  all["text"] = text(skipped.text);
  if (skipped.removeAfter) {
    all["remove_after"] = *skipped.removeAfter;
  }
  return all;
}

template <class Entry>
Object list(const std::vector<Entry>& entries) {
  Object all = Object::array();
  for (const Entry& entry : entries) {
    all.push_back(object(entry));
  }
  return all;
}

bool isDefective(const Skipped& skipped) { return skipped.reason != Unfit::kNotDue; }

bool isReap(const PassInfo& info) { return info.command == "reap"; }

template <class Entry>
void logEach(const PassInfo& info, LogLevel level, const char* event,
             const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    Object fields = {{"owner", info.owner}};
    fields.update(object(entry));
    logEvent(level, event, fields);
  }
}

template <class Entry>
std::string firstOf(const std::vector<Entry>& entries, const std::string& text) {
  const Entry& first = entries.front();
  return std::to_string(entries.size()) + " " + text + ", the first " +
         quoted(first.name.empty() ? first.id : first.name);
}

}  // namespace

std::string reportJson(const PassInfo& info, const SweepReport& report) {
  const Object document = {{"command", info.command},
                           {"owner", info.owner},
                           {"dry_run", info.dryRun},
                           {info.dryRun ? "would_remove" : "removed", list(report.removed)},
                           {"failed", list(report.failed)},
                           {"deferred", list(report.deferred)},
                           {"kept", list(report.kept)},
                           {"skipped", list(report.skipped)}};
  return document.dump(-1, ' ', true, Object::error_handler_t::replace) + "\n";
}

void logReport(const PassInfo& info, const SweepReport& report) {
  const LogLevel kept = isReap(info) ? LogLevel::kInfo : LogLevel::kWarning;
  if (!info.dryRun) {
    logEach(info, LogLevel::kInfo, "sweep.removed", report.removed);
  }
  logEach(info, LogLevel::kError, "sweep.failed", report.failed);
  logEach(info, LogLevel::kWarning, "sweep.deferred", report.deferred);
  logEach(info, kept, "sweep.kept", report.kept);
  std::vector<Skipped> defective;
  std::copy_if(report.skipped.begin(), report.skipped.end(), std::back_inserter(defective),
               isDefective);
  logEach(info, LogLevel::kWarning, "sweep.skipped", defective);
  const ExitCode code = reportCode(info, report);
  logEvent(code == ExitCode::kDone     ? LogLevel::kInfo
           : code == ExitCode::kEngine ? LogLevel::kError
                                       : LogLevel::kWarning,
           "sweep.pass",
           {{"owner", info.owner},
            {"command", info.command},
            {"dry_run", info.dryRun},
            {info.dryRun ? "would_remove" : "removed", report.removed.size()},
            {"failed", report.failed.size()},
            {"deferred", report.deferred.size()},
            {"kept", report.kept.size()},
            {"skipped", defective.size()},
            {"not_due", report.skipped.size() - defective.size()},
            {"ms", info.took.count()}});
}

ExitCode reportCode(const PassInfo& info, const SweepReport& report) {
  if (!report.failed.empty()) {
    return ExitCode::kEngine;
  }
  if (!report.deferred.empty()) {
    return ExitCode::kDeadline;
  }
  // A reap is asked for what nobody uses: the others are as they should be.
  const bool stays = (!isReap(info) && !report.kept.empty()) ||
                     std::any_of(report.skipped.begin(), report.skipped.end(), isDefective);
  return stays ? ExitCode::kUntouchable : ExitCode::kDone;
}

std::string reportSentence(const PassInfo& info, const SweepReport& report) {
  switch (reportCode(info, report)) {
    case ExitCode::kEngine:
      return firstOf(report.failed, "may still exist") + ": " + text(report.failed.front().text);
    case ExitCode::kDeadline:
      return firstOf(report.deferred, "left for another pass") + ": run it again";
    case ExitCode::kUntouchable: {
      if (!isReap(info) && !report.kept.empty()) {
        return firstOf(report.kept, "kept, whose network others use") + ": " +
               text(report.kept.front().text);
      }
      std::vector<Skipped> defective;
      std::copy_if(report.skipped.begin(), report.skipped.end(), std::back_inserter(defective),
                   isDefective);
      return firstOf(defective, "left alone") + ": " + text(defective.front().text);
    }
    default:
      return "done";
  }
}

}  // namespace vethgate::docker
