// Which namespace this is, in namespaces that the test makes and in folders that stand for others.
#include "probe/namespace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/offline/netlink/wire.hpp"
#include "tests/offline/probe/scratch_namespace.hpp"

namespace vethgate {
namespace {

using testing::HasSubstr;

// A folder that holds the named files, removed afterwards.
class Folder {
 public:
  explicit Folder(std::initializer_list<const char*> files) {
    std::string text = testing::TempDir() + "vethgate-sysctl-XXXXXX";
    if (mkdtemp(text.data()) == nullptr) {
      throw std::runtime_error("no temporary folder");
    }
    path_ = text;
    for (const char* file : files) {
      std::ofstream(path_ / file) << "1\n";
    }
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string reasonBy(const std::string& folder) {
  return wire::refusal([&] { refuseInitialNamespaceBy(folder); }, ExitCode::kWrongNamespace);
}

TEST(InitialNamespace, IsToldByTheSysctlThatOnlyItHas) {
  EXPECT_EQ("nothing was thrown", reasonBy(Folder({"somaxconn"}).path()));
  EXPECT_THAT(reasonBy(Folder({"somaxconn", "netdev_max_backlog"}).path()),
              HasSubstr("initial network namespace"));
}

TEST(InitialNamespace, IsRefusedWhenItCannotBeTold) {
  EXPECT_THAT(reasonBy(Folder({}).path()), HasSubstr("cannot be told"));
  EXPECT_THAT(reasonBy(Folder({"netdev_max_backlog"}).path()), HasSubstr("cannot be told"));
  EXPECT_THAT(reasonBy("/nonexistent"), HasSubstr("cannot be told"));
  // A loop of links is neither there nor absent.
  const Folder odd({"somaxconn"});
  std::filesystem::create_symlink("netdev_max_backlog", odd.path() + "/netdev_max_backlog");
  EXPECT_THAT(reasonBy(odd.path()), HasSubstr("cannot be told"));
}

TEST(InitialNamespace, AnotherNamespaceIsNotIt) {
  EXPECT_TRUE(scratch::lived(scratch::inChild([] {
    scratch::enterNewNamespace();
    refuseInitialNamespace();
  })));
}

TEST(CurrentNamespace, IsTheInodeOfItsFile) {
  struct stat own {};
  ASSERT_EQ(0, stat("/proc/self/ns/net", &own));
  const std::uint64_t before = currentNamespace();
  EXPECT_EQ(own.st_ino, before);
  EXPECT_TRUE(scratch::lived(scratch::inChild([before] {
    scratch::enterNewNamespace();
    scratch::require(currentNamespace() != before, "the namespace did not change");
  })));
}

TEST(MeasureLink, FindsTheVethOfAJob) {
  EXPECT_TRUE(scratch::lived(scratch::inChild([] {
    scratch::becomeAJob();
    NetlinkSocket route(NETLINK_ROUTE);
    const Link link = measureLink(route, Deadline::after(std::chrono::seconds(10)));
    scratch::require(link.index == scratch::kIndex, "another index");
    scratch::require(link.peer == scratch::kPeer, "another peer");
    scratch::require(link.name == "eth0", "another name");
    scratch::require(link.netns == currentNamespace(), "another namespace");
  })));
}

TEST(MeasureLink, RefusesANamespaceWithoutOne) {
  EXPECT_TRUE(scratch::lived(scratch::inChild([] {
    scratch::enterNewNamespace();
    NetlinkSocket route(NETLINK_ROUTE);
    const auto deadline = Deadline::after(std::chrono::seconds(10));
    const std::string reason = wire::refusal(
        [&] { static_cast<void>(measureLink(route, deadline)); }, ExitCode::kWrongNamespace);
    scratch::require(reason.find("no link but its loopback") != std::string::npos, reason.c_str());
  })));
}

}  // namespace
}  // namespace vethgate
