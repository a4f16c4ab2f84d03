// What containers an engine has, and which of them share another one's network. It must not know
// whose they are nor which may go.
//
// A list is taken for no more than a list of ids: it lags, and an engine may leave labels or
// filters out of it. All else is what inspecting each container says. One that vanishes in between
// is no failure; one that cannot be inspected may be anything, and is remembered as that.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "docker/engine/engine.hpp"

namespace vethgate::docker {

class Inventory {
 public:
  // Each call to the engine may take `call`. `goOn` is asked before each inspection; once it says
  // no, what is not inspected yet remains unknown.
  Inventory(const Engine& engine, std::chrono::milliseconds call, std::function<bool()> goOn);

  // Asks what there is, and notes what is new. Throws EngineFailure.
  void list();
  // Inspects what is listed and `wanted`, unless that was tried already.
  void inspect(const std::function<bool(const ContainerSummary&)>& wanted);

  [[nodiscard]] std::vector<Container> containers() const;           // those inspected, by id
  [[nodiscard]] const Container* find(const std::string& id) const;  // nullptr: not inspected
  // The one with the latest creation in all lists so far; no id without one.
  [[nodiscard]] const ContainerSummary& newest() const { return newest_; }
  [[nodiscard]] const std::map<std::string, ContainerSummary>& pending() const { return pending_; }
  // Those whose inspection failed, by id.
  struct Unknown {
    std::string name;  // by the list
    std::string reason;
  };
  [[nodiscard]] const std::map<std::string, Unknown>& unknown() const { return unknown_; }

  // Those that joined the network of `container`, running or not, as of now: asks for a new list,
  // and inspects what is new in it and what is attached. Throws EngineFailure, also when there is
  // one that could not be inspected, since it may be attached.
  [[nodiscard]] std::vector<Container> attachedTo(const std::string& container,
                                                  const std::string& name);
  void forget(const std::string& id) { containers_.erase(id); }

 private:
  // False when it has vanished; remembers it as unknown, and throws, when the engine does not say.
  bool renew(const std::string& id, const std::string& name);

  const Engine& engine_;
  std::chrono::milliseconds call_;
  std::function<bool()> goOn_;
  std::map<std::string, ContainerSummary> pending_;  // listed, not inspected; by id
  std::map<std::string, Container> containers_;
  std::map<std::string, Unknown> unknown_;
  std::vector<std::string> tried_;  // sorted
  ContainerSummary newest_;
};

}  // namespace vethgate::docker
