#include "tools/schedule_page.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/quantity_text.hpp"
#include "tools/schedule_example.hpp"
#include "tools/text_table.hpp"

namespace plumb {
namespace {

using Words = std::pair<std::string_view, std::string_view>;

constexpr std::array kWeightPolicies{
    Words{"flush", "all passes of an update read the same version"},
    Words{"stash", "a backward reads the version that its forward read; older versions are kept for it"},
    Words{"vertical_sync", "every stage reads the version that the first stage read; older versions are kept for it"},
    Words{"double_buffer", "passes read weights that are at most one update old; two versions are kept"},
    Words{"latest", "every pass reads the newest version, the only one that is kept"},
    Words{"predicted", "passes read weights that are predicted from the newest version"}};

constexpr std::array kPlacements{
    Words{"linear", "stage s is on device s"},
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

std::string source_text(const ScheduleSpec& spec) {
  return std::string(spec.source) + ", " + std::to_string(spec.year);
}

/// What a row of the catalogue says, each with its name.
std::vector<std::pair<std::string, std::string>> facts_of(const ScheduleSpec& spec) {
  std::vector<std::pair<std::string, std::string>> facts{
      {"source", source_text(spec)},
      {"updates", spec.synchronous ? "synchronous: the pipeline is flushed for every update"
                                   : "asynchronous: the pipeline goes on during updates"},
      {"weights", explained(kWeightPolicies, spec.weights)},
      {"placement", explained(kPlacements, spec.placement)},
      {"needs", spec.needs.empty() ? "nothing: any p and m" : std::string(spec.needs)}};
  if (!spec.alias_of.empty()) facts.emplace_back("same as", std::string(spec.alias_of));
  return facts;
}

/// "4, 3, 2, 1"; a number alone where all are equal.
std::string list_text(const std::vector<double>& values) {
  if (std::ranges::all_of(values, [&](double value) { return value == values.front(); })) {
    return number_text(values.front());
  }
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + number_text(value);
  return text;
}

/// The letters of the drawing, as far as they occur.
std::string legend(const Timeline& timeline) {
  std::set<Op> ops;
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute && span.end > span.start) ops.insert(span.action.op);
  }
  constexpr std::array kLetters{std::pair{Op::kF, "F forward"},        std::pair{Op::kB, "B backward"},
                                std::pair{Op::kI, "I input gradient"}, std::pair{Op::kW, "W weight gradient"},
                                std::pair{Op::kR, "R recomputation"},  std::pair{Op::kX, "X extra work"}};
  std::string text;
  for (const auto& [op, words] : kLetters) {
    if (ops.contains(op)) text += (text.empty() ? "" : ", ") + std::string(words);
  }
  return text;
}

/// Figures of the example, each with its name.
std::vector<std::pair<std::string, std::string>> figures_of(const Timeline& timeline) {
  std::vector<double> peaks;
  for (const DeviceSummary& device : timeline.devices) peaks.push_back(device.peak_activations);
  std::vector<std::pair<std::string, std::string>> figures{
      {"letters", legend(timeline) + "; the number after the letter is the microbatch, one before it the stage"},
      {"bubble", percent_text(timeline.bubble_fraction) + " of the time of all devices is idle"},
      {"peak memory", list_text(peaks) + " activations per device (1 is one microbatch on one stage)"}};
  std::vector<double> copies;
  for (const StageDelays& stage : timeline.delays) copies.push_back(static_cast<double>(stage.copies));
  if (std::ranges::any_of(copies, [](double count) { return count > 1; })) {
    figures.emplace_back("copies of weights", list_text(copies) + " per stage");
  }
  return figures;
}

std::string default_text(const ScheduleOption& option) {
  return "(default: " + std::string(option.default_value) + ")";
}

std::string named_lines(const std::vector<std::pair<std::string, std::string>>& lines) {
  std::size_t width = 0;
  for (const auto& [name, value] : lines) width = std::max(width, name.size());
  std::string text;
  for (const auto& [name, value] : lines) text += name + std::string(width - name.size() + 2, ' ') + value + "\n";
  return text;
}

/// In a cell of a Markdown table.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
  return escaped;
}

std::string markdown_rows(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string text = "| | |\n|---|---|\n";
  for (const auto& [name, value] : rows) text += "| " + name + " | " + cell(value) + " |\n";
  return text;
}

std::string title(const ScheduleSpec& spec) {
  return std::string(spec.name) + ": " + std::string(spec.summary) + "\n\n";
}

}  // namespace

std::string schedule_page_text(const ScheduleSpec& spec, bool colour) {
  std::string text = title(spec) + named_lines(facts_of(spec));
  text += spec.options.empty() ? "\nno options\n" : "\noptions, each given as --opt NAME=VALUE\n";
  for (const ScheduleOption& option : spec.options) {
    text += "  " + std::string(option.name) + "=" + std::string(option.values) + " " + default_text(option) + ": " +
            std::string(option.meaning) + "\n";
  }
  const ScheduleExample example = schedule_example(spec, colour);
  return text + "\nexample: plumbline " + example.command + "\n" + example.drawing + "\n" +
         named_lines(figures_of(example.timeline));
}

std::string schedule_page_markdown(const ScheduleSpec& spec) {
  std::string text = "# " + title(spec) + markdown_rows(facts_of(spec)) + "\n## Options\n\n";
  text += spec.options.empty()
              ? "None.\n"
              : "Each is given as `--opt NAME=VALUE`.\n\n| option | values | default | meaning |\n|---|---|---|---|\n";
  for (const ScheduleOption& option : spec.options) {
    text += "| `" + std::string(option.name) + "` | `" + cell(option.values) + "` | " + cell(option.default_value) +
            " | " + cell(option.meaning) + " |\n";
  }
  const ScheduleExample example = schedule_example(spec);
  text += "\n## Example\n\n```\n$ ./plumbline " + example.command + "\n" + example.drawing + "```\n\n";
  return text + markdown_rows(figures_of(example.timeline)) + "\n[All schedules](README.md)\n";
}

std::string schedule_index_markdown() {
  std::string text =
      "# The catalogue of schedules\n\n"
      "`p` is the number of devices of a pipeline, `m` that of microbatches per update, `v` that of chunks (stages) "
      "per\n"
      "device. `plumbline schedules NAME` prints the page of a schedule. This folder is written by\n"
      "`./plumbline schedules --pages schedules/pages` from the tables of the program: do not edit it by hand.\n\n"
      "| name | what it does | source |\n|---|---|---|\n";
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    const std::string name(spec.name);
    text += "| [" + name + "](" + name + ".md) | " + cell(spec.summary) + " | " + cell(source_text(spec)) + " |\n";
  }
  return text;
}

}  // namespace plumb
