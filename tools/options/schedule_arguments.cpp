#include "tools/options/schedule_arguments.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/phases/phase_rules.hpp"
#include "tools/formats/schedule_formats.hpp"
#include "tools/formats/schedule_program.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

constexpr NumberRange kPositive32{1, std::numeric_limits<std::int32_t>::max()};

/// "all", "2" or "1-2".
Recompute parse_recompute(const std::string& text, std::int32_t num_stages) {
  if (text == "all") return {.first_stage = 0, .last_stage = num_stages - 1, .microbatches = {}};
  constexpr const char* kWhere = "--recompute";
  const std::vector<std::string> ends = split(text, '-');
  if (ends.empty() || ends.size() > 2 || text.find_first_not_of("-0123456789") != std::string::npos) {
    throw Error(std::string(kWhere) + ": '" + text + "' is not a range of stages, expected all, 2 or 1-2");
  }
  const std::int64_t first = parse_whole(ends.front(), {0, num_stages - 1}, kWhere);
  const std::int64_t last = parse_whole(ends.back(), {first, num_stages - 1}, kWhere);
  return {.first_stage = static_cast<std::int32_t>(first),
          .last_stage = static_cast<std::int32_t>(last),
          .microbatches = {}};
}

std::string method_help() {
  std::string names;
  for (const MethodSpec& spec : method_catalogue()) names += (names.empty() ? "" : ", ") + std::string(spec.name);
  return "corrections for asynchronous training, such as t1:K=100,t2:D=0.135,t3:updates=40; built in: " + names +
         " (parameters: schedules/document/METHODS.md)";
}

/// The methods that the command line names, the short forms first.
std::vector<Method> methods_of(const ScheduleArguments& arguments) {
  std::vector<Method> methods;
  if (arguments.t1) methods.push_back({"t1", {}});
  if (arguments.t2) methods.push_back({"t2", {}});
  if (arguments.t3_updates) methods.push_back({"t3", {{"updates", static_cast<double>(*arguments.t3_updates)}}});
  for (Method& method : parse_methods(arguments.methods)) methods.push_back(std::move(method));
  return methods;
}

/// Throws `Error` for a name that no schedule has, with what else it may be.
void require_schedule(const std::string& name) {
  try {
    schedule_named(name);
  } catch (const Error& error) {
    if (const std::string_view network = builtin_network_called(name); !network.empty()) {
      throw Error(name + ": is a network, expected a schedule such as 1f1b, and --network " + std::string(network));
    }
    const std::string message = error.what();
    const bool is_long = message.find(", such as:") != std::string::npos;
    throw Error(message + (is_long ? "; `plumbline schedules` lists all" : ""));
  }
}

/// Errors of its size name it as options do: "dualpipe: m (4) must be even ...".
Schedule generate_as_asked(const std::string& name, const ScheduleParams& params) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kSizeWords{
      {{"num_devices", "p"}, {"num_microbatches", "m"}}};
  try {
    return generate(name, params);
  } catch (const Error& error) {
    std::string text = error.what();
    for (const auto& [ours, theirs] : kSizeWords) {
      for (std::size_t at = text.find(ours); at != std::string::npos; at = text.find(ours, at)) {
        text.replace(at, ours.size(), theirs);
      }
    }
    if (text == error.what()) throw;
    throw Error(text);
  }
}

Schedule load_without_methods(const std::string& name_or_file, const ScheduleArguments& arguments,
                              const SearchGoal& goal) {
  if (!is_schedule_file(name_or_file)) {
    require_schedule(name_or_file);  // before what is missing for it
    Schedule schedule = generate_as_asked(name_or_file, schedule_params(name_or_file, arguments, goal));
    if (!arguments.recompute.empty()) {
      schedule.recompute = {parse_recompute(arguments.recompute, schedule.num_stages)};
    }
    return schedule;
  }
  if (is_schedule_program(name_or_file)) {
    if (arguments.runs_programs) return schedule_of_program(name_or_file, arguments);
    throw Error(name_or_file +
                ": this command runs no programs, expected a file (`plumbline schedule exec:FILE -o OUT` writes one)");
  }
  if (name_or_file.ends_with(kRulesExtension)) {
    Schedule schedule =
        schedule_from_rules(read_text_file(name_or_file), name_or_file, schedule_params(name_or_file, arguments, goal));
    if (!arguments.recompute.empty()) {
      schedule.recompute = {parse_recompute(arguments.recompute, schedule.num_stages)};
    }
    return schedule;
  }
  check_is_no_program(name_or_file);
  if (arguments.devices || arguments.microbatches || arguments.chunks || arguments.updates ||
      !arguments.options.empty() || !arguments.recompute.empty()) {
    throw Error(name_or_file +
                ": a schedule file defines its own size, expected no -p, -m, -v, --updates, --opt or --recompute");
  }
  return read_schedule(name_or_file);
}

}  // namespace

