// What is asked of a container engine and what it answers, as values: the part of Docker's Engine
// API v1.41 that vethgate uses (https://docs.docker.com/engine/api/v1.41/). It must not know HTTP.
// Texts in answers are the engine's own and may hold any character; show them through printable().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace vethgate::docker {

using Labels = std::map<std::string, std::string>;

struct Version {
  std::string engine;      // "20.10.24+dfsg1"
  std::string api;         // the newest version of the API that the engine speaks, "1.41"
  std::string minimumApi;  // the oldest one
  std::string kernel;      // release, as uname -r says it
  std::string architecture;
  bool podman = false;
};

// A runtime that `docker run --runtime` may name. Podman lists what its configuration names,
// whether or not the program is installed.
struct Runtime {
  std::string name;
  std::string path;  // empty for a containerd shim
  std::string type;  // the shim's name, empty for a program
  std::vector<std::string> arguments;
};

struct Info {
  std::string version;
  std::string kernel;
  std::string operatingSystem;
  std::string cgroupVersion;  // "1", "2", or empty when the engine does not say
  std::string defaultRuntime;
  std::vector<Runtime> runtimes;             // by name
  std::vector<std::string> securityOptions;  // "name=seccomp,profile=default", "name=userns", …
};

struct Image {
  std::string id;  // "sha256:" and 64 digits, as the engine itself names it
  std::vector<std::string> tags;
};

struct Subnet {
  std::string subnet;   // "172.17.0.0/16"
  std::string gateway;  // empty when the engine does not say: docker 20.10 of its default bridge
};

struct Network {
  std::string id;  // 64 digits
  std::string name;
  std::string driver;
  bool internal = false;
  bool ipv6 = false;
  std::vector<Subnet> subnets;
  std::map<std::string, std::string> options;
  Labels labels;
};

// A container that nothing is granted to but what stands here: capabilities are dropped, the root
// is read-only, no_new_privs is set, the engine keeps no log of it and never starts it again.
struct ContainerSpec {
  std::string name;
  std::string image;
  std::vector<std::string> command;  // the whole argv: no entry point of the image stands before it
  Labels labels;
  std::string network;                    // a network's name, "none", or "container:<id>"
  std::string user;                       // "65532:65532"; empty: the image's
  std::vector<std::string> capabilities;  // "NET_ADMIN"
  std::string
      seccomp;  // the profile; empty: the engine's own. Docker takes its text, podman a path
  std::vector<std::string> extraHosts;  // "proxy:host-gateway"
  bool takesInput = false;              // stdin is open until the one attached client closes it
  std::string runtime;                  // empty: the engine's default
  std::uint64_t memoryBytes = 0;        // 0: no limit
  std::uint64_t processes = 0;          // 0: no limit
};

struct Created {
  std::string id;  // 64 digits
  std::vector<std::string> warnings;
};

struct Endpoint {
  std::string networkId;
  std::string address;  // IPv4, empty when there is none
  std::string gateway;
  std::string address6;
  std::string mac;
};

struct Container {
  std::string id;    // 64 digits
  std::string name;  // without the slash that the API puts before it
  std::string image;
  std::string created;  // RFC 3339, "2026-11-29T20:54:33.324651564Z"; empty when not said
  std::string started;  // the same, of its last start
  std::string status;   // "created", "running", "exited", …
  bool running = false;
  std::uint64_t pid = 0;  // on the engine's host; 0 when it does not run
  std::uint64_t exitCode = 0;
  bool outOfMemory = false;
  std::string networkMode;  // docker replaces a joined container's name by its full id
  std::string runtime;
  std::string user;
  bool readOnlyRoot = false;
  bool privileged = false;
  std::vector<std::string> capAdd;
  std::vector<std::string> capDrop;
  std::vector<std::string> securityOptions;
  std::string resolvConf;  // the file on the engine's host, empty when there is none
  Labels labels;
  std::map<std::string, Endpoint> networks;  // by the network's name
};

// One line of a list. It lags behind what inspecting the container says.
struct ContainerSummary {
  std::string id;
  std::vector<std::string> names;
  std::string state;
  std::uint64_t created = 0;  // unix second; 0 when not said
  Labels labels;
};

enum class Removal {
  kRemoved,  // the engine says that it removed the container
  kAbsent,   // the engine says that it has no such container
};

struct Output {
  std::string out;
  std::string err;
};

}  // namespace vethgate::docker
