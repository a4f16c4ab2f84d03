// SIGTERM, SIGINT and SIGHUP as interrupts of the calls to an engine, so that what was made is
// removed before the process ends. It must not know what is made.
#pragma once

#include "docker/engine/interrupt.hpp"

namespace vethgate::docker {

struct Signals {
  Interrupt first;   // ends what is being done
  Interrupt second;  // gives up removing it, too
};

// From here on to the end of the process; until then such a signal ends it at once. One that the
// process was started to ignore (nohup(1)) stays ignored. Failure(kDefect) when the kernel refuses.
[[nodiscard]] const Signals& takeSignals();

}  // namespace vethgate::docker
