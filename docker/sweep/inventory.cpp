#include "docker/sweep/inventory.hpp"

#include <algorithm>
#include <utility>

namespace vethgate::docker {

Inventory::Inventory(const Engine& engine, std::chrono::milliseconds call,
                     std::function<bool()> goOn)
    : engine_(engine), call_(call), goOn_(std::move(goOn)) {}

void Inventory::list() {
  // Everything, since whoever shares a network with one of ours may carry no label at all.
  for (ContainerSummary& one : engine_.listContainers({}, Deadline::after(call_))) {
    if (one.created > newest_.created) {
      newest_ = one;
    }
    if (!std::binary_search(tried_.begin(), tried_.end(), one.id)) {
      std::string id = one.id;
      pending_.emplace(std::move(id), std::move(one));
    }
  }
}

bool Inventory::renew(const std::string& id, const std::string& name) {
  try {
    std::optional<Container> found = engine_.findContainer(id, Deadline::after(call_));
    if (!found) {
      containers_.erase(id);
      return false;
    }
    containers_.insert_or_assign(id, std::move(*found));
    return true;
  } catch (const EngineFailure& failure) {
    unknown_.emplace(id, Unknown{name, failure.what()});
    throw;
  }
}

void Inventory::inspect(const std::function<bool(const ContainerSummary&)>& wanted) {
  for (auto one = pending_.begin(); one != pending_.end();) {
    if (!wanted(one->second)) {
      ++one;
      continue;
    }
    if (!goOn_()) {
      return;
    }
    const std::string id = one->first;
    const std::vector<std::string> names = std::move(one->second.names);
    one = pending_.erase(one);
    tried_.insert(std::lower_bound(tried_.begin(), tried_.end(), id), id);
    try {
      renew(id, names.empty() ? "" : names.front());
    } catch (const EngineFailure&) {
      // It is among the unknown.
    }
  }
}

std::vector<Container> Inventory::containers() const {
  std::vector<Container> all;
  for (const auto& [id, container] : containers_) {
    all.push_back(container);
  }
  return all;
}

const Container* Inventory::find(const std::string& id) const {
  const auto found = containers_.find(id);
  return found == containers_.end() ? nullptr : &found->second;
}

std::vector<Container> Inventory::attachedTo(const std::string& container,
                                             const std::string& name) {
  list();
  inspect([](const ContainerSummary&) { return true; });
  if (!pending_.empty()) {
    throw EngineFailure(ExitCode::kDeadline, Outcome::kNotSent, 0,
                        "there was no time to inspect container " + pending_.begin()->first);
  }
  for (const auto& [id, unknown] : unknown_) {
    if (id != container) {
      throw EngineFailure(ExitCode::kEngine, Outcome::kUnanswered, 0, unknown.reason);
    }
  }
  // Docker keeps the id of the one that was joined, whatever it was called; another engine may keep
  // what it was told.
  std::vector<std::string> attached;
  for (const auto& [id, one] : containers_) {
    if (one.networkMode == "container:" + container || one.networkMode == "container:" + name) {
      attached.push_back(id);
    }
  }
  std::vector<Container> now;
  for (const std::string& id : attached) {
    if (renew(id, containers_.at(id).name)) {
      now.push_back(containers_.at(id));
    }
  }
  return now;
}

}  // namespace vethgate::docker
