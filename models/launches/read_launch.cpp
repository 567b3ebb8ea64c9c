#include "models/launches/read_launch.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "models/ground/error.hpp"
#include "models/launches/command_line_settings.hpp"
#include "models/launches/config_settings.hpp"
#include "models/launches/deepspeed_job.hpp"
#include "models/launches/megatron_job.hpp"
#include "models/launches/megatron_log.hpp"
#include "models/launches/megatron_names.hpp"
#include "models/launches/torchtitan_job.hpp"

namespace plumb {
namespace {

/// Parts of programs' names that train something else than a language model, or do not train.
constexpr std::array<std::string_view, 18> kOtherPrograms{
    "text_generation", "generate", "evaluate", "inference", "convert",    "preprocess", "vlm",  "vision", "t5", "bert",
    "biencoder",       "ict",      "retro",    "mimo",      "multimodal", "export",     "dino", "hf_"};

void check_program(const std::string& program, const std::string& name) {
  const std::string file = program.substr(program.rfind('/') + 1);
  for (const std::string_view part : kOtherPrograms) {
    if (file.find(part) == std::string::npos) continue;
    throw Error(name + ": launches " + file + ", expected the training of a decoder-only language model");
  }
}

bool is_variable(std::string_view name) {
  return std::ranges::none_of(name, [](char letter) { return letter >= 'a' && letter <= 'z'; });
}

ShellValues shell_values(const LaunchContext& context) {
  ShellValues values;
  for (const auto& [variable, value] : context.given) values.give(variable, {value});
  for (std::size_t k = 0; k < context.arguments.size(); ++k) values.set(std::to_string(k + 1), {context.arguments[k]});
  if (!context.arguments.empty()) {
    values.set("#", {std::to_string(context.arguments.size())});
    values.set("@", context.arguments);
  }
  return values;
}

[[noreturn]] void refuse_variable(const std::string& variable, const std::string& name,
                                  const std::set<std::string, std::less<>>& known) {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::string nearest = nearest_name(variable, names);
  throw Error(std::string(kGivenPlace) + ": nothing reads '" + variable + "' of " + name +
              (nearest.empty() ? "" : " (did you mean '" + nearest + "'?)"));
}

/// Throws `Error` for a variable that was given and that `used` does not name. Other names may be settings.
void check_variables(const LaunchContext& context, const std::string& name,
                     const std::set<std::string, std::less<>>& used) {
  for (const auto& [variable, value] : context.given) {
    if (is_variable(variable) && !used.contains(variable)) refuse_variable(variable, name, used);
  }
}

/// Returns the values that a configuration takes of its environment; returns the names of all variables that it asks
/// for.
std::set<std::string, std::less<>> set_environment(const LaunchContext& context, Settings& settings) {
  std::set<std::string, std::less<>> asked;
  for (const auto& [name, setting] : std::map(settings.all().begin(), settings.all().end())) {
    if (setting.values.size() != 1) continue;
    const std::string variable = unknown_in(setting.values.front());
    if (!variable.empty()) asked.insert(variable);
    const auto given = context.given.find(variable);
    if (given != context.given.end()) settings.set(name, {{given->second}, setting.place});
  }
  return asked;
}

/// Returns the setting that `name` means: as it is, or the only one of the file that has it behind the names of its
/// tables.
std::string meant_setting(const std::string& name, const Settings& settings) {
  std::string meant = name;
  std::size_t found = settings.all().contains(name) ? 2 : 0;
  for (const auto& [other, setting] : settings.all()) {
    if (found > 1 || !other.ends_with("." + name)) continue;
    meant = ++found == 1 ? other : name;
  }
  return meant;
}

/// What the caller sets replaces what the file says. Names of `variables` have had their effect already.
void set_given(const LaunchContext& context, const std::set<std::string, std::less<>>& variables, Settings& settings) {
  check_variables(context, settings.source(), variables);
  for (const auto& [given, value] : context.given) {
    if (is_variable(given)) continue;
    const std::string name = meant_setting(setting_name(given), settings);
    settings.set(name, {{value}, kGivenPlace});
    if (variables.contains(given)) settings.note_read(name);
  }
}

/// Settings of the DeepSpeed configuration that a launch names, where it can be read.
void add_deepspeed_file(LaunchCommand& launch, const LaunchContext& context) {
  for (const char* option : {"deepspeed_config", "deepspeed"}) {
    const Setting* setting = launch.settings.find(option);
    if (setting == nullptr || setting->values.empty() || setting->values.front() == "true") continue;
    const std::string path = setting->values.front();
    std::optional<std::string> text;
    if (const auto written = launch.files.find(path); written != launch.files.end()) text = written->second;
    if (!text && context.open && unknown_in(path).empty()) text = context.open(path);
    if (!text) {
      launch.notes.push_back({LaunchNote::kNotFollowed, "--" + std::string(option) + " " + path});
      continue;
    }
    const Settings configured = settings_of_json(*text, path);
    for (const auto& [name, value] : configured.all()) {
      // Scripts replace words in a template; what is no value does not count.
      const bool placeholder = value.values.size() == 1 && value.values.front().starts_with("CONFIG_");
      if (!placeholder && value.values != std::vector<std::string>{"auto"}) launch.settings.set(name, value);
    }
  }
}

/// Adds what the configurations say that `settings` is built on: "extends", and the model of Primus, which stands in
/// its own folder of the repository. What `settings` says itself stays.
void add_parents(Settings& settings, const LaunchContext& context) {
  constexpr std::size_t kMostParents = 16;
  std::vector<std::string> open = settings.list("extends");
  if (settings.text("model", "").ends_with(".yaml")) open.push_back(settings.text("model"));
  std::string folder;
  for (std::size_t k = 0; context.open && k < open.size() && k < kMostParents; ++k) {
    std::optional<std::string> text = context.open(folder + open[k]);
    for (std::string up = "../"; !text && folder.empty() && up.size() < 24; up += "../") {
      const std::string models = up + "primus/configs/models/megatron/";
      text = context.open(models + open[k]);
      if (text) folder = models;
    }
    if (!text) continue;
    const Settings parent = settings_of_yaml(*text, open[k]);
    for (const std::string& next : parent.list("extends")) open.push_back(next);
    for (const auto& [name, setting] : parent.all()) {
      if (!settings.all().contains(name)) settings.set(name, setting);
    }
  }
}

LaunchSettings script_settings(std::string_view text, const std::string& name, const LaunchContext& context,
                               std::set<std::string, std::less<>>& variables) {
  LaunchCommand launch = launch_command(text, name, shell_values(context), context.open);
  check_program(launch.program, name);
  add_deepspeed_file(launch, context);
  for (const std::string& variable : launch.variables.asked()) {
    if (launch.variables.uses(variable)) variables.insert(variable);
  }
  return {.settings = std::move(launch.settings),
          .blocking_launches = launch.blocking_launches,
          .notes = std::move(launch.notes),
          .is_command_line = true};
}

/// Adds the names of the variables of its environment that the file reads to `variables`.
LaunchSettings settings_of(std::string_view text, const std::string& name, const LaunchContext& context,
                           std::set<std::string, std::less<>>& variables) {
  if (name.ends_with(".toml")) return {LaunchFamily::kTorchtitan, settings_of_toml(text, name)};
  if (name.ends_with(".json")) return {LaunchFamily::kDeepspeed, settings_of_json(text, name)};
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    Settings settings = settings_of_yaml(text, name);
    add_parents(settings, context);
    variables = set_environment(context, settings);
    return {LaunchFamily::kMegatron, std::move(settings)};
  }
  if (is_megatron_log(text)) return {LaunchFamily::kMegatron, settings_of_megatron_log(text, name)};
  return script_settings(text, name, context, variables);
}

}  // namespace

LaunchSettings launch_settings(std::string_view text, const std::string& name, const LaunchContext& context) {
  std::set<std::string, std::less<>> variables;
  LaunchSettings said = settings_of(text, name, context, variables);
  set_given(context, variables, said.settings);
  if (said.family == LaunchFamily::kMegatron) rename_to_megatron(said.settings);
  return said;
}

LaunchJob launch_job(LaunchSettings said) {
  const auto job_of = [](LaunchFamily family, const Settings& settings) {
    switch (family) {
      case LaunchFamily::kTorchtitan:
        return torchtitan_job(settings);
      case LaunchFamily::kDeepspeed:
        return deepspeed_job(settings);
      case LaunchFamily::kMegatron:
        break;
    }
    return megatron_job(settings);
  };
  LaunchJob job = job_of(said.family, said.settings);
  job.parallelism.blocking_launches = job.parallelism.blocking_launches || said.blocking_launches;
  job.notes.insert(job.notes.begin(), said.notes.begin(), said.notes.end());
  return job;
}

LaunchJob read_launch(std::string_view text, const std::string& name, const LaunchContext& context) {
  return launch_job(launch_settings(text, name, context));
}

}  // namespace plumb
