#include <algorithm>
#include <thread>
#include <utility>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/sources/profile.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/tables/profile_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/training/contention_text.hpp"
#include "tools/training/stream_arguments.hpp"
#include "tools/training/train_arguments.hpp"
#include "tools/training/training.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/executors/executor.hpp"
#include "trainer/profile/contention_run.hpp"
#include "trainer/profile/profile_run.hpp"

namespace plumb {
namespace {

struct ProfileArguments {
  ModelArguments model;
  StreamArguments streams;
  std::optional<std::int64_t> stages;
  std::optional<std::int64_t> devices;
  std::optional<std::int64_t> microbatches;
  std::optional<std::int64_t> rounds;
  bool calm = false;
  bool contention = false;
  bool reductions = false;
  std::string path = "-";

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "profile --network N [options]",
        "Measures what every stage's actions take on this machine, with all devices at work at once.\n"
        "`simulate --profile FILE` predicts with it.");
    constexpr std::int64_t kMost = 4096;
    parser.text("output,o", path, "FILE", "where to write (default: standard output)")
        .whole("stages,p", stages, {1, kMost}, "stages that the model is cut into (default: one per hardware thread)")
        .whole("devices", devices, {1, kMost}, "threads that run at once (default: one per stage)")
        .whole("microbatches,m", microbatches, {1, kMost}, "microbatches per update (default: 8)")
        .whole("rounds", rounds, {1, kMost}, "how often everything is measured (default: 2)")
        .flag("calm", calm, "1F1B only: no runs that keep all microbatches in flight or copy to the host")
        .flag("contention", contention,
              "times of actions that run alone, and how much longer they take among others: what `simulate` then "
              "reckons with")
        .flag("reductions", reductions,
              "with --contention: also trains two copies of every stage, to see what reducing their gradients takes");
    model.add_to(parser);
    streams.add_to(parser);
    return parser.parse(arguments);
  }
};

std::int64_t hardware_threads() { return std::max<std::int64_t>(1, std::thread::hardware_concurrency()); }

/// What was measured, and what the terminal shows of it.
struct Measurement {
  Profile profile;
  std::string text;
};

Measurement measure(const ProfileArguments& arguments) {
  if (arguments.reductions && !arguments.contention) {
    throw Error("--reductions: says nothing without what they take, expected --contention with it");
  }
  ProfileOptions options;
  options.network = arguments.model.load_network();
  const auto stages = static_cast<std::int32_t>(arguments.stages.value_or(hardware_threads()));
  options.partition = load_partition(arguments.model.partition, options.network, stages, {});
  options.shape = arguments.model.shape(options.network);
  options.num_devices = static_cast<std::int32_t>(arguments.devices.value_or(0));
  const auto data = arguments.model.load_data(options.network);
  options.data = data.get();
  options.optimizer = arguments.model.optimizer_options();
  options.numbers = arguments.model.number_type();
  options.backend = arguments.model.backend;
  const Backend& chosen = backend(options.backend);
  options.streams = arguments.streams.options(chosen, usual_executor(chosen));
  options.crowded = !arguments.calm;
  options.reductions = arguments.reductions;
  options.microbatches = arguments.microbatches.value_or(options.microbatches);
  options.rounds = arguments.rounds.value_or(options.rounds);
  Progress progress("profile");
  options.on_round = [&](std::int64_t round) { progress.show(round + 1, options.rounds, "rounds"); };
  if (!arguments.contention) {
    Profile profile = profile_run(options);
    std::string text = profile_text(profile);
    return {std::move(profile), std::move(text)};
  }
  ContentionRun run = measure_contention(options);
  std::string text = profile_text(run.profile) + "\n" + contention_text(run.fit);
  return {std::move(run.profile), std::move(text)};
}

}  // namespace

ExitStatus run_profile(const CommandLine& command_line) {
  ProfileArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  OutputFile file(arguments.path);
  const Measurement measured = measure(arguments);
  file.finish(profile_to_json(measured.profile));
  if (!file.is_standard_output()) print(measured.text);
  return ExitStatus::kDone;
}

}  // namespace plumb
