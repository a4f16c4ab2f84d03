// The second judgement: does what the kernel holds let out exactly what the policy means?
// It does not use the renderer, nor the tables of prefixes that the renderer goes by. One side is
// computed from decoded kernel rules (reach.hpp), the other from the policy's words by set algebra,
// with what the named sets stand for stated a second time (named_sets.hpp); a mistake in the
// rendering that all layers share shows here, and so does a prefix that a set has lost.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.hpp"
#include "render/plan.hpp"
#include "render/policy.hpp"
#include "verifier/reach.hpp"

namespace vethgate {

// A smallest packet on which a layer and the policy disagree.
struct Counterexample {
  std::string layer;  // "iptables", "flower" or "netdev"
  Family family = Family::kV4;
  Service service = {};
  AddressNumber to = 0;
  bool leaves = false;         // what the layer does with it; the policy says the opposite
  std::string decidedBy = {};  // the rule's place, or that no rule matches
  std::string frames =
      {};  // not empty: a whole ethertype is the example, and no field above counts
  // E.g. "tcp 10.0.0.1:22 may leave by flower pref 104 handle 0x1; the policy denies it".
  [[nodiscard]] std::string text() const;
};

// What a layer holds: terminal rules per family, and for the veth layers the frames that are not
// IP.
struct LayerReach {
  std::string name;
  Reach v4;
  Reach v6;
  bool onTheWire =
      false;  // judges frames of the veth: loopback may not leave, other ethertypes exist
  std::optional<bool> arpLeaves;         // onTheWire only; of the job's own, where senders count
  std::optional<bool> otherFramesLeave;  // onTheWire only: any ethertype but ARP, IPv4, IPv6
  bool arpExpected = true;               // false: there is no address that the job could speak for
  std::optional<std::string> foreignArp{};  // ARP that leaves though it is not the job's own
};
[[nodiscard]] LayerReach iptablesReach(const Plan::Iptables& rules);
[[nodiscard]] LayerReach flowerReach(const std::vector<FlowerFilter>& filters);
// The layer limits ARP to the link's own addresses, which the other one lets pass as such.
[[nodiscard]] LayerReach netdevReach(const std::vector<NetdevRule>& rules, const Link& link);

// What the policy means: addresses that packets of one class may be sent to.
class PolicyMeaning {
 public:
  explicit PolicyMeaning(const Policy& policy);
  [[nodiscard]] const std::vector<Service>& services(Family family) const;  // all that it names
  [[nodiscard]] AddressSet allowed(Family family, const Service& service, bool onTheWire) const;

 private:
  struct Opening {
    Interval to;
    Service service;
  };
  struct OneFamily {
    std::vector<Opening> openings;       // allow, resolvers, neighbour discovery
    std::vector<Service> defaultPasses;  // services that pass to whatever is not denied
    AddressSet metadata;
    AddressSet denied;
    AddressSet loopback;
    std::vector<Service> services;
  };
  [[nodiscard]] const OneFamily& of(Family family) const {
    return family == Family::kV4 ? v4_ : v6_;
  }
  OneFamily v4_;
  OneFamily v6_;
};

// nullopt when layer and policy agree on every packet. The work grows with the number of distinct
// services times the number of rules: Failure(kDeadline) when it takes too long.
[[nodiscard]] std::optional<Counterexample> disagreement(const PolicyMeaning& meaning,
                                                         const LayerReach& layer,
                                                         const Deadline& deadline);
// For people: per class of service, where it may go.
[[nodiscard]] std::string explainText(const PolicyMeaning& meaning, const LayerReach& layer);

}  // namespace vethgate
