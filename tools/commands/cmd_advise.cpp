#include <algorithm>
#include <optional>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "tools/advice/advice_text.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/findings.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/options/arguments.hpp"
#include "tools/options/memory_limit_argument.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

constexpr std::size_t kSchedulesShown = 12;

struct AdviseArguments {
  std::vector<std::string> files;
  std::string memory_limit;
  std::string network;
  std::string save;
  std::string json;
  bool all = false;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "advise FILE... [options]",
        "Says what other schedules would give: from the traces of one run (a FILE per rank, as for `trace`) it "
        "predicts\n"
        "every schedule that the same runtime can run, and ranks them. Stages are cut anew into equal parts where a\n"
        "schedule has more or fewer of them.");
    parser.positionals(files, 1, "FILE")
        .text("memory-limit", memory_limit, "LIMIT",
              "most that a device may hold: stashes of 1/p of the model, or bytes (40GiB) with --network")
        .text("network", network, "NAME|FILE", "the model that was run, for memory in bytes; see `plumbline networks`")
        .flag("all", all, "show all schedules, and those that the runtime cannot run")
        .text("save", save, "FILE", "write the fastest schedule for the runtime (- is standard output)")
        .text("json", json, "FILE", "the whole answer as JSON (- is standard output)");
    return parser.parse(arguments);
  }

  AdviceOptions options() const {
    AdviceOptions options;
    if (!network.empty()) options.network = load_network(network);
    options.memory_limit = parse_memory_limit(memory_limit, options.network.has_value()).value;
    return options;
  }
};

std::string left_out_text(const Advice& advice) {
  std::string text = "\nLeft out, because " + advice.runtime + " cannot run them:\n";
  for (const UnfitSchedule& each : advice.left_out) text += "  " + each.name + ": " + each.reason + '\n';
  return text;
}

/// The fastest schedule as the runtime takes it.
std::string best_schedule(const Advice& advice) {
  const AdvisedSchedule* best = advice.best();
  if (best == nullptr) throw Error("advise: --save: no schedule fits in the memory limit, expected a higher one");
  const auto text = written_schedule(best->name, schedule_format(advice.format, {}), best->schedule);
  if (!text) throw Error("advise: --save: " + best->name + " cannot be written for " + advice.runtime);
  return *text;
}

}  // namespace

ExitStatus run_advise(const CommandLine& command_line) {
  AdviseArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  check_distinct_outputs({arguments.save, arguments.json});
  std::optional<OutputFile> save;
  std::optional<OutputFile> json;
  if (!arguments.save.empty()) save.emplace(arguments.save);
  if (!arguments.json.empty()) json.emplace(arguments.json);
  const Advice advice = advise(read_traces(arguments.files), arguments.options());
  if (save) save->finish(best_schedule(advice));
  if (json) json->finish(advice_to_json(advice));
  if (arguments.save != "-" && arguments.json != "-") {
    print(advice_text(advice, arguments.all ? 0 : kSchedulesShown) + (arguments.all ? left_out_text(advice) : ""));
  }
  return advice.best() == nullptr ? ExitStatus::kNo : ExitStatus::kDone;
}

}  // namespace plumb
