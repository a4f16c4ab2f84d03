#include "bench/packets.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::bench {
namespace {

// Locally administered, and nobody's.
constexpr live::Mac kNobody = {0x02, 0, 0, 0, 0, 0x99};
constexpr std::uint16_t kPort = 9;  // discard
constexpr int kBurst = 64;          // sends between two looks at the clock

std::string macText(const live::Mac& mac) {
  std::string text;
  for (const std::uint8_t byte : mac) {
    text += (text.empty() ? "" : ":") + toHex({&byte, 1});
  }
  return text;
}

template <class Send>
double timeOf(std::chrono::milliseconds span, Send&& send) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const auto end = started + span;
  std::uint64_t count = 0;
  while (Clock::now() < end) {
    for (int i = 0; i < kBurst; ++i) {
      send();
    }
    count += kBurst;
  }
  const std::chrono::duration<double, std::nano> took = Clock::now() - started;
  return took.count() / static_cast<double>(count);
}

}  // namespace

double nanosecondsPerPacket(const live::Job& job, Sender sender, std::chrono::milliseconds span) {
  if (sender == Sender::kRaw) {
    const live::RawSender raw(job);
    live::Datagram datagram;
    datagram.to = live::kAllowedV4;
    datagram.port = kPort;
    datagram.cookie = "bench";
    Bytes frame = live::buildFrames(job, datagram).front();
    std::copy(kNobody.begin(), kNobody.end(), frame.begin());
    return timeOf(span, [&] { raw.send(frame); });
  }
  live::configure(job.netns(), "neigh replace " + std::string(live::kProxyAddress) + " lladdr " +
                                   macText(kNobody) + " dev " + live::kJobLink +
                                   " nud permanent\n");
  return live::inNamespace(job.netns(), [&] {
    const live::Descriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(kPort);
    inet_pton(AF_INET, std::string(live::kAllowedV4).c_str(), &to.sin_addr);
    if (!fd.valid() || connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      throw std::runtime_error("no UDP socket to the allowed address");
    }
    return timeOf(span, [&] {
      if (::send(fd.get(), "bench", 5, 0) != 5) {
        throw std::runtime_error("a datagram to the allowed address was not sent");
      }
    });
  });
}

}  // namespace vethgate::bench
