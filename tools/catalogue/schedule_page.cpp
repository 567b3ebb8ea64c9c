#include "tools/catalogue/schedule_page.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/named_option.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/plan_runtimes.hpp"
#include "tools/options/schedule_arguments.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/terminal.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

struct ExampleSize {
  std::int32_t devices = 0;
  std::int64_t microbatches = 0;  ///< per update
};

/// The first that a schedule accepts and that can be drawn action by action is taken.
constexpr std::array kSynchronousSizes{ExampleSize{4, 8}, ExampleSize{4, 4}, ExampleSize{3, 6},
                                       ExampleSize{3, 4}, ExampleSize{2, 4}, ExampleSize{3, 3},
                                       ExampleSize{2, 2}, ExampleSize{2, 5}, ExampleSize{2, 1}};
constexpr std::array kAsynchronousSizes{ExampleSize{4, 2}, ExampleSize{4, 4}, ExampleSize{3, 2},
                                        ExampleSize{3, 3}, ExampleSize{2, 2}, ExampleSize{2, 1}};
constexpr int kExampleColumns = 116;
constexpr std::int64_t kAsynchronousUpdates = 3;  ///< the pipeline fills, is full, and drains

/// One unit for a forward and for each half of a backward, and for the shortest piece of extra work.
std::string natural_costs(const Schedule& schedule) {
  std::set<Op> ops;
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : expand(list)) ops.insert(action.op);
  }
  const bool split = ops.contains(Op::kI) || ops.contains(Op::kW);
  std::string costs = split ? "F=1,I=1,W=1" : ops.contains(Op::kB) ? "F=1,B=2" : "F=1";
  if (schedule.vocabulary) costs += ",S=0.5,T=0.5";
  if (ops.contains(Op::kX)) {
    double least = 1;
    for (const auto& [number, extra] : schedule.extras) {
      if (extra.units > 0) least = std::min(least, extra.units);
    }
    costs += ",X=" + number_text(1 / least);
  }
  return costs;
}

/// Does what the command `simulate` does with these arguments.
Timeline predicted(const std::string& name, const ScheduleArguments& size, const std::string& costs) {
  const CostSource source{.kind = AbstractUnits{.times = costs}};
  Schedule schedule =
      load_schedule(name, size, {.costs = costs_for_search(source, static_cast<std::int32_t>(*size.devices))});
  PricedPipeline priced = price(source, schedule);
  const PreparedRun run = prepare_run(std::move(schedule), std::move(priced), source, {});
  const Program program = program_of(run);
  Timeline timeline = predict(run, program, {}, run.rules.simulation(run.schedule));
  timeline.delays = stage_delays(run.schedule, program);
  return timeline;
}

