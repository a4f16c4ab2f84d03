// vethgate: the worker's command. It must not know how a namespace is contained, only whom to ask.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/program.hpp"
#include "docker/command/commands.hpp"
#include "docker/custody/release.hpp"
#include "docker/engine/engine.hpp"
#include "docker/establish/request.hpp"
#include "docker/sweep/watch.hpp"

namespace vethgate::docker {

std::uint64_t unixNow() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                        std::chrono::system_clock::now().time_since_epoch())
                                        .count());
}

namespace {

constexpr const char* kImage = "vethgate:" VETHGATE_VERSION;

int runRelease(const std::string& socket, const std::string& owner, const std::string& job,
               std::uint64_t within) {
  static_cast<void>(checkedId(owner, "--owner"));
  static_cast<void>(checkedId(job, "JOB"));
  const Engine engine(socket);
  // Removal is patient with an engine that does not answer; a wrong path is said at once.
  const std::chrono::milliseconds most = std::chrono::seconds(within);
  engine.ping(Deadline::after(std::min(most, kRemovalTime)));
  const std::size_t removed = release(engine, owner, job, most);
  writeAll(STDOUT_FILENO, R"({"released":)" + std::to_string(removed) + "}\n");
  if (removed == 0) {
    tell("vethgate", "nothing of job " + job + " is " + owner + "'s");
  }
  return static_cast<int>(ExitCode::kDone);
}

int run(int argc, char** argv) {
  CLI::App app("Contained network namespaces for jobs, in a container engine.", "vethgate");
  app.set_version_flag("--version", VETHGATE_VERSION);
  app.require_subcommand(1);
  std::string socket = kDefaultSocket;
  std::string owner;
  std::string job;
  const auto command = [&](const char* name, const char* what) {
    CLI::App* const sub = app.add_subcommand(name, what);
    sub->add_option("--engine", socket,
                    "the engine's unix socket, " + std::string(kDefaultSocket) + " unless given");
    return sub;
  };
  CLI::App* const establishing =
      command("establish", "reads a request, makes and proves a contained namespace, and answers");
  CLI::App* const releasing =
      command("release", "removes every container of a job, if there are any");
  releasing->add_option("JOB", job, "the job's id")->required();
  releasing->add_option("--owner", owner, "whose job it is")->required();
  auto within = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(kRemovalTime).count());
  releasing->add_option("--within", within, "seconds that it may take")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{1}, static_cast<std::uint64_t>(kLongestAttempt.count())));
  StatusOptions status;
  CLI::App* const looking =
      command("status", "reads the answer of establish, and judges the job's namespace again");
  looking->add_option("JOB", status.job, "the job's id")->required();
  looking->add_option("--owner", status.owner, "whose job it is")->required();
  SweepCommand sweeping;
  CLI::App* const sweep =
      command("sweep", "removes what is the owner's, past its time, and not in use by another");
  CLI::App* const reap =
      command("reap", "removes the owner's holders that no container uses; before its first job");
  for (CLI::App* const sub : {sweep, reap}) {
    sub->add_option("--owner", owner, "whose containers, one owner's")->required();
    sub->add_flag("--dry-run", sweeping.dryRun, "remove nothing, and report what would be");
  }
  sweep
      ->add_flag("--watch", sweeping.watch,
                 "go on until a signal, a pass every --interval; the log says what they did")
      ->excludes(sweep->get_option("--dry-run"));
  sweeping.interval = static_cast<std::uint64_t>(kSweepInterval.count());
  constexpr std::uint64_t kLeastInterval = 10;
  constexpr std::uint64_t kMostInterval = 3'600;
  sweep->add_option("--interval", sweeping.interval, "seconds from one pass to the next")
      ->capture_default_str()
      ->check(CLI::Range(kLeastInterval, kMostInterval))
      ->needs(sweep->get_option("--watch"));
  CLI::App* const explaining =
      app.add_subcommand("explain", "reads a policy, and prints its rules with their reasons");
  std::string image = kImage;
  CLI::App* const examining =
      command("doctor", "says whether this host can hold a job, and what to do where it cannot");
  for (CLI::App* const sub : {looking, examining}) {
    sub->add_option("--image", image, "the helpers' image, " + image + " unless given");
  }
  bool json = false;
  CLI::App* const proving = app.add_subcommand("evidence", "the record of what live runs measured");
  proving->require_subcommand(1);
  CLI::App* const checking =
      proving->add_subcommand("check", "judges a record by the logs that it names");
  CLI::App* const writing = proving->add_subcommand("write", "makes a record of logs");
  std::string record;
  std::string root;
  std::vector<std::string> logs;
  for (CLI::App* const sub : {checking, writing}) {
    sub->add_option("RECORD", record, "the record's file")->required();
  }
  checking->add_option("--root", root, "the build whose programs the record must be about");
  writing->add_option("LOG", logs, "whole logs of live-tests, beneath the record's folder")
      ->required();
  for (CLI::App* const sub : {looking, explaining, examining, checking}) {
    sub->add_flag("--json", json, "print one document for programs");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    badInput(error.what());
  }
  if (*looking) {
    status.socket = socket;
    status.image = image;
    status.json = json;
    return runStatus(status);
  }
  if (*explaining) {
    return runExplain(json);
  }
  if (*examining) {
    return runDoctor(socket, image, json);
  }
  if (*checking) {
    return runEvidenceCheck(record, root, json);
  }
  if (*writing) {
    return runEvidenceWrite(record, logs);
  }
  if (*sweep || *reap) {
    sweeping.socket = socket;
    sweeping.owner = owner;
    return *sweep ? runSweep(sweeping) : runReap(sweeping);
  }
  return *establishing ? runEstablish(socket, kImage) : runRelease(socket, owner, job, within);
}

}  // namespace
}  // namespace vethgate::docker

int main(int argc, char** argv) {
  return vethgate::runMain("vethgate", [&] { return vethgate::docker::run(argc, argv); });
}
