#include <algorithm>
#include <thread>
#include <utility>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/sources/profile.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
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
    OptionTable parser(
        "profile --network N [options]",
        "Measures how long the actions of every stage take on this machine while all devices work at once.\n"
        "`simulate --profile FILE` predicts with these times.");
    constexpr std::int64_t kMost = 4096;
    parser.text("output,o", path, "FILE", "file to write (default: standard output)")
        .whole("stages,p", stages, {1, kMost}, "number of stages (default: one per hardware thread)")
        .whole("devices", devices, {1, kMost}, "devices (threads or GPUs) that work at once (default: one per stage)")
        .whole("microbatches,m", microbatches, {1, kMost}, "microbatches per update (default: 8)")
        .whole("rounds", rounds, {1, kMost}, "repetitions of every measurement (default: 2)")
        .flag("calm", calm, "measure 1F1B runs only, none that keep all microbatches in flight or copy to the host")
        .flag("contention", contention,
              "also measure how much slower an action runs while other devices work, so that `simulate` can model it")
        .flag("reductions", reductions,
              "with --contention: also train two copies of every stage, to measure gradient reductions (twice the "
              "memory)");
    model.add_to(parser);
    streams.add_to(parser);
    return parse_command_line(parser, arguments);
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
    throw Error("--reductions: is part of measuring contention, expected --contention with it");
  }
  ProfileOptions options;
  options.network = arguments.model.load_network();
  const auto stages = static_cast<std::int32_t>(arguments.stages.value_or(hardware_threads()));
  options.partition = arguments.model.cut(options.network, stages);
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
