#include "tests/live/demo/terminal.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace vethgate::live {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSocket = "/run/docker.sock";
constexpr std::chrono::seconds kPatience{150};

void print(const std::string& text, const char* first, const char* others) {
  const char* before = first;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::printf("%s%s\n", before, text.substr(at, end - at).c_str());
    before = others;
    at = end + 1;
  }
  std::fflush(stdout);
}

}  // namespace

std::string wrapped(const std::vector<std::string>& words) {
  constexpr std::size_t kWidth = 96;
  std::string text;
  std::size_t column = 0;
  for (const std::string& word : words) {
    if (column != 0 && column + word.size() > kWidth) {
      text += " \\\n  ";
      column = 2;
    } else if (column != 0) {
      text += ' ';
    }
    text += word;
    column += word.size() + 1;
  }
  return text;
}

Terminal::Terminal(const LiveEngine& engine) : engine_(engine), folder_("/run/vethgate-demo") {
  fs::create_directory(folder_);
  fs::create_symlink(engine.socket(), kSocket);
}

Terminal::~Terminal() {
  std::error_code ignored;
  fs::remove(kSocket, ignored);
  fs::remove_all(folder_, ignored);
}

Finished Terminal::run(const std::string& line) const {
  print(line, "  # ", "    ");
  std::vector<std::string> argv = engine_.inside();
  const std::vector<std::string> shell{"env",
                                       "--chdir=" + folder_.string(),
                                       "PATH=" VETHGATE_BIN_DIR ":/usr/sbin:/usr/bin:/sbin:/bin",
                                       "bash",
                                       "-euo",
                                       "pipefail",
                                       "-c",
                                       line};
  argv.insert(argv.end(), shell.begin(), shell.end());
  return live::run({.argv = argv, .deadline = kPatience});
}

std::string Terminal::need(const std::string& line) const {
  Finished finished = run(line);
  print(finished.out, "  ", "  ");
  if (!finished.ok()) {
    throw std::runtime_error(finished.summary() + "\n" + finished.err + engine_.log());
  }
  return finished.out;
}

}  // namespace vethgate::live
