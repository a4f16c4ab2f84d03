// Files beneath one folder and nowhere else: a record names its logs, and whoever wrote it must not
// choose what else the judge opens. It must not know what the files hold.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "evidence/descriptor.hpp"

namespace vethgate::evidence {

class Folder {
 public:
  // Throws kBadInput when it cannot be opened.
  explicit Folder(const std::string& path);

  // A whole regular file. The kernel resolves `name` beneath the folder (openat2(2),
  // RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS), so neither "..", nor an absolute path, nor a link
  // leads out. Throws kBadInput for that, for what is no regular file, and for more than
  // `maxBytes`; kUnsupported on a kernel without openat2 (before 5.6).
  [[nodiscard]] std::string read(const std::string& name, std::size_t maxBytes) const;
  // SHA-256 of such a file of any size.
  [[nodiscard]] std::string digest(const std::string& name) const;

  // Puts `text` in the place of a file of the folder itself; what was there stands until the new
  // one is whole. Throws kBadInput when it cannot be written.
  void replace(const std::string& name, std::string_view text) const;

 private:
  Descriptor fd_;
};

}  // namespace vethgate::evidence
