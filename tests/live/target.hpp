// The text form of an endpoint, shared by the payload and by the services that it is tried against:
// tcp:ADDRESS:PORT or udp:ADDRESS:PORT, an IPv6 address in brackets, optionally with %interface.
#pragma once

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace vethgate::live {

struct Endpoint {
  int type = SOCK_STREAM;
  sockaddr_storage address{};
  socklen_t length = 0;

  [[nodiscard]] int family() const { return address.ss_family; }
  [[nodiscard]] const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&address); }
};

// Throws std::invalid_argument. The interface is looked up in the caller's network namespace.
[[nodiscard]] inline Endpoint parseTarget(std::string_view text) {
  const auto refuse = [&] { throw std::invalid_argument("not a target: " + std::string(text)); };
  const std::size_t colon = text.rfind(':');
  if (text.size() < 6 || colon < 5 || (!text.starts_with("tcp:") && !text.starts_with("udp:"))) {
    refuse();
  }
  Endpoint endpoint;
  endpoint.type = text.starts_with("tcp:") ? SOCK_STREAM : SOCK_DGRAM;
  std::uint16_t port = 0;
  if (std::from_chars(text.data() + colon + 1, text.data() + text.size(), port).ptr !=
      text.data() + text.size()) {
    refuse();
  }
  std::string host(text.substr(4, colon - 4));
  int converted = 0;
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
    auto* v6 = reinterpret_cast<sockaddr_in6*>(&endpoint.address);
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    if (const std::size_t zone = host.find('%'); zone != std::string::npos) {
      v6->sin6_scope_id = if_nametoindex(host.c_str() + zone + 1);
      host.resize(zone);
    }
    endpoint.length = sizeof *v6;
    converted = inet_pton(AF_INET6, host.c_str(), &v6->sin6_addr);
  } else {
    auto* v4 = reinterpret_cast<sockaddr_in*>(&endpoint.address);
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    endpoint.length = sizeof *v4;
    converted = inet_pton(AF_INET, host.c_str(), &v4->sin_addr);
  }
  if (converted != 1) {
    refuse();
  }
  return endpoint;
}

}  // namespace vethgate::live
