#include "docker/establish/establish.hpp"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <memory>
#include <optional>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "docker/establish/helper.hpp"
#include "docker/establish/holder.hpp"
#include "render/link.hpp"
#include "render/plan.hpp"
#include "render/policy.hpp"
#include "render/render.hpp"

namespace vethgate::docker {
namespace {

// A sweep may remove the containers this long after the job's deadline.
constexpr std::uint64_t kGraceSeconds = 3'600;
constexpr std::uint64_t kLongestJobSeconds = 366 * std::uint64_t{86'400};
// How a container finds the host: docker is asked for this name, podman has its own.
constexpr const char* kDockerHostName = "vethgate-host";
constexpr const char* kPodmanHostName = "host.containers.internal";

using Clock = std::chrono::steady_clock;

class Timings {
 public:
  // Runs `step` and notes how long it took; from several threads at once.
  template <class Step>
  auto of(const char* name, const Step& step) {
    const auto started = Clock::now();
    auto result = step();
    note(name, started);
    return result;
  }
  void note(const char* name, Clock::time_point started) {
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - started).count();
    const std::lock_guard lock(mutex_);
    entries_.emplace_back(name, took);
  }
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> take() {
    const std::lock_guard lock(mutex_);
    return std::move(entries_);
  }

 private:
  std::mutex mutex_;
  std::vector<std::pair<std::string, std::int64_t>> entries_;
};

std::chrono::milliseconds timeFor(std::uint64_t deadline, std::uint64_t now,
                                  std::chrono::milliseconds most) {
  if (deadline <= now) {
    throw Failure(ExitCode::kDeadline, "the request's deadline has passed");
  }
  // One in milliseconds would never come, and what it leaves would never be swept.
  if (deadline - now > kLongestJobSeconds) {
    badInput("request.deadline is " + std::to_string(deadline) +
             ", more than 366 days from now; expected seconds since 1970");
  }
  const auto whole = static_cast<std::uint64_t>(most.count() / 1'000);
  return deadline - now > whole ? most : std::chrono::milliseconds((deadline - now) * 1'000);
}

std::uint64_t stampFor(std::uint64_t deadline) {
  constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();
  return deadline > kLast - kGraceSeconds ? kLast : deadline + kGraceSeconds;
}

Json parsed(const std::string& text, const std::string& what) {
  try {
    return parseDocument(text, what, kMaxStdoutBytes);
  } catch (const Failure& failure) {
    throw Failure(ExitCode::kRefused, failure.what());
  }
}

// Reading what a helper said: a document of ours that is not one is a refusal, whoever made it.
template <class Read>
auto reading(const Read& read) {
  try {
    return read();
  } catch (const Failure& failure) {
    if (failure.code() == ExitCode::kBadInput) {
      throw Failure(ExitCode::kRefused, failure.what());
    }
    throw;
  }
}

template <class Value, class Parse>
void readList(const Json& list, const std::string& path, std::vector<Value>& into,
              const Parse& parse) {
  for (const Json& entry : asArray(list, path)) {
    into.push_back(parse(asText(entry, path)));
  }
}

Address addressOf(const std::string& text) {
  const std::optional<Address> address = Address::parse(text);
  if (!address) {
    badInput("\"" + text + "\" is no address");
  }
  return *address;
}

class Attempt {
 public:
  Attempt(const Engine& engine, const Engine& removing, const EstablishRequest& request,
          std::uint64_t now, const TimeLimits& limits)
      : engine_(engine),
        request_(request),
        limits_(limits),
        deadline_(Deadline::after(timeFor(request.deadline, now, limits.attempt))),
        removeAfter_(stampFor(request.deadline)),
        custody_(engine, removing,
                 {{kOwnerLabel, request.owner},
                  {kJobLabel, request.job},
                  {kRemoveAfterLabel, std::to_string(removeAfter_)}}) {}

  Established run() {
    const auto started = Clock::now();
    inspectEngine();
    try {
      Established made = build();
      timings_.note("all", started);
      made.timings = timings_.take();
      return made;
    } catch (const Failure& failure) {
      end(failure);
    } catch (const std::exception& error) {
      end(Failure(ExitCode::kDefect, error.what()));
    }
  }

 private:
  // Removes everything, and says what that came to.
  [[noreturn]] void end(const Failure& reason) {
    const bool cancelled = engine_.interrupted();
    const ExitCode code = cancelled ? ExitCode::kDeadline : reason.code();
    const std::string text = "job " + request_.job + " of " + request_.owner + ": " +
                             (cancelled ? "a signal ended the attempt" : reason.what());
    const Remainder remainder =
        custody_.removeAll("", Deadline::after(limits_.removal), limits_.settle);
    if (remainder.empty()) {
      throw Failure(code, text + "; nothing of the attempt is left");
    }
    throw Failure(code == ExitCode::kDeadline ? code : ExitCode::kEngine, text + remainder.text());
  }

  // Before anything exists.
  void inspectEngine() {
    const Version version = engine_.version(deadline_);
    podman_ = version.podman;
    surrounding_ = surroundingOf(engine_, podman_, request_.job, request_.helperImage, deadline_);
    // By their ids from here on: what a name stands for may change in between.
    holderImage_ = imageId(request_.holderImage);
    surrounding_.image = imageId(request_.helperImage);
    const std::optional<Network> network = engine_.findNetwork(request_.network, deadline_);
    if (!network) {
      badInput("request.network is \"" + request_.network + "\", which the engine does not have");
    }
    if (network->driver != "bridge") {
      badInput("request.network is \"" + request_.network + "\" of driver \"" +
               quoted(network->driver) + "\", expected bridge, which gives a veth");
    }
    for (const Subnet& subnet : network->subnets) {
      subnets_.push_back(
          reading([&] { return Prefix::parse(subnet.subnet, "the network's subnet"); }));
    }
  }

  std::string imageId(const std::string& name) {
    const std::optional<Image> image = engine_.findImage(name, deadline_);
    if (!image) {
      throw Failure(ExitCode::kUnsupported,
                    "the engine has no image \"" + name + "\": load it; nothing was touched");
    }
    return image->id;
  }

  Established build() {
    // The host is measured while the holder starts.
    std::future<HostFacts> measured =
        std::async(std::launch::async, [this] { return measureHost(); });
    try {
      const Holder started = startHolder();
      const std::string& holder = started.record.id;
      std::future<Helper> applier = std::async(
          std::launch::async, [&] { return helperFor("apply", holder, {"/vethgate-apply"}); });
      std::future<Helper> verifier = std::async(
          std::launch::async, [&] { return helperFor("verify", holder, {"/vethgate-verify"}); });
      const Json found = parsed(started.said, "probe");
      HostFacts host = measured.get();
      const Link link = reading([&] {
        ObjectReader reader(found, "probe");
        readList(reader.required("host"), reader.pathOf("host"), host.gateway, addressOf);
        Link read = readLink(reader.required("link"), reader.pathOf("link"));
        reader.finish();
        return read;
      });

      const Json document = effectivePolicy(request_, host);
      const Policy policy = readPolicy(document);
      const Plan plan = renderPlan(policy, link);
      checkApplied(
          parsed(timings_.of("apply", [&] { return applier.get().run(planText(plan), deadline_); }),
                 "apply"),
          plan);
      const Json question = {{"policy", document}, {"link", linkDocument(link)}};
      const Json verdict = verified(verifier.get(), question);
      checkVerdict(verdict, policy, plan, link);
      // The namespace that was judged is the one that the job will join.
      expectSameHolder(started.record, holderNow(holder));
      // Part of the attempt, and no more patient with the engine than any other removal.
      const auto patience =
          std::min(limits_.removal, std::chrono::milliseconds(deadline_.remainingMs()));
      const auto left = timings_.of(
          "tidy", [&] { return custody_.removeAll(holder, Deadline::after(patience)); });
      if (!left.empty()) {
        throw Failure(ExitCode::kEngine, "its helpers could not be removed in time");
      }
      if (engine_.interrupted() || deadline_.passed()) {
        throw Failure(ExitCode::kDeadline, "the answer came too late");
      }
      Labels labels = custody_.labels();
      labels[kRoleLabel] = kJobRole;
      return {holderName(request_.job), holder,       document, verdict, planDigest(plan),
              policy.resolvers,         removeAfter_, labels,   {}};
    } catch (...) {
      // Nothing may be created any more once removal starts.
      if (measured.valid()) {
        measured.wait();
      }
      throw;
    }
  }

  HostFacts measureHost() {
    HostFacts host;
    const Json found =
        parsed(timings_.of("host",
                           [&] {
                             return Helper(engine_, custody_, surrounding_,
                                           {.verb = "host",
                                            .command = {"/vethgate-probe", "--addresses"},
                                            .network = "host"},
                                           deadline_)
                                 .run("", deadline_);
                           }),
               "host");
    reading([&] {
      ObjectReader reader(found, "host");
      readList(reader.required("own"), reader.pathOf("own"), host.own, addressOf);
      readList(reader.required("onLink"), reader.pathOf("onLink"), host.onLink,
               [](const std::string& text) { return Prefix::parse(text, "host.onLink"); });
      reader.finish();
      return 0;
    });
    host.onLink.insert(host.onLink.end(), subnets_.begin(), subnets_.end());
    return host;
  }

  struct Holder {
    Container record;
    std::string said;  // what its namespace holds
  };

  // The holder says itself what the namespace holds, before anything else can be in it.
  Holder startHolder() {
    ContainerSpec spec;
    spec.name = holderName(request_.job);
    spec.image = holderImage_;
    spec.command = {"/vethgate-hold", "--probe", podman_ ? kPodmanHostName : kDockerHostName};
    spec.network = request_.network;
    spec.user = kNobody;
    spec.seccomp = surrounding_.seccomp;
    spec.runtime = surrounding_.runtime;
    if (!podman_) {
      spec.extraHosts = {std::string(kDockerHostName) + ":host-gateway"};
    }
    const auto created = Clock::now();
    const std::string id = custody_.create(spec, kHolderRole, deadline_);
    Attachment streams = engine_.attach(id, false, deadline_);
    engine_.startContainer(id, deadline_);
    timings_.note("holder", created);
    Output said = timings_.of(
        "probe", [&] { return streams.converse("", deadline_, Attachment::Until::kLine); });
    if (said.out.find('\n') == std::string::npos) {
      refuseSilentHolder(id, std::move(said));
    }
    Container record = holderNow(id);
    expectHolder(record, spec, podman_);
    return {std::move(record), std::move(said.out)};
  }

  // Not by waiting for its end: an engine that cut its streams off may have left it running.
  [[noreturn]] void refuseSilentHolder(const std::string& id, Output said) const {
    const std::optional<Container> now = engine_.findContainer(id, deadline_);
    if (!now || now->running) {
      throw Failure(ExitCode::kEngine, "step probe: the holder's streams ended before its answer");
    }
    if (now->exitCode == 0) {
      throw Failure(ExitCode::kRefused, "step probe: the holder ended without an answer");
    }
    refuseEnd("probe", {static_cast<int>(now->exitCode), std::move(said)});
  }

  Helper helperFor(const char* verb, const std::string& holder, std::vector<std::string> command) {
    return Helper(engine_, custody_, surrounding_,
                  {.verb = verb,
                   .command = std::move(command),
                   .network = "container:" + holder,
                   .netAdmin = true,
                   .takesInput = true},
                  deadline_);
  }

  Json verified(Helper verifier, const Json& question) {
    const Ended ended = timings_.of(
        "verify", [&] { return verifier.complete(canonicalText(question), deadline_); });
    if (ended.status != static_cast<int>(ExitCode::kDone)) {
      // The namespace is about to go, and with it every other way to learn what was found in it.
      Json verdict;
      try {
        verdict = parsed(ended.said.out, "verify");
      } catch (const Failure&) {
        // It is no document. How the verifier ended is said below.
      }
      logEvent(LogLevel::kError, "establish.refused",
               {{"owner", request_.owner}, {"job", request_.job}, {"verdict", verdict}});
      verifier.refuse(ended);
    }
    return parsed(ended.said.out, "verify");
  }

  static void checkApplied(const Json& answer, const Plan& plan) {
    Json layers = Json::object();
    if (plan.iptables) {
      layers["iptables"] = {{"v4", plan.iptables->v4.size()}, {"v6", plan.iptables->v6.size()}};
    }
    if (plan.flower) {
      layers["flower"] = plan.flower->size();
    }
    if (plan.netdev) {
      layers["netdev"] = plan.netdev->size();
    }
    const Json expected = {{"applied", layers}, {"digest", planDigest(plan)}};
    if (answer != expected) {
      throw Failure(ExitCode::kRefused, "step apply: the answer is " +
                                            quoted(canonicalText(answer)) + ", expected " +
                                            canonicalText(expected));
    }
  }

  static void checkVerdict(const Json& verdict, const Policy& policy, const Plan& plan,
                           const Link& link) {
    const Json counts = {{"iptables",
                          {{"v4", plan.iptables ? plan.iptables->v4.size() : 0},
                           {"v6", plan.iptables ? plan.iptables->v6.size() : 0}}},
                         {"flower", plan.flower ? plan.flower->size() : 0},
                         {"netdev", plan.netdev ? plan.netdev->size() : 0}};
    const auto expect = [&](const char* field, const Json& expected) {
      if (!verdict.is_object() || !verdict.contains(field) || verdict[field] != expected) {
        throw Failure(ExitCode::kRefused, "step verify: the verdict's \"" + std::string(field) +
                                              "\" is not " + canonicalText(expected) + ": " +
                                              quoted(canonicalText(verdict)));
      }
    };
    expect("verdict", "contained");
    expect("policy", policy.digest);
    expect("counts", counts);
    expect("link", linkDocument(link));
    expect("reasons", Json::array());
    reading([&] {
      ObjectReader reader(verdict, "verdict");
      const auto text = [&](const char* field) {
        return asText(reader.required(field), reader.pathOf(field));
      };
      if (!isSha256Hex(text("readback"))) {
        badInput("verdict.readback is no SHA-256 digest");
      }
      static_cast<void>(text("kernel"));
      for (const Json& entry : asArray(reader.required("unchecked"), "verdict.unchecked")) {
        static_cast<void>(asText(entry, "verdict.unchecked"));
      }
      ObjectReader engine(reader.required("engine"), "verdict.engine");
      if (const Json& resolver = engine.required("resolver"); !resolver.is_null()) {
        ObjectReader ports(resolver, "verdict.engine.resolver");
        for (const char* protocol : {"udp", "tcp"}) {
          static_cast<void>(asInteger(ports.required(protocol), ports.pathOf(protocol), 1, 65'535));
        }
        ports.finish();
      }
      engine.finish();
      return 0;
    });
  }

  Container holderNow(const std::string& id) {
    std::optional<Container> now = engine_.findContainer(id, deadline_);
    if (!now || !now->running) {
      throw Failure(ExitCode::kEngine,
                    "the holder " + holderName(request_.job) +
                        " does not run any more, and its namespace is gone with it");
    }
    return std::move(*now);
  }

  const Engine& engine_;
  const EstablishRequest& request_;
  TimeLimits limits_;
  Deadline deadline_;
  std::uint64_t removeAfter_;
  Custody custody_;
  Surrounding surrounding_;
  std::string holderImage_;  // its id
  bool podman_ = false;
  std::vector<Prefix> subnets_;
  Timings timings_;
};

}  // namespace

Established establish(const Engine& engine, const Engine& removing, const EstablishRequest& request,
                      std::uint64_t now, const TimeLimits& limits) {
  return Attempt(engine, removing, request, now, limits).run();
}

Established establish(const Engine& engine, const EstablishRequest& request, std::uint64_t now,
                      const TimeLimits& limits) {
  return establish(engine, Engine(engine.socket()), request, now, limits);
}

std::string answerText(const EstablishRequest& request, const Established& made) {
  std::string resolvers = "options ndots:0\n";
  for (const Address& resolver : made.resolvers) {
    resolvers += "nameserver " + resolver.text() + "\n";
  }
  nlohmann::ordered_json timings = nlohmann::ordered_json::object();
  for (const auto& [step, milliseconds] : made.timings) {
    timings[step] = milliseconds;
  }
  const nlohmann::ordered_json answer = {
      {"job", request.job},
      {"owner", request.owner},
      {"holder", made.holder},
      {"id", made.id},
      {"network_mode", "container:" + made.id},
      {"labels", made.labels},
      {"resolv_conf", resolvers},
      {"deadline", request.deadline},
      {"remove_after", made.removeAfter},
      {"link", made.verdict.at("link")},
      {"policy", made.policy},
      {"digests",
       {{"policy", made.verdict.at("policy")},
        {"plan", made.plan},
        {"readback", made.verdict.at("readback")}}},
      {"counts", made.verdict.at("counts")},
      {"unchecked", made.verdict.value("unchecked", Json::array())},
      {"engine", made.verdict.value("engine", Json())},
      {"kernel", made.verdict.at("kernel")},
      {"timings", timings}};
  return answer.dump() + "\n";
}

}  // namespace vethgate::docker