/// The example of this size; none when the schedule does not accept the size.
std::optional<ScheduleExample> example_of(const ScheduleSpec& spec, ExampleSize of) {
  ScheduleArguments size;
  size.devices = of.devices;
  size.microbatches = of.microbatches;
  if (!spec.synchronous) size.updates = kAsynchronousUpdates;
  const std::string name(spec.name);
  try {
    const std::string costs = natural_costs(load_schedule(name, size));
    return ScheduleExample{"simulate " + name + " -p " + std::to_string(of.devices) + " -m " +
                               std::to_string(of.microbatches) +
                               (size.updates ? " --updates " + std::to_string(*size.updates) : "") + " --cost " + costs,
                           predicted(name, size, costs),
                           {}};
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ScheduleExample schedule_example(const ScheduleSpec& spec) {
  const std::span<const ExampleSize> sizes =
      spec.synchronous ? std::span<const ExampleSize>(kSynchronousSizes) : kAsynchronousSizes;
  for (const int columns : {kExampleColumns, kMostExampleColumns}) {
    for (const ExampleSize size : sizes) {
      std::optional<ScheduleExample> example = example_of(spec, size);
      if (!example || !is_drawn_in_cells(example->timeline, columns)) continue;
      example->drawing = text_timeline(example->timeline, {.columns = columns, .times = TimeWords::kUnits});
      return *std::move(example);
    }
  }
  throw std::logic_error(std::string(spec.name) + ": no size of an example fits its rule and a drawing");
}

namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr std::array kWeightPolicies{
    Words{"flush", "all passes of an update read the same version"},
    Words{"stash", "a backward reads the version that its forward read; older versions are kept for it"},
    Words{"vertical_sync", "every stage reads the version that the first stage read; older versions are kept for it"},
    Words{"double_buffer", "passes read weights that are at most one update old; two versions are kept"},
    Words{"delay", "passes read the version that was there an update before"},
    Words{"latest", "every pass reads the newest version, the only one that is kept"},
    Words{"predicted", "passes read weights that are predicted from the newest version"}};

constexpr std::array kPlacements{
    Words{"linear", "stage s is on device s"},
    Words{"divided", "stage s of the layers is on device s, and every device has a share of embedding and head"},
    Words{"looped", "stage s is on device s mod p, so every device has several stages (chunks)"},
    Words{"v", "device d has stages d and 2p - 1 - d"},
    Words{"zigzag", "stages run down the devices and back up, as often as there are chunks"},
    Words{"bidirectional", "the copies of the model run over the devices in both directions"},
    Words{"replicated", "stages are on several devices at once"},
    Words{"data-parallel", "every copy of the model has devices of its own"},
    Words{"copies", "every device has one stage of each copy of the model"}};

/// "flush: all passes ...", or the name alone where nothing is known of it.
std::string explained(std::span<const Words> words, std::string_view name) {
  const auto found = std::ranges::find(words, name, &Words::first);
  return std::string(name) + (found == words.end() ? "" : ": " + std::string(found->second));
}

/// With the year, where it does not say that itself.
std::string source_text(const ScheduleSpec& spec) {
  const std::string year = std::to_string(spec.year);
  const std::string source(spec.source);
  return source.find(" " + year) == std::string::npos ? source + ", " + year : source;
}

std::string updates_text(const ScheduleSpec& spec) {
  if (spec.inference) return "none: forwards only, nothing is trained";
  if (spec.synchronous) return "synchronous: the pipeline is flushed for every update";
  return "asynchronous: updates do not wait for the pipeline to drain, and passes may read old weights";
}

/// What a row of the catalogue says, each with its name.
std::vector<std::pair<std::string, std::string>> facts_of(const ScheduleSpec& spec) {
  std::vector<std::pair<std::string, std::string>> facts{
      {"source", source_text(spec)},
      {"updates", updates_text(spec)},
      {"weights", explained(kWeightPolicies, spec.weights)},
      {"placement", explained(kPlacements, spec.placement)},
      {"needs", spec.needs.empty() ? "nothing: any p and m" : std::string(spec.needs)}};
  if (!spec.alias_of.empty()) facts.emplace_back("same as", std::string(spec.alias_of));
  const std::string systems = runs_in(std::string(spec.name));
  facts.emplace_back("runs in", systems.empty() ? "no system that `plan` knows" : systems);
  return facts;
}

/// "4, 3, 2, 1 at most, by device", or "5 at most on every device".
std::string peaks_of(const Timeline& timeline) {
  std::string text;
  bool equal = true;
  for (const DeviceSummary& device : timeline.devices) {
    text += (text.empty() ? "" : ", ") + number_text(device.peak_activations);
    equal = equal && device.peak_activations == timeline.devices.front().peak_activations;
  }
  return equal ? number_text(timeline.devices.front().peak_activations) + " at most on every device"
               : text + " at most, by device";
}

/// How the drawing is read: its letters, as far as they occur.
std::string legend(const Timeline& timeline) {
  std::set<Op> ops;
  bool sliced = false;
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.end == span.start) continue;
    ops.insert(span.action.op);
    sliced |= span.action.slice != Action::kAllSlices;
  }
  constexpr std::array kLetters{Words{"F", "forward"},        Words{"B", "backward"},
                                Words{"I", "input gradient"}, Words{"W", "weight gradient"},
                                Words{"R", "recomputation"},  Words{"X", "extra work"}};
  std::string text;
  for (const auto& letter : kLetters) {
    const bool occurs =
        std::ranges::any_of(ops, [&](Op op) { return kOpNames[static_cast<std::size_t>(op)] == letter.first; });
    if (occurs) text += (text.empty() ? "" : ", ") + std::string(letter.first) + " " + std::string(letter.second);
  }
  return text + "; F0 is the forward of microbatch 0" + (sliced ? ", F0.1 that of its slice 1" : "") +
         ", 2F0 that on stage 2; == continues an action, blanks are idle time";
}

