// Every single change within one message. It is changed in place, shown, and put back.
#pragma once

#include "mutants.hpp"

namespace vethgate::test {

// Throws std::logic_error when a change changes nothing, and what dissect() throws.
void forEachMutantOf(RawMessage& message, const Place& place, const Show& show);

}  // namespace vethgate::test
