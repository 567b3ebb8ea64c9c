#include "tools/plans/launch_changes.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "tools/plans/plan_commands.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Which settings of `then` a launch takes, and which of its own it gives up.
struct ChangedNames {
  std::vector<std::string> taken{};
  std::vector<std::string> removed{};
};

LaunchSettings changed(const LaunchSettings& now, const LaunchSettings& then, const ChangedNames& names) {
  LaunchSettings made = now;
  for (const std::string& name : names.removed) made.settings.remove(name);
  for (const std::string& name : names.taken) made.settings.set(name, then.settings.all().at(name));
  return made;
}

bool is_same(const Settings& now, const std::string& name, const Setting& then) {
  const auto found = now.all().find(name);
  if (found == now.all().end()) return false;
  const auto is_on = [](const Setting& setting) {
    return setting.values.empty() || setting_name(setting.values.front()) == "true";
  };
  return found->second.values == then.values || (is_on(found->second) && is_on(then));
}

/// Settings of `now` that `then` does not have, and that its network does without.
std::vector<std::string> removable(const LaunchSettings& now, const LaunchSettings& then) {
  std::vector<std::string> names;
  const std::optional<Network> network = launch_job(now).network;
  for (const auto& [name, setting] : now.settings.all()) {
    if (then.settings.all().contains(name)) continue;
    LaunchSettings without = now;
    without.settings.remove(name);
    try {
      if (launch_job(std::move(without)).network == network) names.push_back(name);
    } catch (const Error&) {
      continue;  // the file needs it
    }
  }
  return names;
}

/// Leaves out of `names` whatever `runs` can do without, one after the other, until it needs each of them.
void leave_out(std::vector<std::string>& names, const std::function<bool()>& runs) {
  const std::vector<std::string> all = std::exchange(names, {});
  if (runs()) return;
  names = all;
  for (std::size_t before = names.size() + 1; names.size() < before;) {
    before = names.size();
    for (std::size_t at = 0; at < names.size();) {
      const std::string name = names[at];
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
      if (runs()) continue;
      names.insert(names.begin() + static_cast<std::ptrdiff_t>(at++), name);
    }
  }
}

std::vector<std::string> words_of(const std::string& name, const Setting& setting) {
  if (!setting.spelled.empty()) return setting.spelled;
  std::vector<std::string> words{name};
  words.insert(words.end(), setting.values.begin(), setting.values.end());
  return words;
}

std::vector<LaunchChange> described(const Settings& now, const Settings& then, const ChangedNames& names) {
  std::vector<LaunchChange> changes;
  for (const std::string& name : names.taken) {
    const auto before = now.all().find(name);
    const std::vector<std::string> after = words_of(name, then.all().at(name));
    if (before == now.all().end()) {
      changes.push_back({.after = after});
    } else {
      changes.push_back({words_of(name, before->second), after, before->second.place});
    }
  }
  for (const std::string& name : names.removed) {
    const Setting& before = now.all().at(name);
    changes.push_back({words_of(name, before), {}, before.place});
  }
  return changes;
}

bool is_long(const std::vector<std::string>& words) {
  constexpr std::size_t kMostLetters = 100;
  std::size_t letters = 0;
  for (const std::string& word : words) letters += word.size() + 1;
  return letters > kMostLetters;
}

/// "--tensor-model-parallel-size 8" of a command, "tensor_model_parallel_size: 8" of a configuration.
std::string setting_text(const std::vector<std::string>& words, bool is_command_line) {
  if (words.empty()) return {};
  std::string text = is_command_line ? "--" + words.front() : words.front() + ":";
  if (is_command_line) std::ranges::replace(text, '_', '-');
  if (is_long(words)) return text + " ...";
  for (std::size_t k = 1; k < words.size(); ++k) {
    std::string word = words[k];
    std::ranges::replace(word, kUnknownBegin, '$');
    std::erase(word, kUnknownEnd);
    text += " " + (is_command_line && word == words[k] ? shell_word(word) : word);
  }
  return text;
}

/// "line 12" of `place`, where that is in `file`.
std::string line_in(const std::string& file, const std::string& place) {
  return place.starts_with(file + ":") ? "line " + place.substr(file.size() + 1) : place;
}

