// vethgate-render: policy and link in, plan or one of its text forms out. No privilege, no sockets.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"
#include "render/render.hpp"

namespace vethgate {
namespace {

std::string emit(const Plan& plan, const std::string& form) {
  if (form == "plan") {
    return planText(plan) + "\n";
  }
  if (form == "iptables-save") {
    return iptablesSaveText(plan);
  }
  if (form == "nft") {
    return nftText(plan);
  }
  return form == "tc" ? tcBatchText(plan) : tableText(plan);
}

int render(int argc, char** argv) {
  std::string linkPath;
  std::string policyPath = "-";
  std::string form;
  CLI::App app("Renders a policy into the plan that vethgate-apply writes.", "vethgate-render");
  app.set_version_flag("--version", VETHGATE_VERSION);
  app.add_option("--link", linkPath, "the link document of vethgate-probe")->required();
  app.add_option("--policy", policyPath, "the policy document; - is standard input");
  app.add_option("--emit", form, "plan, iptables-save, tc, nft or table")
      ->required()
      ->check(CLI::IsMember({"plan", "iptables-save", "tc", "nft", "table"}));
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    badInput(error.what());
  }
  if (linkPath == "-" && policyPath == "-") {
    badInput("link and policy cannot both be read from standard input");
  }
  const Link link =
      readLink(parseDocument(readFile(linkPath, "link", kMaxDocumentBytes), "link"), "link");
  const Policy policy =
      readPolicy(std::string_view(readFile(policyPath, "policy", kMaxDocumentBytes)));
  writeAll(STDOUT_FILENO, emit(renderPlan(policy, link), form));
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace
}  // namespace vethgate

int main(int argc, char** argv) {
  return vethgate::runMain("vethgate-render", [&] { return vethgate::render(argc, argv); });
}