void ScheduleArguments::add_to(OptionTable& parser) {
  parser.group("Schedule")
      .whole("devices,p", devices, kPositive32, "pipeline devices (stages, or stages / v)")
      .brief()
      .whole("microbatches,m", microbatches, {}, "microbatches per update")
      .brief()
      .whole("chunks,v", chunks, kPositive32, "stages per device, for interleaved and V-shaped schedules")
      .brief()
      .whole("updates", updates, {},
             "optimizer updates that the schedule covers (default: 1; asynchronous schedules: enough to reach a steady "
             "state)")
      .texts("opt", options, "KEY=VALUE", "option of the schedule; `plumbline schedules NAME` lists them")
      .text("recompute", recompute, "STAGES",
            "drop the activations of these stages and recompute them before the backward: all, 2 or 1-2")
      .text("method", methods, "LIST", method_help())
      .flag("t1", t1, "short for --method t1: scale learning rates by delay")
      .flag("t2", t2, "short for --method t2: discrepancy correction")
      .whole("t3-updates", t3_updates, {}, "short for --method t3:updates=N: run the first N updates synchronously");
}

bool is_schedule_file(const std::string& name_or_file) {
  const auto catalogue = schedule_catalogue();
  if (std::any_of(catalogue.begin(), catalogue.end(), [&](const auto& spec) { return spec.name == name_or_file; })) {
    return false;
  }
  if (name_or_file == "-" || name_or_file.ends_with(kRulesExtension) || name_or_file.find('/') != std::string::npos ||
      is_schedule_program(name_or_file)) {
    return true;
  }
  const auto formats = schedule_formats();
  return std::any_of(formats.begin(), formats.end(),
                     [&](const ScheduleFormat& format) {
                       return !format.extension.empty() && name_or_file.ends_with(format.extension);
                     }) ||
         file_exists(name_or_file);
}

void check_schedule_name(const std::string& name_or_file) {
  if (!is_schedule_file(name_or_file)) require_schedule(name_or_file);
}

void ScheduleArguments::assume_size(const std::string& name) {
  if (name.empty() || is_schedule_file(name) || (devices && microbatches)) return;
  constexpr std::int64_t kMost = 1'000'000;
  if (!devices) devices = 4;
  if (!microbatches) microbatches = 2 * std::min(*devices, kMost);
  note("plumbline: note: " + name + ": -p " + std::to_string(*devices) + " -m " + std::to_string(*microbatches) +
       " are taken: devices of the pipeline, and microbatches");
}

ScheduleParams schedule_params(const std::string& name, const ScheduleArguments& arguments, const SearchGoal& goal) {
  if (!arguments.devices) throw Error(name + ": the number of devices is missing, expected -p N (such as -p 4 -m 8)");
  if (!arguments.microbatches) {
    throw Error(name + ": the number of microbatches is missing, expected -m N (such as -m " +
                std::to_string(2 * std::min<std::int64_t>(*arguments.devices, 1'000'000)) + ")");
  }
  ScheduleParams params;
  params.num_devices = static_cast<std::int32_t>(*arguments.devices);
  params.num_microbatches = *arguments.microbatches;
  params.chunks = static_cast<std::int32_t>(arguments.chunks.value_or(0));
  params.updates = arguments.updates.value_or(0);
  params.costs = goal.costs;
  params.memory_limit = goal.memory_limit;
  for (const std::string& option : arguments.options) {
    const auto [key, value] = parse_assignment(option, "--opt");
    if (!params.options.emplace(key, value).second) throw Error("--opt: '" + key + "' is given twice, expected once");
  }
  return params;
}

Schedule schedule_of_program(const std::string& program, const ScheduleArguments& arguments) {
  std::vector<std::string> words;
  const auto add = [&](const char* option, const std::optional<std::int64_t>& value) {
    if (value) words.insert(words.end(), {option, std::to_string(*value)});
  };
  add("-p", arguments.devices);
  add("-m", arguments.microbatches);
  add("-v", arguments.chunks);
  add("--updates", arguments.updates);
  for (const std::string& option : arguments.options) words.insert(words.end(), {"--opt", option});
  Schedule schedule = schedule_from_text_of_any_format(schedule_program_output(program, words), program);
  const auto check = [&](const char* what, std::int64_t found, const std::optional<std::int64_t>& asked) {
    if (!asked || *asked == found) return;
    throw Error(program + ": printed a schedule with " + std::to_string(found) + what + ", expected the " +
                std::to_string(*asked) + " of the command line");
  };
  check(" devices", schedule.num_devices, arguments.devices);
  check(" microbatches per update", schedule.per_update(StageId{0}), arguments.microbatches);
  if (!arguments.recompute.empty()) schedule.recompute = {parse_recompute(arguments.recompute, schedule.num_stages)};
  return schedule;
}

Schedule load_schedule(const std::string& name_or_file, const ScheduleArguments& arguments, const SearchGoal& goal) {
  return with_methods(load_without_methods(name_or_file, arguments, goal), methods_of(arguments));
}

}  // namespace plumb
