#include "trainer/links/process_transport.hpp"

#include <filesystem>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/process_cases.hpp"
#include "tests/trainer/same_run.hpp"
#include "tests/trainer/thread_processes.hpp"
#include "trainer/checkpoint/checkpoint.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

namespace fs = std::filesystem;

struct KilledPlayer : std::runtime_error {
  KilledPlayer() : std::runtime_error("killed") {}
};

}  // namespace

TEST_CASE("several processes give the bits, versions and peaks of one thread, for every schedule of the catalogue") {
  std::int64_t taken_back = 0;
  for_each_process_case(4, [&](const std::string& name, TrainOptions options) {
    CAPTURE(name);
    const TrainResult many = train_in_processes(options);
    check_same_run(many, train(options));
    taken_back += many.updates_rolled_back;
  });
  CHECK(taken_back > 0);
}

TEST_CASE("processes go through repeated documents together: nothing of the next one is taken for the last") {
  for (const std::string name : {"1f1b", "chimera"}) {
    CAPTURE(name);
    TrainOptions options =
        tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = 1}, 4, name == "chimera");
    options.optimization.steps = 20;
    check_same_run(train_in_processes(options), train(options));
  }
}

TEST_CASE("the first process alone hears of updates, in order, and has the result") {
  const TrainOptions options = small_process_run("1f1b");
  std::vector<std::int64_t> heard;
  const auto outcomes = train_in_processes(options, 4, [&](std::size_t rank, TrainOptions& own) {
    own.observation.on_update = [&heard, rank](std::int64_t update, double) {
      if (rank == 0) heard.push_back(update);
      if (rank != 0) throw std::logic_error("told another process");
    };
  });
  CHECK(heard == std::vector<std::int64_t>{0, 1, 2, 3, 4});
  CHECK(outcomes[0].result.versions.size() == 4);
  CHECK(!outcomes[1].failure);
  CHECK(outcomes[1].result.versions.empty());
}

TEST_CASE("the timeline of several processes is one: complete, causes add up, nothing is read before it was sent") {
  for (const std::string name : {"1f1b", "chimera", "pipemare"}) {
    CAPTURE(name);
    const TrainOptions options = small_process_run(name);
    testing::check_complete(train_in_processes(options).timeline.value(), options.schedule);
  }
}

TEST_CASE("a checkpoint of several processes goes on in one, and the other way round") {
  for (const std::string name : {"1f1b", "chimera", "pipedream", "pipemare"}) {
    for (const bool first_in_one : {true, false}) {
      CAPTURE(name);
      CAPTURE(first_in_one);
      const testing::ScratchDirectory scratch;
      TrainOptions options = small_process_run(name);
      const TrainResult whole = train(options);
      options.observation.checkpoint.directory = scratch.path();
      options.observation.checkpoint.resume = true;
      options.observation.on_update = [](std::int64_t update, double) {
        if (update == 3) throw KilledPlayer();
      };
      if (first_in_one) {
        CHECK_THROWS_AS(train(options), KilledPlayer);
      } else {
        CHECK_THROWS_AS(train_in_processes(options), KilledPlayer);
      }
      REQUIRE(newest_checkpoint(scratch.path()).has_value());
      options.observation.on_update = nullptr;
      const TrainResult resumed = first_in_one ? train_in_processes(options) : train(options);
      CHECK(resumed.weights_hash == whole.weights_hash);
      CHECK(resumed.losses == whole.losses);
    }
  }
}

TEST_CASE("several processes go on from the same older checkpoint when the newest is damaged") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = small_process_run("pipedream");
  const TrainResult whole = train(options);
  options.observation.checkpoint.directory = scratch.path();
  options.observation.checkpoint.resume = true;
  options.observation.on_update = [](std::int64_t update, double) {
    if (update == 3) throw KilledPlayer();
  };
  CHECK_THROWS_AS(train_in_processes(options), KilledPlayer);
  options.observation.on_update = nullptr;
  const auto newest = newest_checkpoint(scratch.path()).value();
  std::filesystem::resize_file(newest / "state.json", 100);
  std::mutex mutex;
  std::vector<std::string> notes;
  options.observation.checkpoint.on_note = [&](const std::string& note) {
    const std::scoped_lock lock(mutex);
    notes.push_back(note);
  };
  CHECK(train_in_processes(options).weights_hash == whole.weights_hash);
  REQUIRE(notes.size() == 4);  // told in every process; the command prints that of the first
  CHECK(notes == std::vector<std::string>(4, notes.front()));
  CHECK(std::filesystem::exists(name_aside(newest)));
}