/// Whether a device runs two actions at once; the drawing has them in the same cells.
bool has_pairs(const Timeline& timeline) {
  std::vector<Ticks> ends(timeline.devices.size());
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.end == span.start) continue;
    Ticks& end = ends[static_cast<std::size_t>(index(span.device))];
    if (span.start < end) return true;
    end = span.end;
  }
  return false;
}

/// Figures of the example, each with its name.
std::vector<std::pair<std::string, std::string>> example_figures(const Timeline& timeline) {
  std::vector<std::pair<std::string, std::string>> figures{
      {"letters", legend(timeline)},
      {"bubble", percent_text(timeline.bubble_fraction) + " of the time of all devices is idle"},
      {"activations", peaks_of(timeline) + " (unit: one microbatch on one stage)"}};
  std::int64_t copies = 1;
  for (const StageDelays& stage : timeline.delays) copies = std::max(copies, stage.copies);
  if (copies > 1) figures.emplace_back("weights", "up to " + std::to_string(copies) + " copies of a stage's weights");
  if (has_pairs(timeline)) {
    figures.emplace_back("overlap", "two passes that run at once are drawn one after the other");
  }
  return figures;
}

std::string named_lines(const std::vector<std::pair<std::string, std::string>>& lines) {
  const auto columns = static_cast<std::size_t>(terminal_columns());
  std::size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : lines) {
    text += name + std::string(width - name.size() + 2, ' ') + wrapped(value, columns, width + 2) + "\n";
  }
  return text;
}

std::string markdown_rows(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text = "| | |\n|---|---|\n";
  for (const auto& [name, value] : rows) text += "| " + name + " | " + markdown_cell(value) + " |\n";
  return text;
}

std::string heading_of(const ScheduleSpec& spec) { return std::string(spec.name) + ": " + std::string(spec.summary); }

}  // namespace

std::string schedule_page_text(const ScheduleSpec& spec, bool colour) {
  std::string text = verdict_text(heading_of(spec)) + named_lines(facts_of(spec));
  const std::vector<NamedOption> options = spec.all_options();
  text += options.empty() ? "\nno options\n" : "\noptions, each given as --opt NAME=VALUE\n";
  text += lines_within_terminal(options_text(options));
  const ScheduleExample example = schedule_example(spec);
  const TextTimelineOptions drawing{.columns = terminal_columns(), .colour = colour, .times = TimeWords::kUnits};
  return text + "\nexample: plumbline " + example.command + "\n\n" + text_timeline(example.timeline, drawing) + "\n" +
         named_lines(example_figures(example.timeline));
}

std::string schedule_page_markdown(const ScheduleSpec& spec) {
  std::string text = "# " + heading_of(spec) + "\n\n" + markdown_rows(facts_of(spec)) + "\n## Options\n\n";
  const std::vector<NamedOption> options = spec.all_options();
  text += options.empty()
              ? "None.\n"
              : "Each is given as `--opt NAME=VALUE`.\n\n| option | values | default | meaning |\n|---|---|---|---|\n";
  for (const NamedOption& option : options) {
    text += "| `" + std::string(option.name) + "` | `" + markdown_cell(values_text(option)) + "` | " +
            markdown_cell(default_text(option)) + " | " + markdown_cell(option.meaning) + " |\n";
  }
  const ScheduleExample example = schedule_example(spec);
  text += "\n## Example\n\n`./plumbline " + example.command + "` draws:\n\n```\n" + example.drawing + "```\n\n";
  return text + markdown_rows(example_figures(example.timeline)) +
         "\n[All schedules](README.md) · [Which schedule?](../../docs/concepts/schedules.md)\n";
}

std::string schedule_index_markdown() {
  std::string text =
      "# The catalogue of schedules\n\n"
      "[Which schedule?](../../docs/concepts/schedules.md) helps to choose. `p` is the number of devices of a "
      "pipeline, `m` "
      "the\nnumber of microbatches per update, and `v` the number of stages (chunks) per device. `plumbline schedules "
      "NAME` "
      "prints the\npage of a schedule. `./plumbline schedules --pages schedules/pages` writes this folder: do not edit "
      "it by "
      "hand.\n\n"
      "| name | what it does | runs in | source |\n|---|---|---|---|\n";
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    const std::string name(spec.name);
    text += "| [" + name + "](" + name + ".md) | " + markdown_cell(spec.summary) + " | " + runs_in(name) + " | " +
            markdown_cell(source_text(spec)) + " |\n";
  }
  return text;
}

}  // namespace plumb
