// The image as it is handed out: what is in it, its size, that it is the same however often and
// wherever it is built, and that its system call profile is neither too narrow nor too wide.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/json.hpp"

namespace vethgate {
namespace {

namespace fs = std::filesystem;

const fs::path kImage = fs::path(VETHGATE_BIN_DIR).parent_path() / "image" / "vethgate-image.tar";
const std::vector<std::string> kPrograms{"apply", "hold", "probe", "verify"};
#ifdef VETHGATE_SANITIZE
constexpr bool kSanitized = true;  // its run-time library alone is larger than the image may be
#else
constexpr bool kSanitized = false;
#endif

// What a command of the shell prints; fails the test unless it succeeds.
std::string output(const std::string& command) {
  std::string text;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    ADD_FAILURE() << "cannot run " << command;
    return text;
  }
  std::array<char, 4096> chunk{};
  while (const std::size_t got = fread(chunk.data(), 1, chunk.size(), pipe)) {
    text.append(chunk.data(), got);
  }
  EXPECT_EQ(pclose(pipe), 0) << command << "\n" << text;
  return text;
}

std::string contents(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    all.push_back(line);
  }
  return all;
}

class Folder {
 public:
  Folder() {
    std::string name = "/tmp/vethgate-image-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// The image and its one layer, unpacked.
class Unpacked {
 public:
  Unpacked() {
    output("tar -C " + folder_.path().string() + " -xf " + kImage.string());
    const Json manifest = parseDocument(contents(folder_.path() / "manifest.json"), "manifest");
    image_ = manifest.at(0);
    config_ = parseDocument(contents(folder_.path() / config()), "config");
  }
  [[nodiscard]] std::string config() const { return image_.at("Config").get<std::string>(); }
  [[nodiscard]] const Json& manifest() const { return image_; }
  [[nodiscard]] const Json& configuration() const { return config_; }
  [[nodiscard]] fs::path layer() const {
    return folder_.path() / image_.at("Layers").at(0).get<std::string>();
  }
  [[nodiscard]] const fs::path& folder() const { return folder_.path(); }

 private:
  Folder folder_;
  Json image_;
  Json config_;
};

TEST(Image, HoldsTheProgramsTheirLibrariesAndNothingElse) {
  const Unpacked image;
  std::set<std::string> libraries;
  for (const std::string& program : kPrograms) {
    const std::string file = std::string(VETHGATE_BIN_DIR) + "/vethgate-" + program;
    for (const std::string& line : lines(output("readelf -d " + file))) {
      if (const std::size_t open = line.find('['); line.find("(NEEDED)") != std::string::npos) {
        libraries.insert(line.substr(open + 1, line.find(']') - open - 1));
      }
    }
  }
  const bool dynamic = !libraries.empty();
  std::set<std::string> programs;
  for (const std::string& line : lines(output("tar -tvf " + image.layer().string()))) {
    const std::string name = line.substr(line.rfind(' ') + 1);
    if (line.front() == 'd') {
      EXPECT_EQ(line.rfind("drwxr-xr-x 0/0 ", 0), 0U) << line;
      continue;
    }
    // No links, no devices, and nothing that could be written or gain power.
    EXPECT_EQ(line.rfind("-r-xr-xr-x 0/0 ", 0), 0U) << line;
    EXPECT_NE(line.find(" 1970-01-01 "), std::string::npos) << line;
    if (name.rfind("vethgate-", 0) == 0) {
      programs.insert(name.substr(9));
      continue;
    }
    const std::string base = name.substr(name.rfind('/') + 1);
    const bool loader = dynamic && base.rfind("ld-linux", 0) == 0;
    // A library may need another one, which only the loader's list names.
    const bool known = loader || libraries.count(base) == 1 || (dynamic && base == "libm.so.6");
    EXPECT_TRUE(known || kSanitized) << name << " is nobody's library";
    libraries.erase(base);
  }
  EXPECT_THAT(programs, testing::ElementsAreArray(kPrograms));
  libraries.erase("ld-linux-x86-64.so.2");
  EXPECT_THAT(libraries, testing::IsEmpty()) << "not in the image";
}

TEST(Image, IsSmall) {
  constexpr std::uintmax_t kMost = 12U << 20;
  if (!kSanitized) {
    EXPECT_LT(fs::file_size(kImage), kMost);
  }
}

TEST(Image, IsNamedByTheDigestsOfWhatItHolds) {
  const Unpacked image;
  const std::string digest = sha256Hex(contents(image.folder() / image.config()));
  EXPECT_EQ(image.config(), digest + ".json");
  EXPECT_EQ(contents(fs::path(kImage).replace_extension(".digest")), "sha256:" + digest + "\n");
  EXPECT_EQ(image.manifest().at("RepoTags"), Json({"vethgate:" VETHGATE_VERSION}));
  ASSERT_EQ(image.manifest().at("Layers").size(), 1U);
  const std::string layer = sha256Hex(contents(image.layer()));
  EXPECT_EQ(image.configuration().at("rootfs").at("diff_ids"), Json({"sha256:" + layer}));
}

TEST(Image, StartsTheHolderAsNobody) {
  const Unpacked image;
  const Json& config = image.configuration().at("config");
  EXPECT_EQ(config.at("User"), "65532:65532");
  EXPECT_EQ(config.at("Entrypoint"), Json({"/vethgate-hold"}));
  EXPECT_FALSE(config.contains("Env"));
  EXPECT_FALSE(config.contains("Volumes"));
  EXPECT_FALSE(config.contains("ExposedPorts"));
}

// Builds it from `programs` in a folder of its own, at another time and under another umask.
std::string rebuilt(const fs::path& programs, const std::string& version) {
  const Folder folder;
  std::string command = "umask 077; " VETHGATE_SOURCE_DIR "/docker/image/build " + version + " " +
                        (folder.path() / "image.tar").string();
  for (const char* program : {"probe", "apply", "verify", "hold"}) {
    command += " " + (programs / (std::string("vethgate-") + program)).string();
  }
  output(command);
  return sha256Hex(contents(folder.path() / "image.tar"));
}

TEST(Image, IsTheSameForTheSamePrograms) {
  const std::string expected = sha256Hex(contents(kImage));
  EXPECT_EQ(rebuilt(VETHGATE_BIN_DIR, VETHGATE_VERSION), expected);
  const Folder elsewhere;
  for (const std::string& program : kPrograms) {
    const std::string name = "vethgate-" + program;
    fs::copy_file(fs::path(VETHGATE_BIN_DIR) / name, elsewhere.path() / name);
    fs::permissions(elsewhere.path() / name, fs::perms::owner_all);
  }
  EXPECT_EQ(rebuilt(elsewhere.path(), VETHGATE_VERSION), expected);
  // The controls: another version, another program.
  EXPECT_NE(rebuilt(VETHGATE_BIN_DIR, "9.9.9"), expected);
  fs::copy_file(elsewhere.path() / "vethgate-hold", elsewhere.path() / "vethgate-probe",
                fs::copy_options::overwrite_existing);
  EXPECT_NE(rebuilt(elsewhere.path(), VETHGATE_VERSION), expected);
}

Json profile() {
  return parseDocument(contents(kImage.parent_path() / "vethgate-seccomp.json"), "profile");
}

std::set<std::string> allowedCalls() {
  std::set<std::string> names;
  const Json document = profile();
  for (const Json& rule : document.at("syscalls")) {
    EXPECT_EQ(rule.at("action"), "SCMP_ACT_ALLOW");
    for (const Json& name : rule.at("names")) {
      EXPECT_TRUE(names.insert(name.get<std::string>()).second) << name << " stands twice";
    }
  }
  return names;
}

TEST(SeccompProfile, LetsEachProgramDoItsWork) {
  if (kSanitized) {
    return;  // the sanitizers' own calls are not for the image
  }
  const std::set<std::string> allowed = allowedCalls();
  const Folder folder;
  const std::string trace = (folder.path() / "trace").string();
  const std::string programs = std::string(VETHGATE_BIN_DIR) + "/vethgate-";
  std::set<std::string> seen;
  const auto record = [&](const std::string& command) {
    output(command);
    for (const std::string& line : lines(contents(trace))) {
      const std::size_t start = line.find_first_not_of("0123456789 ");
      const std::size_t open = line.find('(');
      if (start != std::string::npos && line[start] >= 'a' && line[start] <= 'z' &&
          open != std::string::npos) {
        seen.insert(line.substr(start, open - start));
      }
    }
  };
  // Each ends as it must in a namespace that is no job's (7), or without a document (2). What the
  // programs call in a job's namespace, the live tests see.
  record("unshare --map-root-user --net strace -f -o " + trace + " " + programs +
         "probe; test $? = 7");
  for (const char* program : {"apply", "verify"}) {
    record("echo '{}' | strace -f -o " + trace + " " + programs + program + "; test $? = 2");
  }
  record("timeout --preserve-status -s TERM 1 strace -f -o " + trace + " " + programs +
         "hold; test $? -lt 144");
  EXPECT_GT(seen.size(), 20U);
  for (const std::string& name : seen) {
    EXPECT_EQ(allowed.count(name), 1U) << name << " is called and not allowed";
  }
}

static_assert(AF_NETLINK == 16 &&
              BPF_PROG_QUERY == 16);  // what the profile can only say in numbers

TEST(SeccompProfile, AllowsNothingThatLeadsOut) {
  const Json document = profile();
  EXPECT_EQ(document.at("defaultAction"), "SCMP_ACT_ERRNO");
  const std::set<std::string> allowed = allowedCalls();
  for (const char* name : {"accept",
                           "accept4",
                           "add_key",

                           "chroot",
                           "clone",
                           "clone3",
                           "connect",
                           "delete_module",
                           "fork",
                           "finit_module",
                           "init_module",
                           "io_uring_setup",
                           "kexec_load",
                           "keyctl",
                           "kill",
                           "listen",
                           "mount",
                           "move_mount",
                           "open_by_handle_at",
                           "open_tree",
                           "perf_event_open",
                           "pidfd_getfd",
                           "pivot_root",
                           "process_vm_readv",
                           "process_vm_writev",
                           "ptrace",
                           "reboot",
                           "setns",
                           "setuid",
                           "socketpair",
                           "swapon",
                           "umount2",
                           "unshare",
                           "userfaultfd",
                           "vfork"}) {
    EXPECT_EQ(allowed.count(name), 0U) << name;
  }
  // Of sockets, AF_NETLINK alone; of bpf(2), BPF_PROG_QUERY.
  std::set<std::string> conditional;
  for (const Json& rule : document.at("syscalls")) {
    if (rule.contains("args")) {
      EXPECT_EQ(rule.at("args").dump(), R"([{"index":0,"op":"SCMP_CMP_EQ","value":16}])");
      for (const Json& name : rule.at("names")) {
        conditional.insert(name.get<std::string>());
      }
    }
  }
  EXPECT_THAT(conditional, testing::ElementsAre("bpf", "socket"));
}

}  // namespace
}  // namespace vethgate
