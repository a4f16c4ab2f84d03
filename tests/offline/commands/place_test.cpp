// Every command says and does the same from whatever folder and by whatever name it is started: a
// worker may keep them behind links, and nothing beside a command is ever looked for.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <ostream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "base/program.hpp"
#include "tests/live/fixture/process.hpp"
#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCaptures = VETHGATE_SOURCE_DIR "/tests/offline/verifier/captures/";
constexpr const char* kGolden = VETHGATE_SOURCE_DIR "/tests/offline/render/golden/";
constexpr const char* kNoEngine = "/run/vethgate-no-engine";
constexpr std::size_t kMaxBytes = std::size_t{1} << 24;

// Starts a holder, and ends as it does once it is told. While it waits, all signals are blocked but
// the two that it waits for: of these bits of the mask, SIGTERM and SIGINT are clear.
constexpr const char* kToldOnceItWaits = R"("$@" &
until grep -q '^SigBlk:.*b..d$' /proc/$!/status; do
  kill -0 $! || exit 99
  sleep 0.01
done
kill -TERM $!
wait $!)";

struct Use {
  const char* name;
  const char* program;
  std::vector<std::string> arguments;
  std::string input;
  int exit;
  std::vector<std::string> under = {};  // what starts it
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
      {"SweepsNoEngine", "vethgate", {"sweep", "--owner", "o", "--engine", kNoEngine}, "", 9},
      {"ReapsNoEngine", "vethgate", {"reap", "--owner", "o", "--engine", kNoEngine}, "", 9},
      {"ChecksNoRecord", "vethgate", {"evidence", "check", "/nonexistent/record"}, "", 2},
      {"WritesNoRecord", "vethgate", {"evidence", "write", "/nonexistent/record", "log"}, "", 2},
      {"HoldsUntilItIsTold", "vethgate-hold", {}, "", 0, {"bash", "-c", kToldOnceItWaits, "bash"}},
      {"RefusesAnArgument", "vethgate-hold", {"--no-such-option"}, "", 2},
      {"RefusesAnEmptyName", "vethgate-hold", {"--probe", ""}, "", 2},
      {"Renders", "vethgate-render", {"--link", link, "--emit", "plan"}, policy, 0},
      {"ShowsATable", "vethgate-render", {"--link", link, "--emit", "table"}, policy, 0},
      {"ShowsItsMessages", "vethgate-apply", {"--dry-run"}, plan, 0},
      {"RefusesAPlan", "vethgate-apply", {}, "{}", 2},
      {"Judges", "vethgate-verify", {"--replay", capture}, question, 0},
      {"RefusesAQuestion", "vethgate-verify", {"--replay", capture}, "{}", 2},
      {"RefusesAnEmptyName", "vethgate-probe", {"--host", ""}, "", 2}};
  // vethgate-hold has no options to help with.
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

// A log line says when it was written.
std::string timeless(const std::string& text) {
  static const std::regex kTime(R"re("time":"[^"]*")re");
  return std::regex_replace(text, kTime, "");
}

class Place : public testing::TestWithParam<Use> {};

TEST_P(Place, IsNothingThatACommandKnows) {
  const Use& use = GetParam();
  const std::string program = std::string(VETHGATE_BIN_DIR) + "/" + use.program;
  const Elsewhere elsewhere;
  elsewhere.link(program, "another");
  elsewhere.link("another", "again");
  const auto runAs = [&](const std::string& name, const std::string& folder) {
    std::vector<std::string> argv = use.under;
    argv.push_back(name);
    argv.insert(argv.end(), use.arguments.begin(), use.arguments.end());
    return live::run({.argv = argv, .input = use.input, .directory = folder});
  };
  const std::vector<std::pair<std::string, std::string>> places{
      {program, "/"},
      {std::string("./") + use.program, VETHGATE_BIN_DIR},
      {elsewhere.folder() + "/another", "/"},
      {"./again", elsewhere.folder()}};
  std::vector<std::future<live::Finished>> others;
  for (const auto& [name, folder] : places) {
    others.push_back(std::async(std::launch::async, runAs, name, folder));
  }
  const live::Finished usual = runAs(program, VETHGATE_BIN_DIR);
  EXPECT_EQ(usual.exit, use.exit) << usual.summary();
  EXPECT_EQ(usual.out.empty() && usual.err.empty(), !use.under.empty());  // a holder is silent
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::string where = places[i].first + " in " + places[i].second;
    const live::Finished other = others[i].get();
    EXPECT_EQ(other.exit, usual.exit) << where << ": " << other.summary();
    EXPECT_EQ(other.out, usual.out) << where;
    EXPECT_EQ(timeless(other.err), timeless(usual.err)) << where;
  }
}

