#include "trainer/executors/executor.hpp"

#include <stdexcept>
#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/complete_timeline.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

TrainOptions threads_run(const std::string& name, std::int32_t p) {
  TrainOptions options =
      tiny_run(name, {.num_devices = p, .num_microbatches = 4, .chunks = name == "interleaved" ? 2 : 1, .updates = 6},
               3, name == "chimera");
  options.model.numbers = NumberType::kFloat32;
  options.execution.executor = "threads";
  return options;
}

}  // namespace

TEST_CASE("threads give the bits of one thread, for every schedule of the catalogue") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    auto options = tiny_run(spec, {.num_devices = 4, .num_microbatches = 4, .updates = 2}, spec.name == "chimera");
    if (!options) continue;
    options->model.numbers = NumberType::kFloat32;
    options->execution.executor = "threads";
    const TrainResult many = train(*options);
    options->execution.executor = "serial";
    const TrainResult one = train(*options);
    CHECK(many.weights_hash == one.weights_hash);
    CHECK(many.losses == one.losses);
    CHECK(many.versions == one.versions);
  }
}

TEST_CASE("a measured timeline is complete: every action once, idle causes add up, busy and idle fill the makespan") {
  for (const std::string executor : {"threads", "serial"}) {
    for (const std::string schedule : {"1f1b", "chimera", "pipemare"}) {
      CAPTURE(executor);
      CAPTURE(schedule);
      TrainOptions options = threads_run(schedule, 4);
      options.execution.executor = executor;
      const Timeline timeline = train(options).timeline.value();
      CHECK(timeline.kind == Timeline::Kind::kMeasured);
      CHECK(timeline.updates == 6);
      testing::check_complete(timeline, options.schedule);
    }
  }
}

TEST_CASE("on one thread, the time while others compute is the runtime's: gaps without a reason are overhead") {
  TrainOptions options = threads_run("gpipe", 2);
  options.execution.executor = "serial";
  const Timeline timeline = train(options).timeline.value();
  std::size_t overheads = 0;
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute && span.waited_for == IdleCause::kOverhead) ++overheads;
  }
  CHECK(overheads > 0);
}

TEST_CASE("an exception on one device stops all of them and comes out of train") {
  for (const std::string executor : {"threads", "serial"}) {
    CAPTURE(executor);
    TrainOptions options = threads_run("1f1b", 4);
    options.execution.executor = executor;
    options.observation.on_update = [](std::int64_t update, double) {
      if (update == 2) throw std::runtime_error("the last device gave up");
    };
    CHECK_THROWS_WITH_AS(train(options), "the last device gave up", std::runtime_error);
  }
}

TEST_CASE("updates are reported in order with their losses") {
  TrainOptions options = threads_run("zb-h1", 2);
  std::vector<double> reported;
  options.observation.on_update = [&](std::int64_t update, double loss) {
    CHECK(update == static_cast<std::int64_t>(reported.size()));
    reported.push_back(loss);
  };
  CHECK(train(options).losses == reported);
  CHECK(reported.size() == 6);
}

TEST_CASE("what the trainer cannot do is refused in one line, before anything runs") {
  TrainOptions options = threads_run("1f1b", 2);
  options.execution.executor = "thread";
  CHECK_THROWS_WITH_AS(train(options), "unknown executor 'thread' (did you mean 'threads'?)", Error);
  options = threads_run("pipemare", 2);
  options.optimization.steps = 12;
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("asynchronous document of 6 updates cannot do 12 steps"),
                       Error);
  options = threads_run("1f1b", 2);
  options.optimization.steps = 7;
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("multiple of the document's 6 updates"), Error);
  options = threads_run("1f1b", 2);
  options.model.partition.bounds = {0, options.model.network.layers.size()};
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("the partition has 1 stages; expected 2"), Error);
}

}  // namespace plumb

TEST_SUITE_END();
