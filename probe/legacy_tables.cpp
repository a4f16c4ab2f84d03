// The names in /proc/net; see legacy_tables.hpp. Source: net/netfilter/x_tables.c, xt_proto_init().
#include "probe/legacy_tables.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.hpp"
#include "base/program.hpp"

namespace vethgate {
namespace {

constexpr std::size_t kMaxNamesBytes = std::size_t{64} << 10;

// The tables of one legacy module. Its file is missing when the module is not loaded, which proves
// something only where /proc is known to be there.
void addLegacyTables(const char* file, const std::string& family, std::vector<std::string>& names) {
  const std::string path = std::string("/proc/self/net/") + file;
  if (access(path.c_str(), F_OK) != 0) {
    if (errno == ENOENT) {
      return;
    }
    throw Failure(ExitCode::kUnsupported,
                  path + " cannot be found out about: " + std::generic_category().message(errno));
  }
  std::string text;
  try {
    text = readFile(path, "the list of legacy tables", kMaxNamesBytes);
  } catch (const Failure& failure) {
    throw Failure(ExitCode::kUnsupported, failure.what());
  }
  std::string line;
  for (const char c : text) {
    if (c != '\n') {
      line.push_back(c);
    } else {
      names.push_back(family + " " + std::exchange(line, {}));
    }
  }
  if (!line.empty()) {
    names.push_back(family + " " + line);
  }
}

}  // namespace

std::vector<std::string> legacyTables() {
  struct statfs system {};
  if (statfs("/proc/self/net/dev", &system) != 0 || system.f_type != PROC_SUPER_MAGIC) {
    throw Failure(
        ExitCode::kUnsupported,
        "/proc/self/net/dev is not there: without procfs no legacy table can be ruled out");
  }
  std::vector<std::string> names;
  addLegacyTables("ip_tables_names", "ip", names);
  addLegacyTables("ip6_tables_names", "ip6", names);
  addLegacyTables("arp_tables_names", "arp", names);
  return names;
}

}  // namespace vethgate
