// What vethgate's establish is measured against: the same containment as people put it together
// today, with the engine's command line program, one container after another, and iptables, tc and
// ip in an image of their own. At its best: a layer's rules go in by one iptables-restore and by
// one tc -batch, not by a process for each rule.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/live/fixture/engine.hpp"

namespace vethgate::bench {

// As vethgate-render prints them.
struct ReferenceRules {
  std::string iptables;  // both families', each line with its family before it
  std::string filters;   // what tc -batch takes
  std::string link;      // the name of the link that they are for
};

// A step's name, and its milliseconds.
using Steps = std::vector<std::pair<std::string, double>>;

class Reference {
 public:
  // Imports an image of this machine's own programs and their libraries.
  explicit Reference(const live::LiveEngine& engine);

  // Makes the namespace of a new holder called `name`. Throws when a step fails, or when what is
  // read back is not as many rules as were put in.
  [[nodiscard]] Steps establish(const std::string& name, const ReferenceRules& rules) const;

 private:
  const live::LiveEngine& engine_;
};

}  // namespace vethgate::bench
