#include "verifier/reach.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace vethgate {
namespace {

// The cut points of one field: each range starts a class at its first value and another behind its
// last.
std::vector<FieldRange> pieces(FieldRange whole, const std::vector<FieldRange>& ranges) {
  std::set<std::uint32_t> starts{whole.first};
  for (const FieldRange& range : ranges) {
    starts.insert(range.first);
    starts.insert(std::uint32_t{range.last} + 1);
  }
  std::vector<FieldRange> result;
  for (auto start = starts.begin(); start != starts.end() && *start <= whole.last; ++start) {
    const auto next = std::next(start);
    const std::uint32_t last =
        next == starts.end() ? whole.last : std::min<std::uint32_t>(*next - 1, whole.last);
    result.push_back({static_cast<std::uint16_t>(*start), static_cast<std::uint16_t>(last)});
  }
  return result;
}

bool hasPorts(const FieldRange& protocol) {
  return protocol == FieldRange{kProtocolTcp, kProtocolTcp} ||
         protocol == FieldRange{kProtocolUdp, kProtocolUdp};
}

}  // namespace

std::vector<Service> partition(Family family, std::span<const Service> services) {
  std::vector<FieldRange> protocols = {{kProtocolTcp, kProtocolTcp}, {kProtocolUdp, kProtocolUdp}};
  if (family == Family::kV6) {
    protocols.push_back({kProtocolIcmpV6, kProtocolIcmpV6});
  }
  std::vector<FieldRange> hopLimits;
  for (const Service& service : services) {
    protocols.push_back(service.protocol);
    hopLimits.push_back(service.hopLimit);
  }
  std::vector<Service> classes;
  for (const FieldRange& protocol : pieces(kAnyByte, protocols)) {
    std::vector<FieldRange> ports;
    std::vector<FieldRange> types;
    for (const Service& service : services) {
      if (service.protocol.contains(protocol)) {
        ports.push_back(service.port);
        types.push_back(service.icmpType);
      }
    }
    const bool hasTypes = protocol == FieldRange{kProtocolIcmpV6, kProtocolIcmpV6};
    for (const FieldRange& port :
         hasPorts(protocol) ? pieces(kAnyPort, ports) : std::vector{kAnyPort}) {
      for (const FieldRange& type : hasTypes ? pieces(kAnyByte, types) : std::vector{kAnyByte}) {
        for (const FieldRange& hopLimit : pieces(kAnyByte, hopLimits)) {
          classes.push_back({protocol, port, type, hopLimit});
        }
      }
    }
  }
  return classes;
}

Reach::Reach(Family family, std::vector<TerminalRule> rules, bool otherwise)
    : family_(family), rules_(std::move(rules)), otherwise_(otherwise) {
  edges_.reserve(2 * rules_.size());
  const AddressNumber last = lastNumber(family_);
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    edges_.push_back({rules_[i].to.first, i, true});
    if (rules_[i].to.last != last) {
      edges_.push_back({rules_[i].to.last + 1, i, false});
    }
  }
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
}

AddressSet Reach::accepted(const Service& service) const {
  // A sweep over the addresses: at each point the lowest-numbered rule that is open there decides.
  std::vector<Interval> accepted;
  std::set<std::uint32_t> open;
  AddressNumber from = 0;
  const auto emit = [&](AddressNumber to) {
    if (open.empty() ? otherwise_ : rules_[*open.begin()].accept) {
      accepted.push_back({from, to});
    }
  };
  for (const Edge& edge : edges_) {
    if (!rules_[edge.rule].service.contains(service)) {
      continue;
    }
    if (edge.at != from) {
      emit(edge.at - 1);
      from = edge.at;
    }
    if (edge.opens) {
      open.insert(edge.rule);
    } else {
      open.erase(edge.rule);
    }
  }
  emit(lastNumber(family_));
  return AddressSet(std::move(accepted));
}

const TerminalRule* Reach::decides(const Service& service, AddressNumber to) const {
  const auto rule = std::find_if(rules_.begin(), rules_.end(), [&](const TerminalRule& candidate) {
    return candidate.service.contains(service) && candidate.to.first <= to &&
           to <= candidate.to.last;
  });
  return rule == rules_.end() ? nullptr : &*rule;
}

}  // namespace vethgate
