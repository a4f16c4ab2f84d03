#include "docker/establish/request.hpp"

#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "docker/engine/requests.hpp"
#include "docker/establish/host_gateway.hpp"
#include "render/policy.hpp"

namespace vethgate::docker {
namespace {

constexpr std::size_t kMaxId = 64;

Policy policyWith(const Json& policy, const std::string& whatChanged) {
  try {
    return readPolicy(policy);
  } catch (const Failure& failure) {
    badInput(whatChanged + ": " + failure.what());
  }
}

}  // namespace

const std::string& checkedId(const std::string& text, const std::string& path) {
  static_cast<void>(checkedName(text, path));
  if (text.size() > kMaxId) {
    badInput(path + " is " + std::to_string(text.size()) + " characters long, at most " +
             std::to_string(kMaxId) + " are accepted");
  }
  return text;
}

EstablishRequest readRequest(std::string_view text, const std::string& image) {
  const Json document = parseDocument(text, "request");
  ObjectReader reader(document, "request");
  static_cast<void>(asInteger(reader.required("version"), reader.pathOf("version"), 1, 1));
  EstablishRequest request;
  const auto id = [&](const char* key) {
    const std::string path = reader.pathOf(key);
    return checkedId(asText(reader.required(key), path), path);
  };
  request.job = id("job");
  request.owner = id("owner");
  request.network = checkedName(asText(reader.required("network"), reader.pathOf("network")),
                                reader.pathOf("network"));
  // Each of these is a namespace that is somebody else's, or no network at all.
  for (const char* special : {"host", "none", "container"}) {
    if (request.network == special) {
      badInput(reader.pathOf("network") + " is \"" + request.network +
               "\", expected a network with a bridge");
    }
  }
  request.deadline = asInteger(reader.required("deadline"), reader.pathOf("deadline"), 1,
                               std::numeric_limits<std::int64_t>::max());
  if (const Json* within = reader.optional("within")) {
    request.within = std::chrono::seconds(asInteger(
        *within, reader.pathOf("within"), 1, static_cast<std::uint64_t>(kLongestAttempt.count())));
  }
  request.holderImage = request.helperImage = image;
  if (const Json* images = reader.optional("images")) {
    ObjectReader names(*images, reader.pathOf("images"));
    request.holderImage = checkedImage(asText(names.required("holder"), names.pathOf("holder")));
    request.helperImage = checkedImage(asText(names.required("helper"), names.pathOf("helper")));
    names.finish();
  }
  request.policy = reader.required("policy");
  reader.finish();

  Json trial = request.policy;
  const std::vector<bool> replaced = replaceHostGateway(trial, kUnmeasuredHost);
  request.usesHostGateway = std::find(replaced.begin(), replaced.end(), true) != replaced.end();
  static_cast<void>(readPolicy(trial));
  return request;
}

Json effectivePolicy(const EstablishRequest& request, const HostFacts& host) {
  Json policy = request.policy;
  if (request.usesHostGateway) {
    const auto v4 =
        std::find_if(host.gateway.begin(), host.gateway.end(),
                     [](const Address& address) { return address.family() == Family::kV4; });
    if (v4 == host.gateway.end()) {
      throw Failure(ExitCode::kUnsupported,
                    "the policy names the host's gateway, and the engine gives containers no IPv4 "
                    "address for it");
    }
    static_cast<void>(replaceHostGateway(policy, v4->text()));
  }
  // It was acceptable as it was asked for.
  const Policy written = policyWith(policy, "with the host's own address in place of host-gateway");
  if (!policy.contains("deny")) {
    policy["deny"] = {"private", "transition"};
  }
  std::vector<Prefix> denied;
  for (const DeniedPrefix& entry : written.deny) {
    denied.push_back(entry.prefix);
  }
  const auto deny = [&](const Prefix& prefix) {
    const bool already = std::any_of(denied.begin(), denied.end(),
                                     [&](const Prefix& wider) { return wider.contains(prefix); });
    if (!already) {
      denied.push_back(prefix);
      policy["deny"].push_back(prefix.text());
    }
  };
  // "This host on this network" (RFC 1122 §3.2.1.3): Linux takes a datagram from 0.0.0.0 to 0.0.0.0
  // for its own.
  deny(Prefix::parse("0.0.0.0/8", "this host"));
  for (const Prefix& prefix : host.onLink) {
    // A link that everything lies on is a tunnel's: the addresses behind it are the default's.
    if (prefix.length() != 0) {
      deny(prefix);
    }
  }
  for (const Address& address : host.own) {
    deny(Prefix::host(address));
  }
  static_cast<void>(
      policyWith(policy, "with this host's addresses and the prefixes on its links denied"));
  return policy;
}

}  // namespace vethgate::docker
