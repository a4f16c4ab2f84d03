// The kernel as the applier sees it: two netlink sockets of one namespace. An interface, so that
// the sequence can be tested against a kernel that refuses, lies or stays silent at any point.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "applier/steps.hpp"
#include "base/deadline.hpp"
#include "netlink/socket.hpp"

namespace vethgate {

class Kernel {
 public:
  Kernel() = default;
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  // Reading, as dump() and query() of netlink/socket.hpp, errors included.
  [[nodiscard]] virtual std::vector<RawMessage> dump(Channel channel, RawMessage request,
                                                     const Deadline& deadline) = 0;
  [[nodiscard]] virtual RawMessage query(Channel channel, RawMessage request,
                                         const Deadline& deadline) = 0;

  // Writing, as sendDatagram() and receive() of netlink/socket.hpp, errors included.
  [[nodiscard]] virtual bool send(Channel channel, ByteView datagram) = 0;
  [[nodiscard]] virtual std::vector<RawMessage> receive(Channel channel,
                                                        const Deadline& deadline) = 0;
  [[nodiscard]] virtual std::uint32_t nextSequence(Channel channel) = 0;
  [[nodiscard]] virtual std::uint32_t portId(Channel channel) const = 0;
};

class KernelSockets final : public Kernel {
 public:
  // Opens both sockets with buffers that hold the largest of `steps` and all of its answers. Throws
  // Failure(kUnsupported) when the kernel lacks one or grants no buffer of that size.
  explicit KernelSockets(const std::vector<Step>& steps);

  [[nodiscard]] NetlinkSocket& route() noexcept { return route_; }

  [[nodiscard]] std::vector<RawMessage> dump(Channel channel, RawMessage request,
                                             const Deadline& deadline) override;
  [[nodiscard]] RawMessage query(Channel channel, RawMessage request,
                                 const Deadline& deadline) override;
  [[nodiscard]] bool send(Channel channel, ByteView datagram) override;
  [[nodiscard]] std::vector<RawMessage> receive(Channel channel, const Deadline& deadline) override;
  [[nodiscard]] std::uint32_t nextSequence(Channel channel) override;
  [[nodiscard]] std::uint32_t portId(Channel channel) const override;

 private:
  [[nodiscard]] NetlinkSocket& socket(Channel channel) noexcept {
    return channel == Channel::kRoute ? route_ : netfilter_;
  }
  NetlinkSocket route_;
  NetlinkSocket netfilter_;
};

}  // namespace vethgate
