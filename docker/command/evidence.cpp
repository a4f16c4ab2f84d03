#include <unistd.h>

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"
#include "evidence/judge.hpp"
#include "evidence/record.hpp"
#include "evidence/write.hpp"

namespace vethgate::docker {
namespace {

struct Place {
  std::string folder;
  std::string name;
};

Place placeOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return {".", path};
  }
  return {slash == 0 ? "/" : path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

int runEvidenceCheck(const std::string& record, const std::string& root, bool json) {
  const Place place = placeOf(record);
  const evidence::Folder folder(place.folder);
  const std::string text = folder.read(place.name, evidence::kMaxRecordBytes);
  std::optional<evidence::Folder> build;
  if (!root.empty()) {
    build.emplace(root);
  }
  const evidence::Judgement judgement =
      evidence::judge(text, folder, evidence::requiredCases(), build ? &*build : nullptr);
  writeAll(STDOUT_FILENO,
           json ? evidence::judgementJson(judgement) : evidence::judgementText(judgement));
  if (judgement.good()) {
    return static_cast<int>(ExitCode::kDone);
  }
  tell("vethgate", "the evidence is refused: " + judgement.problems.front());
  return static_cast<int>(ExitCode::kRefused);
}

int runEvidenceWrite(const std::string& record, const std::vector<std::string>& logs) {
  const Place place = placeOf(record);
  const evidence::Folder folder(place.folder);
  folder.replace(place.name, evidence::recordOf(folder, logs));
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace vethgate::docker
