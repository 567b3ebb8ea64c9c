#include "trainer/links/nccl_links.hpp"

#include <set>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/complete_timeline.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/fake_nccl.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/process_cases.hpp"
#include "tests/trainer/same_run.hpp"
#include "tests/trainer/thread_processes.hpp"
#include "trainer/plan/run_plan.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

using Change = std::function<void(std::size_t rank, TrainOptions& own)>;

/// Every process has one device, which works through streams, and links to those of the others.
std::vector<ProcessOutcome> run_by_links(const FakeNccl& fake, const TrainOptions& options, const Change& change = {}) {
  return train_in_processes(options, static_cast<std::size_t>(options.schedule.num_devices),
                            [&](std::size_t rank, TrainOptions& own) {
                              own.execution.executor = "streams";
                              own.execution.links = &fake.library();
                              if (change) change(rank, own);
                            });
}

TrainResult train_by_links(const FakeNccl& fake, const TrainOptions& options) {
  const auto outcomes = run_by_links(fake, options);
  if (outcomes.front().failure) std::rethrow_exception(outcomes.front().failure);
  return outcomes.front().result;
}

/// What the processes have to say: "stopped" of those that others have stopped.
std::multiset<std::string> words(const std::vector<ProcessOutcome>& outcomes) {
  std::multiset<std::string> all;
  for (const ProcessOutcome& outcome : outcomes) {
    try {
      if (outcome.failure) std::rethrow_exception(outcome.failure);
      all.insert("");
    } catch (const RunAborted&) {
      all.insert("stopped");
    } catch (const std::exception& error) {
      all.insert(error.what());
    }
  }
  return all;
}

/// Messages of one run of the document.
int messages_of(const TrainOptions& options) {
  const RunPlan plan(options);
  return static_cast<int>(plan.program.transfers.size() - plan.program.moves.size());
}

}  // namespace

TEST_CASE("messages by links give the bits, versions and peaks of one thread, for every schedule of the catalogue") {
  std::int64_t taken_back = 0;
  for_each_process_case(4, [&](const std::string& name, TrainOptions options) {
    CAPTURE(name);
    const FakeNccl fake;
    const TrainResult many = train_by_links(fake, options);
    const TrainResult one = train(options);
    check_same_run(many, one);
    const int links = fake.calls("connect") / 2;
    CHECK(fake.calls("send") == fake.calls("receive"));
    CHECK(fake.calls("send") >= links + messages_of(options));  // more where a message has several parts
    taken_back += many.updates_rolled_back;
  });
  CHECK(taken_back > 0);
}

TEST_CASE("every part of a reduction goes once to every other device of it, by a link, and none by the hosts") {
  for (const std::string name : {"chimera", "cyclic-dp"}) {
    CAPTURE(name);
    const FakeNccl fake;
    const TrainOptions options = small_process_run(name);
    const RunPlan plan(options);
    int parts = 0;
    for (const Collective& collective : plan.program.collectives) {
      REQUIRE(collective.kind != Collective::Kind::kSyncWeights);
      std::set<DeviceId> devices;
      for (const InstrIndex member : collective.members) devices.insert(plan.holder(member).device);
      parts += static_cast<int>(collective.members.size() * (devices.size() - 1));
    }
    CHECK(parts > 0);
    check_same_run(train_by_links(fake, options), train(options));
    CHECK(fake.calls("send") == fake.calls("connect") / 2 + messages_of(options) + parts);
    CHECK(fake.calls("receive") == fake.calls("send"));
  }
}

TEST_CASE("the timeline of messages by links is complete: nothing is read before it was sent, and then received") {
  for (const std::string name : {"1f1b", "chimera", "pipemare"}) {
    CAPTURE(name);
    const FakeNccl fake;
    const TrainOptions options = small_process_run(name);
    const Timeline timeline = train_by_links(fake, options).timeline.value();
    testing::check_complete(timeline, options.schedule);
    CHECK(timeline.machine.ends_with("; messages by NCCL 2.28.9"));
  }
}

