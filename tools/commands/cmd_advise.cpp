#include <algorithm>
#include <optional>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/comparison/compare.hpp"
#include "sim/runtimes/runtime_presets.hpp"
#include "sim/traces/calm_steps.hpp"
#include "tools/advice/advice_text.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr std::size_t kSchedulesShown = 12;

struct AdviseArguments {
  std::vector<std::string> files;
  std::string memory_limit;
  std::string network;
  std::string runtime;
  std::string schedule;
  OutputFiles outputs;
  bool all = false;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "advise FILE... [options]",
        "Says what other schedules would give: from the traces of one run (a FILE per rank, as for `trace`) it "
        "predicts\n"
        "every schedule that the same runtime can run, and ranks them. Stages are merged, or cut into equal parts, "
        "where\n"
        "a schedule has fewer or more of them.");
    parser.positionals(files, 1, "FILE")
        .text("memory-limit", memory_limit, "LIMIT",
              "most that a device may hold: activations, each of one microbatch on 1/p of the model, or bytes (40GiB) "
              "with --network")
        .text("network", network, "NAME|FILE",
              "the model that was run, for memory in bytes and for how a backward divides; see `plumbline networks`")
        .text("runtime", runtime, "SYSTEM",
              "what ran the run: pytorch, pytorch-deferred, pytorch-single, torchtitan or megatron (default: what its "
              "traces look like; those of torchtitan look like PyTorch's)")
        .words(runtime_names())
        .flag("all", all, "show all schedules, and those that the runtime cannot run")
        .text("schedule", schedule, "NAME", "with --save: the schedule to write (default: the fastest)");
    outputs.add_to(parser, "save", "write the schedule for the runtime (- is standard output)")
        .add_to(parser, "html", "page for a browser: the list, the run above its prediction, and the fastest")
        .add_to(parser, "json", "the whole answer as JSON (- is standard output)");
    return parse_command_line(parser, arguments);
  }

  AdviceOptions options() const {
    if (!schedule.empty() && outputs.path("save").empty())
      throw Error("--schedule: says what is saved, expected --save FILE with it");
    AdviceOptions options;
    if (!network.empty()) options.network = network_argument(network);
    options.runtime = runtime;
    for (const auto& [name, value] :
         {std::pair("memory-limit", &memory_limit), std::pair("network", &network), std::pair("runtime", &runtime)}) {
      if (!value->empty()) options.given += " --" + std::string(name) + ' ' + shell_word(*value);
    }
    options.memory_limit = parse_memory_limit(memory_limit, options.network.has_value()).value;
    return options;
  }
};

std::string left_out_text(const Advice& advice) {
  if (advice.left_out.empty()) return "";
  std::string text = "\nLeft out, because " + advice.runtime + " cannot run them:\n";
  for (const UnfitSchedule& each : advice.left_out) text += "  " + each.name + ": " + each.reason + '\n';
  return text;
}

/// The schedule called `name`, or the fastest one, as the runtime takes it.
std::string saved_schedule(const Advice& advice, const std::string& name) {
  const AdvisedSchedule* chosen = name.empty() ? advice.best() : &advice.named(name);
  if (chosen == nullptr) throw Error("advise: --save: no schedule fits in the memory limit, expected a higher one");
  if (advice.format.empty()) throw Error("advise: --save: " + advice.runtime + " has no format of schedules");
  const Candidate& candidate = chosen->candidate;
  const auto text = written_schedule(candidate.name, schedule_format(advice.format, {}), candidate.schedule);
  if (!text) throw Error("advise: --save: " + candidate.name + " cannot be written for " + advice.runtime);
  return *text;
}

/// Numbers of the steps that a page shows: the calm ones, or the one that the document of a traced run has.
std::vector<std::int32_t> steps_of_page(const TracedRun& run) {
  return run.steps.size() == run.step_ns.size() ? calm_steps(run.step_ns) : std::vector{run.step};
}

/// The list, every calm step of the run above its prediction, and the fastest schedule beside the run.
std::string page(const TracedRun& run, const Advice& advice, const AdviceOptions& options) {
  const AdvisedTimelines predicted = advised_timelines(run, advice, options);
  HtmlReport report{.title = "What another schedule would give", .advice = advice_to_json(advice)};
  std::vector<Timeline> steps;
  const std::vector<std::int32_t> calm = steps_of_page(run);
  for (const std::int32_t step : calm)
    steps.push_back(run.steps.size() == 1 ? run.timeline() : run.steps[static_cast<std::size_t>(step)]);
  const std::size_t middle = middle_run(steps);
  for (std::size_t k = 0; k < steps.size(); ++k) {
    report.sections.push_back({.title = "This run, and its own order as predicted from it",
                               .first = &predicted.own,
                               .second = &steps[k],
                               .comparison = compare(predicted.own, steps, {.shown = k}),
                               .choice = steps.size() > 1 ? "step " + std::to_string(calm[k]) : "",
                               .chosen = k == middle});
  }
  if (advice.best() != nullptr && !advice.best()->candidate.is_run) {
    report.sections.push_back({.title = predicted.fastest.schedule + ", predicted, and this run",
                               .first = &predicted.fastest,
                               .second = &run.timeline()});
  }
  return html_report(report);
}

}  // namespace

ExitStatus run_advise(const CommandLine& command_line) {
  AdviseArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const AdviceOptions options = arguments.options();
  arguments.outputs.open();
  const TracedRun run = read_traces(arguments.files);
  const Advice advice = advise(run, options);
  arguments.outputs.finish("save", [&] { return saved_schedule(advice, arguments.schedule); });
  arguments.outputs.finish("html", [&] { return page(run, advice, options); });
  arguments.outputs.finish("json", [&] { return advice_to_json(advice); });
  if (!arguments.outputs.take_standard_output()) {
    const std::string files = shell_words(arguments.files).substr(1);
    print(advice_text(advice, arguments.all ? 0 : kSchedulesShown, files) +
          (arguments.all ? left_out_text(advice) : ""));
  }
  return advice.best() == nullptr ? ExitStatus::kNo : ExitStatus::kDone;
}

}  // namespace plumb