TEST_CASE("a process that fails stops the others, and none of them ends well") {
  const TrainOptions options = small_process_run("zb-h1");
  const auto outcomes = train_in_processes(options, 4, [](std::size_t rank, TrainOptions& own) {
    if (rank != 0) return;
    own.observation.on_update = [](std::int64_t update, double) {
      if (update == 2) throw std::runtime_error("the first process gave up");
    };
  });
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure), "the first process gave up", std::runtime_error);
  for (std::size_t rank = 1; rank < 4; ++rank) {
    CAPTURE(rank);
    REQUIRE(outcomes[rank].failure);
    CHECK_THROWS_AS(std::rethrow_exception(outcomes[rank].failure), RunAborted);
  }
}

TEST_CASE("what all processes find wrong is said once, by the first; the others stop") {
  TrainOptions options = small_process_run("1f1b");
  options.optimization.steps = 7;
  const auto outcomes = train_in_processes(options, 4);
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure),
                       doctest::Contains("multiple of the document's 5 updates"), AgreedError);
  CHECK_THROWS_AS(std::rethrow_exception(outcomes[3].failure), RunAborted);
}

TEST_CASE("what one process finds wrong, or is about to do otherwise, is said by the first with its number") {
  const TrainOptions options = small_process_run("1f1b");
  auto outcomes = train_in_processes(options, 4, [](std::size_t rank, TrainOptions& own) {
    if (rank == 2) own.data = nullptr;
  });
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure), "process 2: train '1f1b': no data given",
                       AgreedError);
  outcomes = train_in_processes(options, 4, [](std::size_t rank, TrainOptions& own) {
    if (rank == 1) own.model.seed = 8;
  });
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure), doctest::Contains("process 1: is about to do"),
                       AgreedError);
}

TEST_CASE("one process per device, each with an executor that waits") {
  const TrainOptions options = small_process_run("1f1b");
  auto outcomes = train_in_processes(options, 1);
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure),
                       "train '1f1b': 1 process and 4 devices; expected one process per device (mpirun -np 4 ...)",
                       AgreedError);
  outcomes = train_in_processes(options, 4, [](std::size_t, TrainOptions& own) { own.execution.executor = "serial"; });
  CHECK_THROWS_WITH_AS(std::rethrow_exception(outcomes[0].failure),
                       doctest::Contains("serial runs all devices in one process; expected threads"), AgreedError);
}

TEST_CASE("the offset between clocks is within what the samples allow, and exactly 0 where it can be") {
  CHECK(clock_offset(std::vector<ClockSample>{{100, 103, 110}, {200, 201, 204}}) == 0);
  // The other clock is 1000 ahead; the trips take 10 to 40 one way.
  CHECK(clock_offset(std::vector<ClockSample>{{0, 1010, 50}, {100, 1140, 150}, {200, 1220, 240}}) == 990);
  CHECK(clock_offset(std::vector<ClockSample>{{5000, 4010, 5020}}) == -990);
  CHECK(clock_offset(std::vector<ClockSample>{{0, 1005, 10}, {100, 2130, 160}}) == 1000);
}

TEST_CASE("a process whose clock was started at another time finds the offset to that of the first") {
  const auto job = std::make_shared<ThreadJob>(2);
  std::int64_t offset = 0;
  std::jthread other([&] {
    ProcessGroup group(std::make_unique<ThreadProcess>(job, 1),
                       [] { return RunClock::steady_ns() - 3'600'000'000'000; });
    offset = group.offset_to_first();
    group.meet();
  });
  {
    ProcessGroup group(std::make_unique<ThreadProcess>(job, 0));
    CHECK(group.offset_to_first() == 0);
    group.meet();
  }
  other.join();
  CHECK(std::abs(offset - 3'600'000'000'000) < 1'000'000'000);
}

}  // namespace plumb

TEST_SUITE_END();
