// What makes two messages the same; see sampler.hpp.
#include "sampler.hpp"

#include <algorithm>
#include <string_view>

#include "exceptions.hpp"
#include "schema.hpp"

namespace vethgate::test {
namespace {

constexpr std::size_t kRepetitionsOneOf = 307;

// Numbers that say where a message stands among the others, not what it says.
constexpr std::array<std::string_view, 5> kPlaces = {"/nlmsg_seq", "/nlmsg_pid", "/res_id",
                                                     "/NFTA_RULE_HANDLE", "/NFTA_RULE_POSITION"};

constexpr std::string_view kAgain = ".again";

class Hash {
 public:
  void add(std::uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15U;  // 2^64 divided by the golden ratio
    value_ ^= value_ >> 29;
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

// Of all that a message says but what is listed to say nothing. Of a second reading the kernel's
// own choices mean as little as of the first, although they must be the same.
std::uint64_t contentOf(DumpId id, std::size_t number, const RawMessage& message) {
  Hash hash;
  for (const Region& region : dissect(id, message).regions) {
    hash.add(std::hash<std::string>{}(region.path));
    std::string first = region.path;
    if (const auto again = first.find(kAgain); again != std::string::npos) {
      first.erase(again, kAgain.size());
    }
    hash.add(region.end - region.begin);
    if (std::any_of(kPlaces.begin(), kPlaces.end(),
                    [&](std::string_view place) { return region.path.ends_with(place); })) {
      continue;
    }
    for (std::size_t at = region.begin; at < region.end; ++at) {
      if (!saysNothing(first, number, at - region.begin)) {
        hash.add(message[at]);
      }
    }
  }
  return hash.value();
}

// Whether what becomes of the mutant depends on the messages around it.
bool isOfTheList(Change change) {
  return change == Change::kDrop || change == Change::kDouble || change == Change::kSwap ||
         change == Change::kMove || change == Change::kInterrupt;
}

}  // namespace

void Sampler::begin(const Capture& capture) {
  for (std::size_t dump = 0; dump < kDumpCount; ++dump) {
    const auto id = static_cast<DumpId>(dump);
    std::vector<Novelty>& novelties = novelties_.at(dump);
    novelties.clear();
    if (!capture.dump(id)) {
      continue;
    }
    for (const RawMessage& message : *capture.dump(id)) {
      const std::uint64_t content = contentOf(id, novelties.size(), message);
      const bool isNew = seen_.insert(content).second;
      newMessages_ += isNew ? 1 : 0;
      novelties.push_back({content % share_.of == share_.number, isNew});
    }
    messages_ += novelties.size();
  }
}

bool Sampler::wants(const Mutant& mutant) {
  if (mutant.place.dump == kNoDump) {
    return documents_++ % share_.of == share_.number && (all_ || asked_++ % newOneOf_ == 0);
  }
  const Novelty& novelty =
      novelties_.at(static_cast<std::size_t>(mutant.place.dump)).at(mutant.place.message);
  if (!novelty.ours || all_) {
    return novelty.ours;
  }
  return novelty.isNew || isOfTheList(mutant.change) ? asked_++ % newOneOf_ == 0
                                                     : repeated_++ % kRepetitionsOneOf == 0;
}

std::string Sampler::sum() const {
  return std::to_string(messages_) + " messages, " + std::to_string(newMessages_) +
         " unlike all before: of those one mutant of " + std::to_string(newOneOf_) +
         ", of the others one of " + std::to_string(all_ ? 1 : kRepetitionsOneOf) + "; share " +
         std::to_string(share_.number + 1) + " of " + std::to_string(share_.of) + "\n";
}

}  // namespace vethgate::test
