// The stream that an attached container without a terminal writes: frames of a header of 8 bytes
// (stream, three zeros, the length as 32 bits big-endian) and that many bytes. Pure; it must not
// know sockets. Source: the API's ContainerAttach, "Stream format".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "docker/engine/types.hpp"

namespace vethgate::docker {

// Takes the stream in pieces of any size. Everything that is no frame, a stream other than stdout
// and stderr, and more than the limits is Failure(kBadInput).
class FrameReader {
 public:
  FrameReader(std::size_t maxOut, std::size_t maxErr) : maxOut_(maxOut), maxErr_(maxErr) {}

  void take(std::string_view bytes);
  [[nodiscard]] bool hasLine() const { return output_.out.find('\n') != std::string::npos; }
  // What both streams said so far.
  [[nodiscard]] const Output& soFar() const noexcept { return output_; }
  // What both streams said; refuses an end within a frame.
  [[nodiscard]] Output finish();

 private:
  static constexpr std::size_t kHeaderBytes = 8;

  void openFrame();

  std::size_t maxOut_;
  std::size_t maxErr_;
  std::array<std::uint8_t, kHeaderBytes> header_{};
  std::size_t headerFilled_ = 0;
  std::size_t left_ = 0;  // bytes of the open frame that are still to come
  std::string* stream_ = nullptr;
  Output output_;
};

}  // namespace vethgate::docker
