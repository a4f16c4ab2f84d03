#include "evidence/folder.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/program.hpp"

namespace vethgate::evidence {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 20;

std::string lastError() { return std::generic_category().message(errno); }

Descriptor openBeneath(const Descriptor& folder, const std::string& name) {
  open_how how{};
  // Not blocking, or a FIFO would hold the judge up before it could be refused.
  how.flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  Descriptor file(
      static_cast<int>(syscall(SYS_openat2, folder.get(), name.c_str(), &how, sizeof how)));
  if (!file.valid() && errno == ENOSYS) {
    throw Failure(ExitCode::kUnsupported, "the kernel lacks openat2 (Linux 5.6)");
  }
  if (!file.valid()) {
    badInput(name +
             (errno == EXDEV ? ": leads out of the folder" : ": cannot be opened: " + lastError()));
  }
  struct stat about {};
  if (fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode)) {
    badInput(name + ": is not a regular file");
  }
  return file;
}

void forEachChunk(const Descriptor& file, const std::string& name,
                  const std::function<void(std::string_view)>& take) {
  std::vector<char> chunk(kChunk);
  while (true) {
    const ssize_t got = read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno != EINTR) {
      badInput(name + ": cannot be read: " + lastError());
    }
    if (got == 0) {
      return;
    }
    if (got > 0) {
      take({chunk.data(), static_cast<std::size_t>(got)});
    }
  }
}

}  // namespace

Folder::Folder(const std::string& path)
    : fd_(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  if (!fd_.valid()) {
    badInput("the folder " + path + " cannot be opened: " + lastError());
  }
}

std::string Folder::read(const std::string& name, std::size_t maxBytes) const {
  std::string text;
  forEachChunk(openBeneath(fd_, name), name, [&](std::string_view chunk) {
    if (text.size() + chunk.size() > maxBytes) {
      badInput(name + ": longer than the " + std::to_string(maxBytes) + " bytes that are accepted");
    }
    text.append(chunk);
  });
  return text;
}

std::string Folder::digest(const std::string& name) const {
  Sha256 hash;
  forEachChunk(openBeneath(fd_, name), name, [&](std::string_view chunk) { hash.update(chunk); });
  return hash.hex();
}

void Folder::replace(const std::string& name, std::string_view text) const {
  constexpr mode_t kForAllToRead = 0644;
  const std::string fresh = name + ".new";
  const Descriptor file(openat(fd_.get(), fresh.c_str(),
                               O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
                               kForAllToRead));
  if (!file.valid()) {
    badInput(name + ": cannot be written: " + lastError());
  }
  writeAll(file.get(), text);
  if (renameat(fd_.get(), fresh.c_str(), fd_.get(), name.c_str()) != 0) {
    badInput(name + ": cannot be written: " + lastError());
  }
}

}  // namespace vethgate::evidence
