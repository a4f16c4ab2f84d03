// The question, the helper that answers it, and what its answer must be.
#include <chrono>
#include <random>
#include <utility>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "docker/custody/custody.hpp"
#include "docker/custody/release.hpp"
#include "docker/establish/helper.hpp"
#include "docker/establish/request.hpp"
#include "docker/status/status.hpp"
#include "render/link.hpp"
#include "render/policy.hpp"

namespace vethgate::docker {
namespace {

constexpr std::chrono::milliseconds kExamineTime{60'000};
// A sweep may take a helper whose caller died this long after it was made.
constexpr std::uint64_t kHelperSeconds = 600;

// Two at once for one job do not meet in one name.
std::string freshVerb() {
  std::random_device source;
  return "status-" + std::to_string(source());
}

void checkLabels(const Container& holder, const Subject& subject) {
  const auto expect = [&](const char* label, const std::string& expected) {
    const auto entry = holder.labels.find(label);
    if (entry == holder.labels.end() || entry->second != expected) {
      throw Failure(ExitCode::kWrongNamespace,
                    "container " + subject.id + " has the label " + label + "=" +
                        (entry == holder.labels.end() ? "" : quoted(entry->second)) +
                        ", expected " + expected + ": it is not this job's holder");
    }
  };
  expect(kOwnerLabel, subject.owner);
  expect(kJobLabel, subject.job);
  expect(kRoleLabel, kHolderRole);
}

// The verifier's document must be about what was asked, and say what its exit status says.
Json checkedVerdict(const Ended& ended, const Subject& subject) {
  Json verdict;
  try {
    verdict = parseDocument(ended.said.out, "verdict", kMaxStdoutBytes);
  } catch (const Failure& failure) {
    throw Failure(ExitCode::kRefused, failure.what());
  }
  const bool contained = ended.status == static_cast<int>(ExitCode::kDone);
  const auto expect = [&](const char* field, const Json& expected) {
    if (!verdict.is_object() || !verdict.contains(field) || verdict[field] != expected) {
      throw Failure(ExitCode::kRefused, "the verdict's \"" + std::string(field) + "\" is not " +
                                            canonicalText(expected) + ", which exit " +
                                            std::to_string(ended.status) +
                                            " of the verifier goes with");
    }
  };
  expect("verdict", contained ? "contained" : "refused");
  expect("policy", readPolicy(subject.policy).digest);
  expect("link", subject.link);
  return verdict;
}

Ended verifyNow(const Engine& engine, Custody& custody, const Subject& subject,
                const std::string& image, const Deadline& deadline) {
  const Surrounding surrounding =
      surroundingOf(engine, engine.version(deadline).podman, subject.job, image, deadline);
  Helper verifier(engine, custody, surrounding,
                  {.verb = freshVerb(),
                   .command = {"/vethgate-verify"},
                   .network = "container:" + subject.id,
                   .netAdmin = true,
                   .takesInput = true},
                  deadline);
  const Json question = {{"policy", subject.policy}, {"link", subject.link}};
  Ended ended = verifier.complete(canonicalText(question), deadline);
  switch (static_cast<ExitCode>(ended.status)) {
    case ExitCode::kDone:
    case ExitCode::kRefused:
    case ExitCode::kWrongNamespace:
      if (!ended.said.out.empty()) {
        return ended;
      }
      break;
    default:
      break;
  }
  verifier.refuse(ended);
}

}  // namespace

Subject readSubject(std::string_view text, const std::string& job, const std::string& owner) {
  const Json document = parseDocument(text, "answer");
  ObjectReader reader(document, "answer");
  Subject subject;
  const auto expected = [&](const char* key, const std::string& wanted) {
    const std::string& found =
        checkedId(asText(reader.required(key), reader.pathOf(key)), reader.pathOf(key));
    if (found != wanted) {
      badInput(reader.pathOf(key) + " is \"" + found + "\", expected \"" + wanted +
               "\": this is another job's answer");
    }
    return found;
  };
  subject.job = expected("job", job);
  subject.owner = expected("owner", owner);
  subject.id = asText(reader.required("id"), reader.pathOf("id"));
  if (!isSha256Hex(subject.id)) {
    badInput(reader.pathOf("id") + " is \"" + subject.id + "\", expected 64 hexadecimal digits");
  }
  subject.deadline = asInteger(reader.required("deadline"), reader.pathOf("deadline"), 1,
                               std::numeric_limits<std::int64_t>::max());
  subject.policy = reader.required("policy");
  static_cast<void>(readPolicy(subject.policy));
  // In the one form that the verdict repeats.
  subject.link = linkDocument(readLink(reader.required("link"), reader.pathOf("link")));
  return subject;
}

Status examine(const Engine& engine, const Subject& subject, const std::string& image,
               std::uint64_t now) {
  const Deadline deadline = Deadline::after(kExamineTime);
  Status status;
  status.subject = subject;
  const std::optional<Container> holder = engine.findContainer(subject.id, deadline);
  if (!holder) {
    return status;
  }
  checkLabels(*holder, subject);
  status.holder = holder->status;
  status.created = unixSecond(holder->created);
  status.removeAfter = stampOf(holder->labels);
  if (!holder->running) {
    return status;
  }

  Custody custody(engine, Engine(engine.socket()),
                  {{kOwnerLabel, subject.owner},
                   {kJobLabel, subject.job},
                   {kRemoveAfterLabel, std::to_string(now + kHelperSeconds)}});
  const auto removal = [&] { return custody.removeAll("", Deadline::after(kRemovalTime)).text(); };
  Ended ended;
  try {
    ended = verifyNow(engine, custody, subject, image, deadline);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), failure.what() + removal());
  }
  if (const std::string left = removal(); !left.empty()) {
    throw Failure(ExitCode::kEngine, "the namespace was judged" + left);
  }
  status.verdict = checkedVerdict(ended, subject);
  status.code = static_cast<ExitCode>(ended.status);
  return status;
}

}  // namespace vethgate::docker
