// What must not mislead the client of a container engine: an engine that dies under its calls, and
// an environment that speaks of another. The engine is another one afterwards; GoogleTest runs
// these rows last, by the name of their file.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <optional>
#include <sstream>
#include <thread>

#include "docker/engine/engine.hpp"
#include "tests/live/fixture/descriptor.hpp"
#include "tests/live/on_engine.hpp"

namespace vethgate::live {
namespace {

using docker::EngineFailure;
using Answer = docker::Outcome;

constexpr const char* kAbsentName = "vethgate-absent";
constexpr std::chrono::milliseconds kLookAgain{20};

Deadline soon() { return Deadline::after(std::chrono::seconds(60)); }

// A listener on this process's own loopback: who is led astray comes here.
class Trap {
 public:
  Trap() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address_;
    if (bind(fd_.get(), raw(), length) != 0 || listen(fd_.get(), 1) != 0 ||
        getsockname(fd_.get(), raw(), &length) != 0) {
      throw std::runtime_error("no listener on the loopback");
    }
  }
  [[nodiscard]] std::string address() const {
    return "127.0.0.1:" + std::to_string(ntohs(address_.sin_port));
  }
  // Whether somebody has come since the last call.
  [[nodiscard]] bool sprung() const {
    const Descriptor visitor(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    return visitor.valid();
  }
  void step() const {
    const Descriptor visitor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(connect(visitor.get(), raw(), sizeof address_), 0);
  }

 private:
  [[nodiscard]] sockaddr* raw() const { return reinterpret_cast<sockaddr*>(&address_); }

  Descriptor fd_;
  mutable sockaddr_in address_{};
};

// Variables of this process and of what it starts, as they were before at the end of the scope.
class Environment {
 public:
  explicit Environment(const std::map<std::string, std::string>& variables) {
    for (const auto& [name, value] : variables) {
      const char* const old = std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
      before_[name] = old == nullptr ? std::nullopt : std::optional<std::string>(old);
      setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
  }
  ~Environment() {
    for (const auto& [name, value] : before_) {
      value ? setenv(name.c_str(), value->c_str(), 1)  // NOLINT(concurrency-mt-unsafe)
            : unsetenv(name.c_str());                  // NOLINT(concurrency-mt-unsafe)
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::map<std::string, std::optional<std::string>> before_;
};

TEST_P(OnEngine, EnvironmentLeadsTheClientNowhereElse) {
  const docker::Engine client(site().engine().socket());
  const std::string version = client.version(soon()).engine;
  const Trap trap;
  const std::string web = "http://" + trap.address();
  const Environment environment({{"http_proxy", web},
                                 {"HTTP_PROXY", web},
                                 {"https_proxy", web},
                                 {"HTTPS_PROXY", web},
                                 {"all_proxy", web},
                                 {"ALL_PROXY", "socks5h://" + trap.address()},
                                 {"no_proxy", ""},
                                 {"NO_PROXY", ""},
                                 {"DOCKER_HOST", "tcp://" + trap.address()},
                                 {"DOCKER_CONTEXT", "another"},
                                 {"DOCKER_API_VERSION", "1.12"},
                                 {"DOCKER_TLS_VERIFY", "1"},
                                 {"CONTAINER_HOST", "tcp://" + trap.address()},
                                 {"CURL_HOME", "/absent"},
                                 {"CURL_CA_BUNDLE", "/absent"},
                                 {"CURL_SSL_BACKEND", "absent"},
                                 {"NETRC", "/absent"},
                                 {"HOME", "/absent"}});
  EXPECT_EQ(client.version(soon()).engine, version);
  EXPECT_FALSE(client.findContainer(kAbsentName, soon()));
  try {
    (void)client.attach(kAbsentName, false, soon());
    ADD_FAILURE() << "attached to what is absent";
  } catch (const EngineFailure& failure) {
    EXPECT_EQ(failure.outcome(), Answer::kAbsent) << failure.what();
  }
  const Finished command = site().vethgate({"release", "absent", "--owner", kOwner});
  EXPECT_EQ(command.out, "{\"released\":0}\n") << command.summary();
  EXPECT_FALSE(trap.sprung());
  trap.step();
  EXPECT_TRUE(trap.sprung()) << "nobody could have been led here";
}

// Connections to `path` that a server has accepted; its ends carry the name (/proc/net/unix, whose
// sixth column is SS_CONNECTED).
std::size_t accepted(const std::string& path) {
  std::ifstream sockets("/proc/net/unix");
  std::size_t count = 0;
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::array<std::string, 8> columns;
    for (std::string& column : columns) {
      words >> column;
    }
    count += columns[7] == path && columns[5] == "03" ? 1U : 0U;
  }
  return count;
}

EngineFailure failureOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const EngineFailure& failure) {
    return failure;
  }
  throw std::logic_error("a dead engine has answered");
}

TEST_P(OnEngine, KilledEngineHasGivenNoAnswer) {
  const std::string socket = site().engine().socket();
  const docker::Engine client(socket);
  docker::ContainerSpec spec;
  spec.name = "conformance-held";
  spec.image = kJobImage;
  spec.command = {"/payload", "--hold"};
  spec.network = "none";
  const std::string id = client.createContainer(spec, soon()).id;
  docker::Attachment streams = client.attach(id, false, soon());
  client.startContainer(id, soon());
  const auto pid = static_cast<pid_t>(client.findContainer(id, soon()).value().pid);
  ASSERT_GT(pid, 1);

  const std::size_t before = accepted(socket);
  auto waiting = std::async(std::launch::async, [&] { return client.waitContainer(id, soon()); });
  const Deadline patience = soon();
  while (accepted(socket) <= before && !patience.passed()) {
    std::this_thread::sleep_for(kLookAgain);
  }
  ASSERT_GT(accepted(socket), before) << "the engine does not take the call";
  ASSERT_EQ(waiting.wait_for(kLookAgain), std::future_status::timeout);
  site().engine().kill();

  const EngineFailure waited = failureOf([&] { (void)waiting.get(); });
  EXPECT_EQ(waited.outcome(), Answer::kUnanswered) << waited.what();
  EXPECT_EQ(waited.code(), ExitCode::kEngine) << waited.what();
  // The end of the streams is no exit status, and nothing else tells one.
  EXPECT_EQ(streams.converse("", soon()).out, "holding\n");
  for (const std::string& name : {id, std::string(kAbsentName)}) {
    for (const std::function<void()>& call :
         std::vector<std::function<void()>>{[&] { (void)client.findContainer(name, soon()); },
                                            [&] { (void)client.removeContainer(name, soon()); },
                                            [&] { (void)client.waitContainer(name, soon()); },
                                            [&] { (void)client.attach(name, false, soon()); },
                                            [&] { (void)client.listContainers({}, soon()); }}) {
      const EngineFailure failure = failureOf(call);
      EXPECT_EQ(failure.outcome(), Answer::kNotSent) << failure.what();
      EXPECT_EQ(failure.code(), ExitCode::kEngine) << failure.what();
    }
  }
  EXPECT_EQ(kill(pid, SIGKILL), 0)
      << "the container had ended, and that could have been the answer";
  Site::dropShared();
}

}  // namespace
}  // namespace vethgate::live
