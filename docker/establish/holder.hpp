// Whether the engine's record of a holder is the one that was asked for, and whether it is still
// the one that it was. It must not know what runs beside it.
#pragma once

#include "docker/engine/types.hpp"

namespace vethgate::docker {

// Failure(kEngine) names the first thing that is not as `asked`. In podman's record, whose names
// and lists are not those that were asked for, it looks at the state, the root, added privileges
// and that the network is the holder's own.
void expectHolder(const Container& found, const ContainerSpec& asked, bool podman);

// Failure(kEngine) when `now` is not the process that `before` was: one that was started again has
// its id and another namespace, with no rules in it.
void expectSameHolder(const Container& before, const Container& now);

}  // namespace vethgate::docker
