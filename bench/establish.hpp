// The worker's one call against a real engine: how long it takes, beside the same containment by
// docker's command line program, and what becomes of many at once.
#pragma once

namespace vethgate::bench {

// The rounds are interleaved. Throws when anything fails: a failure has no speed.
void benchEstablish(int rounds);
// All at once, on one engine: how many are answered, how many refused and how. Throws when anything
// is left once each job has been released.
void benchConcurrent(int count);

}  // namespace vethgate::bench