TEST_CASE("at a cut nothing is left on a link: runs are saved there, and go on by links or in one thread") {
  for (const std::string name : {"1f1b", "chimera", "cyclic-dp", "pipedream", "pipemare", "zb-v"}) {
    for (const bool on_one_thread : {false, true}) {
      CAPTURE(name);
      CAPTURE(on_one_thread);
      const FakeNccl fake;
      const testing::ScratchDirectory scratch;
      TrainOptions options = small_process_run(name);
      const TrainResult whole = train(options);
      options.observation.checkpoint = {.directory = scratch.path(), .resume = true};
      options.observation.on_update = [](std::int64_t update, double) {
        if (update == 3) throw Error("killed");
      };
      CHECK(testing::error_message([&] { train_by_links(fake, options); }) == "killed");
      options.observation.on_update = nullptr;
      const TrainResult resumed = on_one_thread ? train(options) : train_by_links(fake, options);
      CHECK(resumed.weights_hash == whole.weights_hash);
      CHECK(resumed.losses == whole.losses);
    }
  }
}

TEST_CASE("a document that is repeated and saved within goes by the same links") {
  const FakeNccl fake;
  const testing::ScratchDirectory scratch;
  TrainOptions options = small_process_run("1f1b", 2);
  options.optimization.steps = 6;
  const std::uint64_t expected = train(options).weights_hash;
  options.observation.checkpoint = {.directory = scratch.path(), .every = 1};
  CHECK(train_by_links(fake, options).weights_hash == expected);
  CHECK(fake.calls("connect") == 2 * 6);
}

TEST_CASE("an error of the library ends all processes, and the one that has it says it in one line") {
  const std::string what = ": unhandled system error (it was planned)";
  for (const std::string plan : {"send 20 fail", "receive 20 fail", "send 20 later", "receive 7 later"}) {
    CAPTURE(plan);
    const FakeNccl fake(plan);
    std::multiset<std::string> said = words(run_by_links(fake, small_process_run("1f1b")));
    CHECK(said.erase("stopped") == 3);
    REQUIRE(said.size() == 1);
    CHECK(said.begin()->starts_with("NCCL: no message from device "));
    CHECK(said.begin()->ends_with(what));
  }
}

TEST_CASE("a link that cannot be made ends all processes with one line") {
  const FakeNccl fake("connect 3 fail");
  std::multiset<std::string> said = words(run_by_links(fake, small_process_run("1f1b")));
  CHECK(said.erase("stopped") == 3);
  REQUIRE(said.size() == 1);
  CHECK(said.begin()->starts_with("NCCL: no connection from device "));
}

TEST_CASE("a message that never comes ends the run, with where devices stand") {
  const FakeNccl fake("receive 20 hang");
  const auto outcomes = run_by_links(fake, small_process_run("1f1b"),
                                     [](std::size_t, TrainOptions& own) { own.execution.streams.watchdog_s = 0.2; });
  std::multiset<std::string> said = words(outcomes);
  said.erase("stopped");
  REQUIRE(!said.empty());
  for (const std::string& word : said) CHECK(word.starts_with("train: no progress for 0 s; device "));
}

TEST_CASE("a process that dies stops those that wait for its links") {
  const FakeNccl fake;
  const auto outcomes = run_by_links(fake, small_process_run("zb-h1"), [](std::size_t rank, TrainOptions& own) {
    if (rank != 0) return;
    own.observation.on_update = [](std::int64_t update, double) {
      if (update == 2) throw std::runtime_error("gave up");
    };
  });
  CHECK(words(outcomes) == std::multiset<std::string>{"gave up", "stopped", "stopped", "stopped"});
}

TEST_CASE("links need streams, and several processes") {
  const FakeNccl fake;
  TrainOptions options = small_process_run("1f1b");
  options.execution.links = &fake.library();
  CHECK(testing::error_message([&] { train(options); }) ==
        "train '1f1b': links are between processes; expected several");
  const auto outcomes =
      run_by_links(fake, options, [](std::size_t, TrainOptions& own) { own.execution.executor = "threads"; });
  CHECK(words(outcomes).contains(
      "train '1f1b': the executor threads has no streams for links; expected the executor streams"));
}

TEST_CASE("a library that is missing, or is another one, is reported in one line") {
  const std::string missing = testing::error_message([] { nccl::load_library("/nowhere/libnccl.so.2"); });
  CHECK(missing.starts_with("NCCL: /nowhere/libnccl.so.2: cannot open"));
  CHECK(missing.ends_with("; expected NCCL 2.17 or later on the library path"));
  CHECK(nccl::why_no_library("/nowhere/libnccl.so.2").starts_with("/nowhere/libnccl.so.2: cannot open"));
  CHECK(testing::error_message([] { nccl::load_library("libc.so.6"); }) ==
        "NCCL: libc.so.6 has no function ncclGetVersion; expected NCCL 2.17 or later");
  CHECK(nccl::load_library(fake_nccl_file()).version == "2.28.9");
}

}  // namespace plumb

TEST_SUITE_END();
