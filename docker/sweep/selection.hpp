// Which containers a sweep may remove, by what they are labelled and named with, and why it leaves
// the others. Pure; it must not know an engine's calls, nor who is attached to whom.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "docker/engine/types.hpp"

namespace vethgate::docker {

// In the order in which a job's containers are removed: whoever is in a namespace before who owns
// it.
enum class Role { kJob, kHelper, kHolder };

// A container of the owner's whose role, job and name agree.
struct Owned {
  std::string id;
  std::string name;
  std::string job;
  Role role = Role::kJob;
  std::optional<std::uint64_t> removeAfter;  // unix second; nullopt when the stamp is unreadable

  [[nodiscard]] bool due(std::uint64_t now) const { return removeAfter && *removeAfter <= now; }
};

// Why a container that claims to be the owner's is left alone.
enum class Unfit {
  kOwner,   // labelled by vethgate, and the owner's name is missing or none
  kRole,    // none of the three
  kJob,     // missing, or no name of a job
  kName,    // not the name that vethgate gives to this role and job
  kStamp,   // no decimal number of 64 bits: never taken for one that has passed
  kClock,   // passed by a clock that jumped while it ran
  kNotDue,  // as it should be
};
[[nodiscard]] const char* word(Unfit reason);

struct Skipped {
  std::string id;
  std::string name;
  Unfit reason = Unfit::kNotDue;
  std::string text;                               // one clause: what was found, what was expected
  std::optional<std::uint64_t> removeAfter = {};  // unix second, as far as that is known
};

// monostate: nobody's business, since it is another owner's or not vethgate's at all.
using Identity = std::variant<std::monostate, Owned, Skipped>;
[[nodiscard]] Identity identify(const Container& container, const std::string& owner);

struct Selection {
  std::vector<Owned> due;        // in order of removal, each id once
  std::vector<Skipped> skipped;  // the owner's others, by id
};

// An empty owner selects nothing. `now`: unix second.
[[nodiscard]] Selection selectDue(const std::vector<Container>& containers,
                                  const std::string& owner, std::uint64_t now);
// Every holder of the owner's, whatever its stamp; what cannot be read is skipped, what is no
// holder is passed over.
[[nodiscard]] Selection selectHolders(const std::vector<Container>& containers,
                                      const std::string& owner);

// Where an owner's next pass goes on: behind the last container that was attempted, gone or not, so
// that those which cannot be removed do not stand before the others for ever.
class Cursor {
 public:
  Cursor() = default;
  // For a pass that knows nothing of the one before it.
  [[nodiscard]] static Cursor anywhere();

  void advance(const Owned& attempted);
  // `due`, which is in order, from behind the last one on and around.
  [[nodiscard]] std::vector<Owned> from(std::vector<Owned> due) const;

 private:
  std::optional<Owned> last_;
  std::uint64_t offset_ = 0;  // modulo the number that is due
};

}  // namespace vethgate::docker
