// The names in /proc/net; see legacy_tables.hpp. Source: net/netfilter/x_tables.c, xt_proto_init().
#include "probe/legacy_tables.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr std::size_t kMaxNamesBytes = std::size_t{64} << 10;

struct Module {
  const char* path;
  const char* family;
};
constexpr std::array kModules{Module{"/proc/self/net/ip_tables_names", "ip"},
                              Module{"/proc/self/net/ip6_tables_names", "ip6"},
                              Module{"/proc/self/net/arp_tables_names", "arp"}};

[[noreturn]] void cannotTell(const char* path, const char* what) {
  const int error = errno;
  throw Failure(ExitCode::kUnsupported, std::string("the list of legacy tables: ") + path + " " +
                                            what + ": " + std::generic_category().message(error));
}

// The file is missing when the module is not loaded, which proves something only where /proc is
// known to be there.
bool isLoaded(const char* path) {
  if (access(path, F_OK) == 0) {
    return true;
  }
  if (errno != ENOENT) {
    cannotTell(path, "cannot be found out about");
  }
  return false;
}

std::string wholeText(int fd, const char* path) {
  std::string text(kMaxNamesBytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = pread(fd, text.data() + size, text.size() - size, static_cast<off_t>(size));
    if (got < 0) {
      cannotTell(path, "cannot be read");
    }
    if (got == 0) {
      text.resize(size);
      return text;
    }
    size += static_cast<std::size_t>(got);
  }
  throw Failure(ExitCode::kUnsupported,
                std::string("the list of legacy tables: ") + path + " is longer than the " +
                    std::to_string(kMaxNamesBytes) + " bytes that are accepted");
}

}  // namespace

LegacyTableFiles::LegacyTableFiles() {
  struct statfs system {};
  if (statfs("/proc/self/net/dev", &system) != 0 || system.f_type != PROC_SUPER_MAGIC) {
    throw Failure(
        ExitCode::kUnsupported,
        "/proc/self/net/dev is not there: without procfs no legacy table can be ruled out");
  }
  for (std::size_t i = 0; i < kModules.size(); ++i) {
    if (isLoaded(kModules.at(i).path)) {
      files_.at(i).descriptor = open(kModules.at(i).path, O_RDONLY | O_CLOEXEC);
      if (files_.at(i).descriptor < 0) {
        cannotTell(kModules.at(i).path, "cannot be opened");
      }
    }
  }
}

LegacyTableFiles::File::~File() {
  if (descriptor >= 0) {
    close(descriptor);
  }
}

std::vector<std::string> LegacyTableFiles::names() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kModules.size(); ++i) {
    const auto& [path, family] = kModules.at(i);
    if (files_.at(i).descriptor < 0) {
      if (isLoaded(path)) {
        throw Failure(ExitCode::kRefused,
                      std::string("the list of legacy tables: ") + path +
                          " came while the namespace was read; what it lists is not known, "
                          "and a new reading would tell");
      }
      continue;
    }
    std::string line;
    for (const char c : wholeText(files_.at(i).descriptor, path)) {
      if (c != '\n') {
        line.push_back(c);
      } else {
        names.push_back(std::string(family) + " " + std::exchange(line, {}));
      }
    }
    if (!line.empty()) {
      names.push_back(std::string(family) + " " + line);
    }
  }
  return names;
}

std::vector<std::string> legacyTablesBy(const std::function<std::vector<std::string>()>& read) {
  for (std::size_t again = 0; again < kModules.size(); ++again) {
    try {
      return read();
    } catch (const Failure& failure) {
      if (failure.code() != ExitCode::kRefused) {
        throw;
      }
    }
  }
  return read();
}

std::vector<std::string> legacyTables() {
  return legacyTablesBy([] { return LegacyTableFiles().names(); });
}

}  // namespace vethgate
