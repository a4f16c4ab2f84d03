// A way for a signal, or for another thread, to end calls that wait. It must not know why they end.
#pragma once

#include <atomic>

namespace vethgate::docker {

class Interrupt {
 public:
  Interrupt();  // Failure(kDefect) without a descriptor
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // For good. May be called in a signal's handler (signal-safety(7)).
  void raise() noexcept;
  [[nodiscard]] bool raised() const noexcept { return raised_.load(); }
  // For poll(2): readable once it was raised, and from then on. Nobody may read it.
  [[nodiscard]] int fd() const noexcept { return fd_; }

 private:
  std::atomic<bool> raised_{false};
  static_assert(std::atomic<bool>::is_always_lock_free);
  int fd_;  // eventfd(2)
};

}  // namespace vethgate::docker
