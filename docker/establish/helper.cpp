#include "docker/establish/helper.hpp"

#include <utility>

#include "base/error.hpp"
#include "docker/establish/seccomp_profile.hpp"

namespace vethgate::docker {
namespace {

constexpr const char* kRoot = "0:0";

std::string lastLine(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) {
    return "it said nothing";
  }
  const std::size_t before = text.find_last_of('\n', end);
  return text.substr(before == std::string::npos ? 0 : before + 1, end - before);
}

}  // namespace

std::optional<std::string> hostRuntime(const Info& info) {
  for (const char* wanted : {"runc", "crun"}) {
    for (const Runtime& runtime : info.runtimes) {
      if (runtime.name == wanted) {
        return wanted;
      }
    }
  }
  return std::nullopt;
}

Surrounding surroundingOf(const Engine& engine, bool podman, const std::string& job,
                          const std::string& image, const Deadline& deadline) {
  Surrounding surrounding{job, image, "", ""};
  if (!podman) {  // whose service has one runtime, and passes over what is asked for
    const std::optional<std::string> runtime = hostRuntime(engine.info(deadline));
    if (!runtime) {
      throw Failure(ExitCode::kUnsupported,
                    "the engine has neither runc nor crun, and helpers need one of them");
    }
    surrounding.runtime = *runtime;
    surrounding.seccomp = kSeccompProfile;
  }
  return surrounding;
}

ContainerSpec containerOf(const Surrounding& surrounding, const HelperSpec& spec) {
  ContainerSpec container;
  container.name = helperName(surrounding.job, spec.verb);
  container.image = surrounding.image;
  container.command = spec.command;
  container.network = spec.network;
  container.user = spec.netAdmin ? kRoot : kNobody;
  if (spec.netAdmin) {
    container.capabilities = {"NET_ADMIN"};
  }
  container.seccomp = surrounding.seccomp;
  container.takesInput = spec.takesInput;
  container.runtime = surrounding.runtime;
  return container;
}

Helper::Helper(const Engine& engine, Custody& custody, const Surrounding& surrounding,
               HelperSpec spec, const Deadline& deadline)
    : engine_(engine),
      custody_(custody),
      spec_(std::move(spec)),
      id_(custody.create(containerOf(surrounding, spec_), kHelperRole, deadline)) {}

std::string Helper::run(std::string_view input, const Deadline& deadline) {
  Ended ended = complete(input, deadline);
  if (ended.status != static_cast<int>(ExitCode::kDone)) {
    refuse(ended);
  }
  return std::move(ended.said.out);
}

Ended Helper::complete(std::string_view input, const Deadline& deadline) {
  Attachment streams = engine_.attach(id_, spec_.takesInput, deadline);
  engine_.startContainer(id_, deadline);
  Output said = streams.converse(input, deadline);
  const int status = engine_.waitContainer(id_, deadline);
  custody_.discard(id_, shareOf(deadline));
  return {status, std::move(said)};
}

void refuseEnd(const std::string& verb, const Ended& ended) {
  const std::string sentence = "step " + verb + ": exit " + std::to_string(ended.status) + ", " +
                               quoted(lastLine(ended.said.err));
  const bool ours = ended.status <= static_cast<int>(ExitCode::kDeadline);
  throw Failure(ours ? static_cast<ExitCode>(ended.status) : ExitCode::kEngine, sentence);
}

}  // namespace vethgate::docker
