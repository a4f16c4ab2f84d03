// See support.hpp.
#include "support.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

extern char** environ;

namespace vethgate::test {
namespace {

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File temporary() {
  File file(std::tmpfile(), &std::fclose);
  if (!file) {
    throw std::runtime_error("no temporary file");
  }
  return file;
}

std::string contents(std::FILE* file) {
  std::rewind(file);
  std::string text;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    text.push_back(static_cast<char>(c));
  }
  return text;
}

}  // namespace

std::string readText(const std::filesystem::path& path) {
  const std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw std::runtime_error("cannot read " + path.string());
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::filesystem::path goldenFolder() {
  return std::filesystem::path(VETHGATE_SOURCE_DIR) / "tests/offline/render/golden";
}

std::vector<std::string> goldenNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(goldenFolder())) {
    if (entry.is_directory()) {
      names.push_back(entry.path().filename());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

Link goldenLink() {
  return readLink(parseDocument(readText(goldenFolder() / "link.json"), "link"), "link");
}

Json asRead(const Json& document) {
  return parseDocument(document.dump(), "document", kMaxPlanBytes);
}

Policy policyWith(const Json& members) {
  Json document = {{"version", 1}};
  document.update(members);
  return readPolicy(asRead(document));
}

Plan goldenPlan(const std::string& name) {
  const std::string text = readText(goldenFolder() / name / "policy.json");
  return renderPlan(readPolicy(std::string_view(text)), goldenLink());
}

CommandResult runCommand(const std::string& name, const std::vector<std::string>& arguments,
                         const std::string& input) {
  const File in = temporary();
  const File out = temporary();
  const File err = temporary();
  std::fwrite(input.data(), 1, input.size(), in.get());
  std::rewind(in.get());

  std::string path = std::string(VETHGATE_BIN_DIR) + "/" + name;
  std::vector<std::string> words = arguments;
  std::vector<char*> argv{path.data()};
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(in.get()), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(out.get()), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(err.get()), STDERR_FILENO);
  pid_t child = -1;
  const int failed = posix_spawn(&child, path.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    throw std::runtime_error("cannot start " + path);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(out.get()), contents(err.get())};
}

}  // namespace vethgate::test
