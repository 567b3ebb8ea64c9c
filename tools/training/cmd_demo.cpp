#include <cstdint>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/training/demo_run.hpp"
#include "tools/training/train_arguments.hpp"
#include "tools/training/training.hpp"

namespace plumb {
namespace {

struct DemoArguments {
  std::string directory = "plumbline-demo";
  std::string network;
  std::optional<std::int64_t> microbatches;
  std::optional<std::int64_t> updates;
  std::optional<std::int64_t> rounds;
  std::optional<std::int64_t> devices;
  std::string clock{kClockNames[static_cast<std::size_t>(DemoPlan{}.clock)]};

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "demo [options]",
        "Measures a small transformer on this machine, predicts four schedules, trains with each of them on\n"
        "four devices, and compares the predictions with the measurements.");
    constexpr std::int64_t kMost = 10'000;
    constexpr std::int64_t kMostThreads = 64;
    parser.text("output,o", directory, "DIR", "folder for the report and all figures (default: plumbline-demo)")
        .text("network", network, "NAME|FILE", "model (default: gpt-mini)")
        .whole("microbatches,m", microbatches, {1, kMost}, "microbatches per update (default: 8)")
        .whole("devices,p", devices, {1, kMostThreads}, "devices, one thread each (default: 4)")
        .whole("updates", updates, {1, kMost}, "updates per run (default: 12)")
        .whole("rounds", rounds, {1, kMost}, "runs per schedule (default: 3)")
        .text("clock", clock, "KIND",
              "processor: the processor time of each device's thread; wall: real time, for a free processor per device "
              "(default: processor)")
        .words(kClockNames);
    return parse_command_line(parser, arguments);
  }

  DemoPlan plan() const {
    DemoPlan plan;
    if (!network.empty()) plan.network = network;
    plan.microbatches = microbatches.value_or(plan.microbatches);
    plan.updates = updates.value_or(plan.updates);
    plan.rounds = rounds.value_or(plan.rounds);
    plan.devices = static_cast<std::int32_t>(devices.value_or(plan.devices));
    plan.clock = enumerator<ClockKind>(kClockNames, "clock", clock);
    return plan;
  }
};

void write_files(const std::filesystem::path& directory, const DemoPlan& plan, const DemoRun& run) {
  const auto write = [&](const std::string& name, const std::string& text) {
    OutputFile((directory / name).string()).finish(text);
  };
  write("profile.json", profile_to_json(run.profile));
  for (const DemoResult& result : run.results) {
    write(result.schedule + ".predicted.json", timeline_to_json(result.predicted));
    for (std::size_t round = 0; round < result.measured.size(); ++round) {
      write(result.schedule + ".measured" + std::to_string(round + 1) + ".json",
            timeline_to_json(result.measured[round]));
    }
  }
  write("report.html", demo_page(plan, run));
}

}  // namespace

ExitStatus run_demo(const CommandLine& command_line) {
  DemoArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const DemoPlan plan = arguments.plan();
  const std::filesystem::path directory = arguments.directory;
  if (const int reason = disk::make_folder(directory); reason != 0) {
    throw Error(directory.string() + ": cannot make the directory: " + std::strerror(reason));
  }
  Progress progress("demo");
  progress.note("demo: measuring the stages and training with each schedule ...");
  const DemoRun run = demo_run(plan, progress);
  write_files(directory, plan, run);
  print(demo_text(plan, run) + "\nopen " + (directory / "report.html").string() + " in a browser\n");
  return ExitStatus::kDone;
}

}  // namespace plumb
