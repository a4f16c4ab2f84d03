// What a host is judged by: versions, runtimes and their flags, sysctls, and the report of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.hpp"
#include "docker/doctor/doctor.hpp"

namespace vethgate::docker {
namespace {

using testing::HasSubstr;

Version version(const char* api, const char* minimum) {
  return {"20.10.24", api, minimum, "6.1.0", "amd64", false};
}

TEST(DoctorEngine, MustSpeakTheApi) {
  EXPECT_EQ(judgeVersion(version("1.41", "1.12")).level, Level::kOk);
  EXPECT_EQ(judgeVersion(version("1.45", "1.41")).level, Level::kOk);
  EXPECT_EQ(judgeVersion(version("2.0", "")).level, Level::kOk);
  EXPECT_EQ(judgeVersion(version("1.40", "1.12")).level, Level::kFail);
  EXPECT_EQ(judgeVersion(version("1.9", "1.1")).level, Level::kFail);
  EXPECT_EQ(judgeVersion(version("1.52", "1.44")).level, Level::kFail);
  EXPECT_EQ(judgeVersion(version("1.41x", "1.12")).level, Level::kFail);
}

Info with(const std::vector<Runtime>& more, const char* fallback = "runc") {
  Info info;
  info.defaultRuntime = fallback;
  info.runtimes = {{"runc", "runc", "", {}}};
  info.runtimes.insert(info.runtimes.end(), more.begin(), more.end());
  return info;
}

Check gvisor(const std::vector<std::string>& arguments) {
  const auto checks = judgeRuntimes(with({{"gv", "/usr/bin/runsc", "", arguments}}), false);
  EXPECT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks.front().level, Level::kOk);
  EXPECT_EQ(checks.back().name, "runtime gv");
  return checks.back();
}

TEST(DoctorRuntimes, FlagsThatLeadPastTheFiltersFail) {
  using Arguments = std::vector<std::string>;
  for (const Arguments& arguments :
       {Arguments{"--network=host"}, Arguments{"-network=host"}, Arguments{"--network", "host"},
        Arguments{"--debug", "--network=plugin"}, Arguments{"--EXPERIMENTAL-xdp=ns"},
        Arguments{"--EXPERIMENTAL-xdp", "redirect:eth0"}, Arguments{"--AF_XDP"},
        Arguments{"--net-raw", "--network=host"},
        Arguments{"--network=sandbox", "--network=host"}}) {
    EXPECT_EQ(gvisor(arguments).level, Level::kFail) << testing::PrintToString(arguments);
  }
  for (const Arguments& arguments : {Arguments{"--net-raw"}, Arguments{"--net-raw=true"}}) {
    EXPECT_EQ(gvisor(arguments).level, Level::kWarn) << testing::PrintToString(arguments);
  }
  for (const Arguments& arguments :
       {Arguments{}, Arguments{"--network=sandbox", "--platform=ptrace"},
        Arguments{"--net-raw=false"}, Arguments{"--EXPERIMENTAL-xdp=off"},
        Arguments{"--debug-log", "/var/log/host"}, Arguments{"--network=none"}}) {
    EXPECT_EQ(gvisor(arguments).level, Level::kOk) << testing::PrintToString(arguments);
  }
}

TEST(DoctorRuntimes, HolderAndJobNeedOneEach) {
  const auto none = judgeRuntimes(with({}), false);
  EXPECT_EQ(none.back().name, "gvisor");
  EXPECT_EQ(none.back().level, Level::kWarn);

  Info info = with({{"runsc", "runsc", "", {}}});
  info.runtimes.erase(info.runtimes.begin());
  EXPECT_EQ(judgeRuntimes(info, false).front().level, Level::kFail);
  EXPECT_THAT(judgeRuntimes(info, false).front().remedy, HasSubstr("runc or crun"));

  const Info gvisorFirst = with({{"runsc", "runsc", "", {}}}, "runsc");
  EXPECT_EQ(judgeRuntimes(gvisorFirst, true).front().level, Level::kFail);
  EXPECT_EQ(judgeRuntimes(gvisorFirst, false).front().level, Level::kOk);  // docker is told which
}

TEST(DoctorRuntimes, FlagsThatCannotBeSeenAreSaidToBe) {
  const Runtime wrapped{"runsc", "/usr/local/bin/runsc", "", {}};
  EXPECT_EQ(judgeRuntimes(with({wrapped}), true).back().level, Level::kWarn);
  EXPECT_EQ(judgeRuntimes(with({wrapped}), false).back().level, Level::kOk);
  const Runtime shim{"sandboxed", "", "io.containerd.runsc.v1", {}};
  EXPECT_EQ(judgeRuntimes(with({shim}), false).back().level, Level::kWarn);
}

TEST(DoctorLogging, IsSilentUnlessSwitchedOn) {
  EXPECT_EQ(judgeLogging("1\n").level, Level::kOk);
  EXPECT_EQ(judgeLogging("0\n").level, Level::kWarn);
  EXPECT_THAT(judgeLogging("0\n").remedy, HasSubstr("sysctl"));
  EXPECT_EQ(judgeLogging("2\n").level, Level::kWarn);
  EXPECT_EQ(judgeLogging(std::nullopt).level, Level::kWarn);
}

TEST(DoctorFamilies, ALinkLocalAddressIsNoIpv6) {
  EXPECT_THAT(judgeFamilies({"172.17.0.2", "2001:db8::2"}).found, HasSubstr("IPv4 and IPv6"));
  EXPECT_THAT(judgeFamilies({"172.17.0.2", "fe80::1"}).found, HasSubstr("IPv4 alone"));
  EXPECT_EQ(judgeFamilies({"172.17.0.2"}).level, Level::kOk);
  EXPECT_EQ(judgeFamilies({"2001:db8::2"}).level, Level::kWarn);
}

TEST(DoctorReport, SaysEachFindingOnALine) {
  const std::vector<Check> checks{{"engine", Level::kOk, "docker", ""},
                                  {"image", Level::kFail, "no\nimage", "load it"},
                                  {"logging", Level::kWarn, "silent", "sysctl"}};
  EXPECT_EQ(doctorText(checks),
            "ok    engine   docker\n"
            "fail  image    no?image; remedy: load it\n"
            "warn  logging  silent; remedy: sysctl\n");
  EXPECT_EQ(doctorCode(checks), ExitCode::kUnsupported);
  EXPECT_EQ(doctorSentence(checks), "image: no\nimage");
  EXPECT_EQ(doctorCode({{"engine", Level::kFail, "", ""}}), ExitCode::kEngine);
  EXPECT_EQ(doctorCode({{"engine", Level::kOk, "", ""}, {"logging", Level::kWarn, "", ""}}),
            ExitCode::kDone);
  const Json document = Json::parse(doctorJson(checks));
  EXPECT_EQ(document.at("exit"), 6);
  EXPECT_EQ(document.at("checks").size(), 3U);
  EXPECT_TRUE(document.at("checks").at(0).at("remedy").is_null());
  EXPECT_EQ(document.at("checks").at(1).at("level"), "fail");
}

TEST(DoctorReport, WithoutAnEngineOnlyTheHostIsLookedAt) {
  const auto checks = examineHost(Engine("/nonexistent/socket"), "vethgate:0", 1'800'000'000);
  ASSERT_EQ(checks.size(), 2U);
  EXPECT_EQ(checks.front().name, "engine");
  EXPECT_EQ(checks.back().name, "logging");
  EXPECT_EQ(doctorCode(checks), ExitCode::kEngine);
}

}  // namespace
}  // namespace vethgate::docker
