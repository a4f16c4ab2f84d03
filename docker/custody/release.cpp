#include "docker/custody/release.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "docker/custody/custody.hpp"

namespace vethgate::docker {

std::size_t release(const Engine& engine, const std::string& owner, const std::string& job,
                    std::chrono::milliseconds time) {
  const Deadline deadline = Deadline::after(time);
  const Labels wanted{{kOwnerLabel, owner}, {kJobLabel, job}};
  std::set<std::string> seen;
  std::string left;     // by name, from the last list
  std::string problem;  // the last one
  Pause pause;
  try {
    while (true) {
      std::vector<ContainerSummary> found = engine.listContainers(wanted, deadline);
      if (found.empty()) {
        return seen.size();
      }
      std::stable_partition(found.begin(), found.end(), [](const ContainerSummary& one) {
        const auto role = one.labels.find(kRoleLabel);
        return role == one.labels.end() || role->second != kHolderRole;
      });
      left.clear();
      for (const ContainerSummary& one : found) {
        left += " " + quoted(one.names.empty() ? one.id : one.names.front());
      }
      for (const ContainerSummary& one : found) {
        seen.insert(one.id);
        try {
          static_cast<void>(engine.removeContainer(one.id, shareOf(deadline)));
        } catch (const EngineFailure& failure) {
          // The others may still go, and this one the next time.
          if (failure.outcome() != Outcome::kNotSent) {
            problem = failure.what();
          }
        }
      }
      pause.wait(deadline);
    }
  } catch (const EngineFailure& failure) {
    if (left.empty()) {
      throw;
    }
    throw Failure(ExitCode::kEngine,
                  (problem.empty() ? failure.what() : problem) +
                      "; these may still exist, and a sweep removes them:" + left);
  }
}

}  // namespace vethgate::docker
