// A terminal on the machine whose engine is `engine`: each line is printed, and run by bash as it
// was printed. It must not know what the lines are for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tests/live/fixture/engine.hpp"

namespace vethgate::live {

// `words` as one command, broken where a line becomes too long.
[[nodiscard]] std::string wrapped(const std::vector<std::string>& words);

class Terminal {
 public:
  // In a folder of its own, with vethgate's programs among the commands and `engine` where docker
  // and vethgate look for one.
  explicit Terminal(const LiveEngine& engine);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

  Finished run(const std::string& line) const;
  // The same; prints its output as well, and throws unless it exits 0.
  std::string need(const std::string& line) const;

 private:
  const LiveEngine& engine_;
  std::filesystem::path folder_;
};

}  // namespace vethgate::live
