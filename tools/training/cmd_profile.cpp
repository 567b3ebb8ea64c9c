#include <algorithm>
#include <cmath>
#include <string>
#include <thread>
#include <utility>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "models/sources/profile.hpp"
#include "sim/contention_fit/contention_fit.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/tables/profile_text.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/training/train_arguments.hpp"
#include "tools/training/training.hpp"
#include "trainer/backends/backends.hpp"
#include "trainer/executors/executor.hpp"
#include "trainer/profile/contention_run.hpp"
#include "trainer/profile/profile_run.hpp"

namespace plumb {
namespace {

std::string interval_text(const Estimate& estimate) {
  return share_text(estimate.low) + " - " + share_text(estimate.high);
}

std::string clock_text(const FittedClock& clock) {
  if (!clock.counts) {
    return "clock: it does not follow the load; it is lower by " + share_text(clock.fall.high) + " at most\n";
  }
  const auto time = [](double ns) { return time_text(std::llround(ns)); };
  return "clock: lower by " + share_text(clock.fall.value) + " (" + interval_text(clock.fall) + ") with " +
         number_text(clock.most) + " busy devices, full speed with up to " + number_text(clock.least) +
         "; time constant " + time(clock.lag_ns.value) + " (" + time(clock.lag_ns.low) + " - " +
         time(clock.lag_ns.high) + ")\n";
}

/// The fitted points with their intervals, how well they explain the runs, and what the runs cannot determine.
std::string contention_text(const ContentionFit& fit) {
  TextTable table(
      {{"action"}, {"others", '>'}, {"of kind"}, {"slowdown", '>'}, {"95 % interval", '>'}, {"observed for", '>'}});
  for (const FittedGamma& point : fit.gammas) {
    table.add_row({std::string(kLoadNames[static_cast<std::size_t>(point.of)]), std::to_string(point.others),
                   std::string(kLoadNames[static_cast<std::size_t>(point.by)]), share_text(point.gamma.value),
                   interval_text(point.gamma), fixed_text(point.exposure, 1) + " actions"});
  }
  for (const FittedSlowdown& slowdown : fit.slowdowns) {
    table.add_row({"any", "1", std::string(kLoadNames[static_cast<std::size_t>(slowdown.by)]),
                   share_text(slowdown.share.value), interval_text(slowdown.share),
                   fixed_text(slowdown.exposure, 1) + " actions"});
  }
  std::string text = fit.gammas.empty() && fit.slowdowns.empty() ? "no contention was found\n" : table.to_string();
  text += "\nfitted " + std::to_string(fit.actions) + " actions, left out " + std::to_string(fit.left_out) +
          "; median error of a duration: " + share_text(fit.error_alone) + " without contention, " +
          share_text(fit.error_fitted) + " with the fitted contention\n";
  if (fit.clock) text += clock_text(*fit.clock);
  for (const std::string& line : fit.unknown) text += "could not be determined: " + line + "\n";
  return text;
}

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
  options.clock = arguments.model.clock_kind();
  if (arguments.contention && options.clock == ClockKind::kProcessor) {
    throw Error("--contention: devices that really work at once disturb each other, expected --clock wall with it");
  }
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