std::string nameOf(const testing::TestParamInfo<Use>& use) {
  std::string program = use.param.program;
  std::erase(program, '-');
  return program + "_" + use.param.name;
}

INSTANTIATE_TEST_SUITE_P(Commands, Place, testing::ValuesIn(uses()), nameOf);

// The path of a record leads to it by every spelling, and its logs lie beside it all the same.
TEST(RecordPath, IsReadFromWhereverTheCommandIsStarted) {
  const evidence::test::Exhibit exhibit;
  const fs::path& folder = exhibit.folder();
  const std::string name = folder.filename();
  const Elsewhere elsewhere;
  elsewhere.link(folder, "records");
  elsewhere.link(VETHGATE_BIN_DIR "/vethgate", "another");
  const std::vector<std::string> logs = exhibit.writeRequired();
  const auto run = [&](const std::string& program, std::vector<std::string> arguments,
                       const std::string& directory) {
    arguments.insert(arguments.begin(), {program, "evidence"});
    return live::run({.argv = arguments, .directory = directory});
  };
  const std::string usual = VETHGATE_BIN_DIR "/vethgate";
  const auto write = [&](const std::string& program, const std::string& record,
                         const std::string& directory) {
    std::vector<std::string> arguments{"write", record};
    arguments.insert(arguments.end(), logs.begin(), logs.end());
    return run(program, arguments, directory);
  };
  ASSERT_TRUE(write(usual, folder / "record", "/").ok());
  const std::string record = exhibit.read("record");
  const live::Finished judged = run(usual, {"check", folder / "record"}, "/");
  ASSERT_TRUE(judged.ok()) << judged.summary() << judged.out.substr(0, 1'000);
  const live::Finished withBuild =
      run(usual, {"check", folder / "record", "--root", exhibit.build()}, "/");
  ASSERT_TRUE(withBuild.ok()) << withBuild.summary();
  fs::create_directory(folder / "below");

  struct Spelling {
    std::string record;
    std::string directory;
    std::string build;
  };
  for (const Spelling& one : std::vector<Spelling>{
           {"record", folder, "build"},
           {"./record", folder, "./build/"},
           {"../record", folder / "below", "../build"},
           {name + "/record", folder.parent_path(), name + "/build"},
           {elsewhere.folder() + "/records/record", "/", elsewhere.folder() + "/records/build"},
           {"records/record", elsewhere.folder(), "records/build"},
           {"/../" + (folder / "record").string().substr(1), "/", exhibit.build()}}) {
    for (const std::string& program : {usual, elsewhere.folder() + "/another"}) {
      fs::remove(folder / "record");
      const live::Finished written = write(program, one.record, one.directory);
      EXPECT_TRUE(written.ok()) << one.record << ": " << written.summary();
      EXPECT_EQ(written.out + written.err, "") << one.record;
      EXPECT_EQ(exhibit.read("record"), record) << one.record;
      const live::Finished again = run(program, {"check", one.record}, one.directory);
      EXPECT_EQ(again.exit, 0) << one.record << ": " << again.summary();
      EXPECT_EQ(again.out, judged.out) << one.record;
      const live::Finished built =
          run(program, {"check", one.record, "--root", one.build}, one.directory);
      EXPECT_EQ(built.exit, 0) << one.build << ": " << built.summary();
      EXPECT_EQ(built.out, withBuild.out) << one.build;
    }
  }
  // Another folder's is not taken for it.
  EXPECT_EQ(run(usual, {"check", "record"}, elsewhere.folder()).exit, 2);
}

}  // namespace
}  // namespace vethgate
