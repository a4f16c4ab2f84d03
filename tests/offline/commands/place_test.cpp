// Every command says and does the same from whatever folder and by whatever name it is started: a
// worker may keep them behind links, and nothing beside a command is ever looked for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "base/program.hpp"
#include "tests/live/fixture/process.hpp"

namespace vethgate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCaptures = VETHGATE_SOURCE_DIR "/tests/offline/verifier/captures/";
constexpr const char* kGolden = VETHGATE_SOURCE_DIR "/tests/offline/render/golden/";
constexpr const char* kNoEngine = "/run/vethgate-no-engine";
constexpr std::size_t kMaxBytes = std::size_t{1} << 24;

struct Use {
  const char* name;
  const char* program;
  std::vector<std::string> arguments;
  std::string input;
  int exit;
};

void PrintTo(const Use& use, std::ostream* out) { *out << use.program << " " << use.name; }

std::string text(const std::string& path) { return readFile(path, path, kMaxBytes); }

std::vector<Use> uses() {
  const std::string policy = text(std::string(kGolden) + "reference/policy.json");
  const std::string plan = text(std::string(kGolden) + "reference/plan.json");
  const std::string link = std::string(kGolden) + "link.json";
  const std::string capture = std::string(kCaptures) + "contained-small-6.1.json";
  const std::string question =
      R"({"policy": )" + text(std::string(kCaptures) + "small.policy.json") + R"(, "link": )" +
      text(std::string(kCaptures) + "link-6.1.json") + "}";
  std::vector<Use> all{
      {"Explains", "vethgate", {"explain"}, policy, 0},
      {"ExplainsForPrograms", "vethgate", {"explain", "--json"}, policy, 0},
      {"RefusesARequest", "vethgate", {"establish", "--engine", kNoEngine}, "{}", 2},
      {"FindsNoEngine",
       "vethgate",
       {"release", "job", "--owner", "o", "--engine", kNoEngine},
       "",
       9},
      {"ExaminesNoEngine", "vethgate", {"doctor", "--engine", kNoEngine}, "", 9},
      {"HelpsWithACommand", "vethgate", {"status", "--help"}, "", 0},
      {"Renders", "vethgate-render", {"--link", link, "--emit", "plan"}, policy, 0},
      {"ShowsATable", "vethgate-render", {"--link", link, "--emit", "table"}, policy, 0},
      {"ShowsItsMessages", "vethgate-apply", {"--dry-run"}, plan, 0},
      {"RefusesAPlan", "vethgate-apply", {}, "{}", 2},
      {"Judges", "vethgate-verify", {"--replay", capture}, question, 0},
      {"RefusesAQuestion", "vethgate-verify", {"--replay", capture}, "{}", 2},
      {"RefusesAnEmptyName", "vethgate-probe", {"--host", ""}, "", 2}};
  for (const char* program :
       {"vethgate", "vethgate-render", "vethgate-probe", "vethgate-apply", "vethgate-verify"}) {
    all.push_back({"Helps", program, {"--help"}, "", 0});
    all.push_back({"SaysItsVersion", program, {"--version"}, "", 0});
    all.push_back({"RefusesAnUnknownOption", program, {"--no-such-option"}, "", 2});
  }
  return all;
}

// A folder with a link to each command under a name that is not its own, and nothing else.
class Elsewhere {
 public:
  Elsewhere() {
    std::string pattern = testing::TempDir() + "/vethgate-elsewhere-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Elsewhere() { fs::remove_all(folder_); }
  Elsewhere(const Elsewhere&) = delete;
  Elsewhere& operator=(const Elsewhere&) = delete;

  [[nodiscard]] const std::string& folder() const { return folder_; }
  void link(const std::string& target, const std::string& name) const {
    fs::create_symlink(target, folder_ + "/" + name);
  }

 private:
  std::string folder_;
};

class Place : public testing::TestWithParam<Use> {};

TEST_P(Place, IsNothingThatACommandKnows) {
  const Use& use = GetParam();
  const std::string program = std::string(VETHGATE_BIN_DIR) + "/" + use.program;
  const Elsewhere elsewhere;
  elsewhere.link(program, "another");
  elsewhere.link("another", "again");
  const auto runAs = [&](const std::string& name, const std::string& folder) {
    std::vector<std::string> argv{name};
    argv.insert(argv.end(), use.arguments.begin(), use.arguments.end());
    return live::run({.argv = argv, .input = use.input, .directory = folder});
  };
  const live::Finished usual = runAs(program, VETHGATE_BIN_DIR);
  EXPECT_EQ(usual.exit, use.exit) << usual.summary();
  EXPECT_FALSE(usual.out.empty() && usual.err.empty());
  for (const auto& [name, folder] : std::vector<std::pair<std::string, std::string>>{
           {program, "/"},
           {std::string("./") + use.program, VETHGATE_BIN_DIR},
           {elsewhere.folder() + "/another", "/"},
           {"./again", elsewhere.folder()}}) {
    const live::Finished other = runAs(name, folder);
    EXPECT_EQ(other.exit, usual.exit) << name << " in " << folder << ": " << other.summary();
    EXPECT_EQ(other.out, usual.out) << name << " in " << folder;
    EXPECT_EQ(other.err, usual.err) << name << " in " << folder;
  }
}

std::string nameOf(const testing::TestParamInfo<Use>& use) {
  std::string program = use.param.program;
  std::erase(program, '-');
  return program + "_" + use.param.name;
}

INSTANTIATE_TEST_SUITE_P(Commands, Place, testing::ValuesIn(uses()), nameOf);

}  // namespace
}  // namespace vethgate
