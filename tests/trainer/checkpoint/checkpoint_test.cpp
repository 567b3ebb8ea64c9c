#include "trainer/checkpoint/checkpoint.hpp"

#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/trainer/training_cases.hpp"
#include "trainer/checkpoint/checkpoint_cut.hpp"
#include "trainer/checkpoint/safetensors.hpp"
#include "trainer/train.hpp"

TEST_SUITE_BEGIN("trainer");

namespace plumb {
namespace {

namespace fs = std::filesystem;

TrainOptions run_of(const std::string& name) {
  TrainOptions options = tiny_run(name, {.num_devices = 4, .num_microbatches = 4, .updates = 5}, 4, name == "chimera");
  options.model.numbers = NumberType::kFloat32;
  return options;
}

/// Five updates of a schedule of the catalogue, in the smallest form that covers so many; of acco, which trains whole
/// steps of two, six.
std::optional<TrainOptions> run_of(const ScheduleSpec& spec, const std::string& timing) {
  ScheduleParams params{.num_devices = 4, .num_microbatches = 2, .updates = spec.name == "acco" ? 6 : 5};
  if (!timing.empty()) params.options = {{"timing", timing}};
  auto schedule = testing::smallest(spec, params);
  if (!schedule || schedule->forward_only || schedule->vocabulary) return std::nullopt;
  const std::int32_t blocks = blocks_for(schedule->num_stages);
  TrainOptions options = tiny_run(*std::move(schedule), blocks, spec.name == "chimera");
  options.model.numbers = NumberType::kFloat32;
  return options;
}

struct Killed : std::runtime_error {
  Killed() : std::runtime_error("killed") {}
};

/// Runs with checkpoints until update `at` has its loss, and dies there.
void run_and_die(TrainOptions options, std::int64_t at) {
  options.observation.on_update = [at](std::int64_t update, double) {
    if (update == at) throw Killed();
  };
  CHECK_THROWS_AS(train(options), Killed);
}

}  // namespace

TEST_CASE("a run that died goes on to the bits of the run that did not, for every schedule") {
  std::int64_t first_death = 0;  // flushing to the disk takes its time: one death per schedule, at changing updates
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::string timing : {"", "slots"}) {
      if (!timing.empty() && !spec.has_option("timing")) continue;
      const std::optional<TrainOptions> run = run_of(spec, timing);
      if (!run) continue;
      const TrainResult whole = train(*run);
      ++first_death;
      for (const std::int64_t at : {first_death * 2 % 5}) {
        CAPTURE(spec.name);
        CAPTURE(timing);
        CAPTURE(at);
        const testing::ScratchDirectory scratch;
        TrainOptions options = *run;
        options.execution.executor = at % 2 == 0 ? "serial" : "threads";
        options.observation.checkpoint.directory = scratch.path();
        options.observation.checkpoint.resume = true;
        run_and_die(options, at);
        const bool saved = newest_checkpoint(scratch.path()) != std::nullopt;
        options.execution.executor = at % 2 == 0 ? "threads" : "serial";
        const TrainResult resumed = train(options);
        CHECK(resumed.weights_hash == whole.weights_hash);
        CHECK(resumed.losses == whole.losses);
        CHECK(resumed.timeline.has_value() == !saved);
        const bool never_saves = newest_checkpoint(scratch.path()) == std::nullopt;
        CHECK((saved || never_saves ||
               at < 2));  // acco's first of two updates is tentative, so nothing is saved after it
      }
    }
  }
}

TEST_CASE("repeated documents are saved between and inside their runs") {
  TrainOptions options = tiny_run("1f1b", {.num_devices = 2, .num_microbatches = 2, .updates = 2});
  options.optimization.steps = 6;
  const TrainResult whole = train(options);
  for (const std::int64_t at : {1, 4}) {
    CAPTURE(at);
    const testing::ScratchDirectory scratch;
    options.observation.checkpoint.directory = scratch.path();
    options.observation.checkpoint.resume = true;
    run_and_die(options, at);
    CHECK(train(options).weights_hash == whole.weights_hash);
  }
}

TEST_CASE("a run that is resumed after its end does nothing and has the same result") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = run_of("zb-h1");
  options.observation.checkpoint.directory = scratch.path();
  options.observation.checkpoint.resume = true;
  const TrainResult first = train(options);
  options.observation.on_update = [](std::int64_t, double) { throw Killed(); };
  const TrainResult second = train(options);
  CHECK(second.weights_hash == first.weights_hash);
  CHECK(second.losses == first.losses);
}

