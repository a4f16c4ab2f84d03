// Tables of the legacy iptables modules, which no netlink dump shows. It only reads /proc.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace vethgate {

// The files that list those of the calling process's namespace, opened now and read when they are
// asked for: under SeccompProfile::kCollect as well, where no file can be opened any more.
class LegacyTableFiles {
 public:
  LegacyTableFiles();  // Failure(kUnsupported) when /proc does not tell

  // "ip filter", "ip6 nat", "arp filter", as they are now. Failure(kRefused) when a module was
  // loaded that was not there when the files were opened.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  struct File {
    File() = default;
    ~File();
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    int descriptor = -1;  // stays so when the module is not loaded
  };
  std::array<File, 3> files_;
};

// Those of now. Needs the file system: call it before lockSyscalls(). A module that is loaded at
// this very moment, which an engine that has just started does, is looked at again: each can come
// once, so there is one reading more than there are modules.
[[nodiscard]] std::vector<std::string> legacyTables();
// The same of what `read` says; only its Failure(kRefused) makes it asked again.
[[nodiscard]] std::vector<std::string> legacyTablesBy(
    const std::function<std::vector<std::string>()>& read);

}  // namespace vethgate
