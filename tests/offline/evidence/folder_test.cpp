// Nothing outside the folder is opened, by whatever name.
#include "evidence/folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate::evidence::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPlenty = 1000;

class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    fs::create_directories(exhibit_.folder() / "in/sub");
    exhibit_.write("in/file", "inside");
    exhibit_.write("in/..file..", "dots in a name");
    exhibit_.write("outside", "outside");
  }

  void expectRefused(const std::string& name, const std::string& why) const {
    try {
      (void)folder().read(name, kPlenty);
      ADD_FAILURE() << name << " was read";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kBadInput);
      EXPECT_EQ(failure.what(), name + ": " + why);
    }
    EXPECT_THROW((void)folder().digest(name), Failure) << name;
  }
  void link(const fs::path& target, const std::string& name) const {
    fs::create_symlink(target, inside() / name);
  }

  [[nodiscard]] fs::path inside() const { return exhibit_.folder() / "in"; }
  [[nodiscard]] Folder folder() const { return Folder(inside()); }

  Exhibit exhibit_;
};

TEST_F(FolderTest, ReadsWhatIsBeneathIt) {
  link("file", "link");
  link("../file", "sub/link");
  for (const char* name : {"file", "sub/../file", "link", "sub/link"}) {
    EXPECT_EQ(folder().read(name, kPlenty), "inside") << name;
    EXPECT_EQ(folder().digest(name), sha256Hex("inside")) << name;
  }
  EXPECT_EQ(folder().read("..file..", kPlenty), "dots in a name");
}

TEST_F(FolderTest, RefusesWhatLeadsOut) {
  link("../outside", "link");
  link(exhibit_.folder() / "outside", "absolute");
  link("/", "root");
  for (const std::string& name :
       std::vector<std::string>{"../outside", "sub/../../outside", "/etc/hostname",
                                inside() / "file", "link", "absolute", "root/etc/hostname"}) {
    expectRefused(name, "leads out of the folder");
  }
}

TEST_F(FolderTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo((inside() / "fifo").c_str(), 0600), 0);
  expectRefused("fifo", "is not a regular file");  // and does not wait for a writer
  expectRefused("sub", "is not a regular file");
  expectRefused("none", "cannot be opened: No such file or directory");
  expectRefused("", "cannot be opened: No such file or directory");
}

TEST_F(FolderTest, RefusesMoreThanItsLimit) {
  EXPECT_EQ(folder().read("file", 6), "inside");
  EXPECT_THROW((void)folder().read("file", 5), Failure);
}

TEST_F(FolderTest, ReplacesAFileAsAWhole) {
  folder().replace("file", "new");
  EXPECT_EQ(folder().read("file", kPlenty), "new");
  folder().replace("another", "text");
  EXPECT_EQ(folder().read("another", kPlenty), "text");
  EXPECT_FALSE(fs::exists(inside() / "file.new"));
  fs::create_symlink("../outside", inside() / "record.new");
  EXPECT_THROW(folder().replace("record", "text"), Failure);
  EXPECT_EQ(exhibit_.read("outside"), "outside");
}

TEST_F(FolderTest, MustExist) {
  EXPECT_THROW(Folder(exhibit_.folder() / "none"), Failure);
  EXPECT_THROW(Folder(exhibit_.folder() / "outside"), Failure);
}

}  // namespace
}  // namespace vethgate::evidence::test
