// Bytes of the rtnetlink messages that build clsact, its filters and the guard.
// It knows no sockets and no policy; what the kernel answers is apply.cpp's business.
// Sources: linux/rtnetlink.h, linux/pkt_sched.h, linux/pkt_cls.h, linux/tc_act/tc_gact.h.
#pragma once

#include <cstdint>

#include "netlink/socket.hpp"
#include "render/plan.hpp"

namespace vethgate {

// `ifindex` is the job's veth in its own namespace.
[[nodiscard]] RawMessage newClsact(std::uint32_t ifindex);
[[nodiscard]] RawMessage deleteClsact(std::uint32_t ifindex);
// Throws Failure(kUntouchable) for a filter that flower cannot hold as it stands.
[[nodiscard]] RawMessage newFilter(std::uint32_t ifindex, const FlowerFilter& filter);

// The drop-all filter ahead of every other one, which keeps the veth shut while the rest is
// written.
[[nodiscard]] RawMessage newGuard(std::uint32_t ifindex);
[[nodiscard]] RawMessage deleteGuard(std::uint32_t ifindex);

// Requests that no kernel can carry out. The errno tells a kernel that lacks the mechanism (ENOENT)
// from one that has it and finds the request malformed (EINVAL); nothing is written either way.
[[nodiscard]] RawMessage malformedClsact(std::uint32_t ifindex);
[[nodiscard]] RawMessage malformedGact();

}  // namespace vethgate
