// Custody by itself: what ends it, what does not, and in what order.
#include "docker/custody/custody.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "tests/offline/docker/establish/support.hpp"

namespace vethgate::docker {
namespace {

using test::expectFailure;
using test::Fault;
using test::kImageName;
using test::ScriptedEngine;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::chrono::milliseconds kSettle{200};

Deadline later() { return Deadline::after(std::chrono::seconds(20)); }

class InCustody : public testing::Test {
 protected:
  std::string create(const std::string& name, const char* role = kHelperRole) {
    ContainerSpec spec;
    spec.name = name;
    spec.image = kImageName;
    spec.network = "none";
    return custody_.create(spec, role, later());
  }
  void loseCreate(Fault fault) {
    engine_.fail("create x", fault);
    expectFailure([&] { static_cast<void>(create("x")); }, ExitCode::kEngine, "");
  }
  // Runs `event` once there were `times` of `call`.
  std::thread at(const std::string& call, long times, std::function<void()> event) {
    return std::thread([this, call, times, event = std::move(event)] {
      for (const Deadline patience = later(); !patience.passed();) {
        const auto calls = engine_.calls();
        if (std::count(calls.begin(), calls.end(), call) >= times) {
          break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      event();
    });
  }

  ScriptedEngine engine_;
  Custody custody_{
      Engine(engine_.socket()), Engine(engine_.socket()), {{kOwnerLabel, "o"}, {kJobLabel, "j"}}};
};

TEST_F(InCustody, AnAnsweredCreateEndsWithOneWordOfTheEngine) {
  static_cast<void>(create("x"));
  static_cast<void>(create("h", kHolderRole));
  static_cast<void>(create("y"));
  EXPECT_TRUE(custody_.removeAll("", later(), std::chrono::hours(1)).empty());
  EXPECT_THAT(engine_.removed(), ElementsAre("x", "y", "h"));
}

// One confirmed absence, or several, say nothing: it comes after them, and is found.
TEST_F(InCustody, ALostCreateIsOwedUntilItComes) {
  loseCreate(Fault::kDropLater);
  std::thread landing = at("inspect x", 3, [&] { engine_.land(); });
  EXPECT_EQ(custody_.removeAll("", later(), std::chrono::hours(1)).text(), "");
  landing.join();
  EXPECT_THAT(engine_.removed(), ElementsAre("x"));
  EXPECT_THAT(engine_.names(), IsEmpty());
}

TEST_F(InCustody, ALostCreateThatCameAtOnceIsNotAwaited) {
  loseCreate(Fault::kDropAfter);
  EXPECT_EQ(custody_.removeAll("", later(), std::chrono::hours(1)).text(), "");
  EXPECT_THAT(engine_.removed(), ElementsAre("x"));
}

// It is asked for again and again, given up for good at the end of the window, and named.
TEST_F(InCustody, ALostCreateThatNeverComesIsSaid) {
  for (const Fault fault : {Fault::kDrop, Fault::kRefuse}) {
    ScriptedEngine engine;
    Custody custody(Engine(engine.socket()), Engine(engine.socket()), {});
    engine.fail("create x", fault);
    ContainerSpec spec;
    spec.name = "x";
    spec.image = kImageName;
    EXPECT_THROW(static_cast<void>(custody.create(spec, kHelperRole, later())), EngineFailure);
    const Remainder remainder = custody.removeAll("", later(), kSettle);
    EXPECT_THAT(remainder.left, IsEmpty());
    EXPECT_THAT(remainder.coming, ElementsAre("x"));
    const auto calls = engine.calls();
    EXPECT_GE(std::count(calls.begin(), calls.end(), "inspect x"), 3);
  }
}

// Silence in the middle of the window is not a part of it.
TEST_F(InCustody, AnAbsenceMustHoldWithoutABreak) {
  loseCreate(Fault::kDrop);
  std::thread breaking = at("inspect x", 2, [&] { engine_.fail("inspect x", Fault::kRefuse); });
  std::thread landing = at("inspect x", 4, [&] { engine_.add("x", custody_.labels()); });
  EXPECT_EQ(custody_.removeAll("", later(), std::chrono::milliseconds(400)).text(), "");
  breaking.join();
  landing.join();
  EXPECT_THAT(engine_.names(), IsEmpty());
}

TEST_F(InCustody, ARefusedCreateIsNotAwaited) {
  engine_.add("x", {{kAttemptLabel, "another"}});
  expectFailure([&] { static_cast<void>(create("x")); }, ExitCode::kEngine,
                "release the job first");
  EXPECT_EQ(custody_.removeAll("", later(), std::chrono::hours(1)).text(), "");
  EXPECT_THAT(engine_.names(), ElementsAre("x"));
}

TEST_F(InCustody, ACreateThatWasNeverSentIsNotAwaited) {
  Interrupt interrupt;
  interrupt.raise();
  Custody custody(Engine(engine_.socket(), &interrupt), Engine(engine_.socket()), {});
  ContainerSpec spec;
  spec.name = "x";
  spec.image = kImageName;
  EXPECT_THROW(static_cast<void>(custody.create(spec, kHelperRole, later())), EngineFailure);
  EXPECT_EQ(custody.removeAll("", later(), std::chrono::hours(1)).text(), "");
}

TEST_F(InCustody, NothingIsCreatedOnceRemovalStarted) {
  EXPECT_TRUE(custody_.removeAll("", later()).empty());
  try {
    static_cast<void>(create("x"));
    FAIL() << "it was created";
  } catch (const EngineFailure& failure) {
    EXPECT_EQ(failure.outcome(), Outcome::kNotSent) << failure.what();
  }
  EXPECT_THAT(engine_.calls(), Not(Contains("create x")));
}

// The container is there before its create is answered, and the answer waits for the removal.
TEST_F(InCustody, RemovalWaitsForACreateInFlight) {
  std::atomic<bool> sent{false};
  engine_.delay("create x", std::chrono::milliseconds(150), sent);
  std::thread creating([&] {
    try {
      static_cast<void>(create("x"));
    } catch (const Failure& failure) {
      // Removal may be faster than the look at what the answer named.
      EXPECT_THAT(failure.what(), HasSubstr("has none of that name"));
    }
  });
  while (!sent) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(custody_.removeAll("", later(), std::chrono::hours(1)).text(), "");
  creating.join();
  EXPECT_THAT(engine_.removed(), ElementsAre("x"));
  const auto calls = engine_.calls();
  EXPECT_LT(std::find(calls.begin(), calls.end(), "create x"),
            std::find(calls.begin(), calls.end(), "list"));
}

// Whatever is done next would be done to somebody else's.
TEST_F(InCustody, AnIdThatIsNotItsOwnIsRefused) {
  engine_.add("stranger", {});
  engine_.answerWithIdOf("stranger");
  expectFailure([&] { static_cast<void>(create("x")); }, ExitCode::kEngine,
                "answers that it created \"x\" as");
  EXPECT_EQ(custody_.removeAll("", later(), std::chrono::hours(1)).text(), "");
  EXPECT_THAT(engine_.names(), ElementsAre("stranger"));
}

TEST_F(InCustody, RemovalEndsAtItsInterrupt) {
  Interrupt interrupt;
  Custody custody(Engine(engine_.socket()), Engine(engine_.socket(), &interrupt), {});
  ContainerSpec spec;
  spec.name = "x";
  spec.image = kImageName;
  static_cast<void>(custody.create(spec, kHelperRole, later()));
  engine_.fail("remove x", Fault::kRefuse, ScriptedEngine::kAlways);
  std::thread ending = at("remove x", 2, [&] { interrupt.raise(); });
  EXPECT_THAT(custody.removeAll("", Deadline::after(std::chrono::hours(1))).left, ElementsAre("x"));
  ending.join();
}

TEST(Remainder, InWords) {
  EXPECT_EQ(Remainder{}.text(), "");
  EXPECT_EQ((Remainder{{"a", "b"}, {"c"}}).text(),
            "; these may still exist, and a sweep removes them: a b; these may still come, for the "
            "engine never answered for them, and a sweep removes them: c");
}

}  // namespace
}  // namespace vethgate::docker
