// vethgate-apply: the plan on stdin, into the network namespace that this process is in.
#include <linux/capability.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "applier/apply.hpp"
#include "applier/preconditions.hpp"
#include "base/error.hpp"
#include "base/program.hpp"
#include "confine/confine.hpp"
#include "probe/legacy_tables.hpp"
#include "probe/link_selection.hpp"
#include "probe/namespace.hpp"
#include "render/plan.hpp"

namespace vethgate {
namespace {

std::string answer(const Plan& plan, const Applied& applied, const std::string& digest) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::object();
  if (plan.iptables) {
    layers["iptables"] = {{"v4", applied.v4}, {"v6", applied.v6}};
  }
  if (plan.flower) {
    layers["flower"] = applied.flower;
  }
  if (plan.netdev) {
    layers["netdev"] = applied.netdev;
  }
  const nlohmann::ordered_json document = {{"applied", layers}, {"digest", digest}};
  return document.dump() + "\n";
}

int run(bool dryRun) {
  const auto [plan, digest] = readPlanDocument(readAll(STDIN_FILENO, "plan", kMaxPlanBytes));
  std::vector<Step> steps = buildSteps(plan);
  if (dryRun) {
    lockSyscalls(SeccompProfile::kParse);
    writeAll(STDOUT_FILENO, dryRunText(steps));
    return 0;
  }
  // What needs the file system or a new socket comes before the lock.
  refuseInitialNamespace();
  const std::uint64_t netns = currentNamespace();
  const std::vector<std::string> legacy = legacyTables();
  KernelSockets kernel(steps);
  lockSyscalls(SeccompProfile::kNetlink);

  const Deadline deadline = Deadline::after(kApplyTime);
  const Link measured = selectLink(decodeLinks(dumpLinks(kernel.route(), deadline)), netns);
  refuseLegacyTables(legacy);
  const Applied applied = applyPlan(kernel, plan, measured, std::move(steps), deadline);
  writeAll(STDOUT_FILENO, answer(plan, applied, digest));
  return 0;
}

}  // namespace
}  // namespace vethgate

int main(int argc, char** argv) {
  return vethgate::runMain("vethgate-apply", [&] {
    vethgate::keepOnlyCapabilities({CAP_NET_ADMIN});
    CLI::App app("Writes the plan on stdin into this network namespace.", "vethgate-apply");
    bool dryRun = false;
    app.add_flag("--dry-run", dryRun, "print the messages as hex, send nothing");
    app.set_version_flag("--version", VETHGATE_VERSION);
    try {
      app.parse(argc, argv);
    } catch (const CLI::Success& asked) {
      return app.exit(asked);
    } catch (const CLI::ParseError& error) {
      vethgate::badInput(error.what());
    }
    return vethgate::run(dryRun);
  });
}
