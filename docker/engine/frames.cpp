#include "docker/engine/frames.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"

namespace vethgate::docker {
namespace {

constexpr std::uint8_t kStdout = 1;
constexpr std::uint8_t kStderr = 2;

}  // namespace

void FrameReader::openFrame() {
  if (header_[1] != 0 || header_[2] != 0 || header_[3] != 0 ||
      (header_[0] != kStdout && header_[0] != kStderr)) {
    badInput("a frame of the output begins with " + toHex(header_) +
             " where a stream, 1 or 2, and three zeros are expected");
  }
  const bool out = header_[0] == kStdout;
  stream_ = out ? &output_.out : &output_.err;
  left_ = std::size_t{header_[4]} << 24 | std::size_t{header_[5]} << 16 |
          std::size_t{header_[6]} << 8 | std::size_t{header_[7]};
  const std::size_t most = out ? maxOut_ : maxErr_;
  if (left_ > most - stream_->size()) {
    badInput(std::string(out ? "stdout" : "stderr") + " is longer than the " +
             std::to_string(most) + " bytes that are accepted");
  }
  headerFilled_ = 0;
}

void FrameReader::take(std::string_view bytes) {
  while (!bytes.empty()) {
    if (left_ != 0) {
      const std::size_t now = std::min(left_, bytes.size());
      stream_->append(bytes.substr(0, now));
      left_ -= now;
      bytes.remove_prefix(now);
      continue;
    }
    header_.at(headerFilled_++) = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    if (headerFilled_ == kHeaderBytes) {
      openFrame();
    }
  }
}

Output FrameReader::finish() {
  if (left_ != 0 || headerFilled_ != 0) {
    badInput("the output ends within a frame, " +
             (left_ != 0 ? std::to_string(left_) + " bytes short"
                         : std::to_string(headerFilled_) + " bytes into its header"));
  }
  return std::move(output_);
}

}  // namespace vethgate::docker