/// What changes first, then what is added, then what is removed.
std::string table_of(const std::vector<LaunchChange>& changes, const LaunchSettings& now) {
  TextTable table({{"do"}, {"this"}, {"becomes"}, {"in"}});
  const auto add_rows = [&](const char* what, bool before, bool after) {
    for (const LaunchChange& change : changes) {
      if (change.before.empty() == before || change.after.empty() == after) continue;
      table.add_row({what, setting_text(before ? change.before : change.after, now.is_command_line),
                     before && after ? setting_text(change.after, now.is_command_line) : "",
                     line_in(now.settings.source(), change.place)});
    }
  };
  add_rows("change", true, true);
  add_rows("add", false, true);
  add_rows("remove", true, false);
  table.leave_out_empty_columns();
  return table.to_string();
}

/// Why a job of these settings is not `plan`; empty: it is.
std::string difference(const LaunchSettings& said, const PlanQuestion& question, const SimulatedPlan& plan) {
  try {
    LaunchJob job = launch_job(said);
    const std::int64_t devices = plan.score.plan.num_devices();
    if (job.nodes > 0 && job.per_node > 0 && job.nodes * job.per_node != devices) return "it runs on other devices";
    place_launch(job, devices);
    check_launch(job, question, plan);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

/// The launch of `plan` in the words of a file's system. Throws `Error` where they cannot say it.
std::string launch_of(LaunchFamily family, const PlanQuestion& question, const SimulatedPlan& plan) {
  if (family == LaunchFamily::kMegatron) return megatron_launch(question, plan, "");  // of Megatron-DeepSpeed, too
  const PlanCommand command =
      family == LaunchFamily::kTorchtitan ? torchtitan_command(question, plan) : deepspeed_command(question, plan);
  if (!command.refused.empty()) throw Error(command.refused);
  return command.text;
}

/// The name of a file by which that system is recognised.
const char* file_of(LaunchFamily family) {
  return family == LaunchFamily::kTorchtitan  ? "plan.toml"
         : family == LaunchFamily::kDeepspeed ? "plan.json"
                                              : "plan.sh";
}

/// Values that are too long for a table, as the plan's own launch has them: "key = [...]".
std::string long_values(const std::vector<LaunchChange>& changes, const std::string& launch) {
  std::string text;
  for (const LaunchChange& change : changes) {
    if (!is_long(change.after)) continue;
    const std::string& name = change.after.front();
    const std::size_t begin = launch.find("\n" + name.substr(name.rfind('.') + 1) + " = [");
    const std::size_t end = begin == std::string::npos ? begin : launch.find("\n]", begin);
    if (end != std::string::npos) text += launch.substr(begin, end + 2 - begin) + "\n";
  }
  return text;
}

}  // namespace

std::optional<std::vector<LaunchChange>> launch_changes(const LaunchSettings& now, const LaunchSettings& then,
                                                        const std::function<bool(const LaunchSettings&)>& runs) {
  ChangedNames names;
  for (const auto& [name, setting] : then.settings.all()) {
    if (!is_same(now.settings, name, setting)) names.taken.push_back(name);
  }
  const auto run_changed = [&] { return runs(changed(now, then, names)); };
  if (!run_changed()) {
    names.removed = removable(now, then);
    if (!run_changed()) return std::nullopt;
    leave_out(names.removed, run_changed);
  }
  leave_out(names.taken, run_changed);
  return described(now.settings, then.settings, names);
}

PlanCommand launch_changes_text(const LaunchSettings& now, const PlanQuestion& question, const SimulatedPlan& plan) {
  try {
    const std::string launch = launch_of(now.family, question, plan);
    LaunchSettings then = launch_settings(launch, file_of(now.family));
    if (launch_job(now).runtime == "deepspeed") then.settings.remove("pipeline_model_parallel_layout");  // not there
    std::string why;
    const auto changes = launch_changes(now, then, [&](const LaunchSettings& said) {
      why = difference(said, question, plan);
      return why.empty();
    });
    if (!changes) return {.refused = why};
    if (changes->empty()) return {.text = "nothing: the file says this plan\n"};
    return {.text = table_of(*changes, now) + long_values(*changes, launch)};
  } catch (const Error& error) {
    return {.refused = error.what()};
  }
}

}  // namespace plumb