TEST_CASE("the newest two checkpoints are kept, and what was left unfinished is passed over") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = run_of("1f1b");
  options.observation.checkpoint.directory = scratch.path();
  options.observation.checkpoint.every = 2;
  train(options);
  CHECK(scratch.listing() == ".lock update-000000004 update-000000005");
  fs::create_directory(scratch.path() / "update-000000009.unfinished");
  CHECK(newest_checkpoint(scratch.path()) == scratch.path() / "update-000000005");
  CHECK(newest_checkpoint(scratch.path() / "nowhere") == std::nullopt);
}

TEST_CASE("a checkpoint of another run is refused by what differs, and a directory in use by a new run") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = run_of("1f1b");
  options.observation.checkpoint.directory = scratch.path();
  train(options);
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("holds checkpoints of a run; expected to resume it"), Error);
  options.observation.checkpoint.resume = true;
  options.model.seed = 4;
  CHECK_THROWS_WITH_AS(train(options),
                       doctest::Contains("run.seed: the checkpoint was saved with '3', this run has '4'"), Error);
  options.model.seed = 3;
  options.optimization.optimizer.weight_decay = 0.75;  // the last of many numbers
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("this run has 'weight decay 0.75'"), Error);
}

TEST_CASE("a damaged checkpoint is refused in one line") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = run_of("pipedream");
  options.observation.checkpoint.directory = scratch.path();
  options.observation.checkpoint.resume = true;
  run_and_die(options, 3);
  const fs::path tensors = *newest_checkpoint(scratch.path()) / "tensors.safetensors";
  fs::resize_file(tensors, fs::file_size(tensors) - 1);
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("tensors.safetensors"), Error);
  std::ofstream(tensors) << "short";
  CHECK_THROWS_WITH_AS(train(options), doctest::Contains("not a safetensors file"), Error);
}

TEST_CASE("a directory that cannot be written is refused with the reason, and nothing partial stays") {
  const testing::ScratchDirectory scratch;
  const fs::path file = scratch.write("file", "no directory");
  TrainOptions options = run_of("1f1b");
  options.observation.checkpoint.directory = file / "below";
  CHECK_THROWS_AS(train(options), Error);
  CHECK(fs::is_regular_file(file));
}

TEST_CASE("the weights of a checkpoint are tensors with the names and shapes of the network's parameters") {
  const testing::ScratchDirectory scratch;
  TrainOptions options = run_of("1f1b");
  options.observation.checkpoint.directory = scratch.path();
  train(options);
  const SafetensorsFile file(*newest_checkpoint(scratch.path()) / "tensors.safetensors");
  CHECK(file.at("holder0.weights.embedding.weight").shape == std::vector<std::int64_t>{256, 8});
  CHECK(file.at("holder0.weights.embedding.weight").dtype == "F32");
}

TEST_CASE("a cut after an update holds it on every device, and nothing before it waits for anything after it") {
  const Schedule schedule = generate("pipedream", {.num_devices = 4, .num_microbatches = 2, .updates = 6});
  StageCosts costs;
  costs.times.resize(4);
  const Program program = lower(schedule, costs);
  for (std::int64_t updates = 0; updates <= 6; ++updates) {
    CAPTURE(updates);
    const std::vector<InstrIndex> cut = checkpoint_cut(program, updates);
    for (std::size_t device = 0; device < 4; ++device) {
      std::int64_t done = 0;
      for (InstrIndex at = program.lane_begin[device]; at < cut[device]; ++at) {
        done += program.instrs[at].action.op == Op::kU ? 1 : 0;
        for (std::uint32_t w = program.instrs[at].first_wait; w < program.instrs[at + 1].first_wait; ++w) {
          const InstrIndex source = program.waits[w].source;
          const std::size_t maker = index(program.holders[program.rows[program.instrs[source].row].holder].device);
          CHECK(source < cut[maker]);
        }
      }
      CHECK(done >= updates);
    }
  }
  // The last device updates first; the first one ends where its update is.
  CHECK(to_string(program.instrs[checkpoint_cut(program, 1)[0] - 1].action) == "0U0");
}

}  // namespace plumb

TEST_SUITE_END();
