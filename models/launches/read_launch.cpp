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
#include "models/launches/torchtitan_network.hpp"
#include "models/launches/yaml_launch.hpp"

namespace plumb {
namespace {

/// Parts of programs' names that train something else than a language model, or do not train.
constexpr std::array<std::string_view, 18> kOtherPrograms{
    "text_generation", "generate", "evaluate", "inference", "convert",    "preprocess", "vlm",  "vision", "t5", "bert",
    "biencoder",       "ict",      "retro",    "mimo",      "multimodal", "export",     "dino", "hf_"};

/// Folders of examples for such programs, whose files have general names ("examples/multimodal/train.py").
constexpr std::array<std::string_view, 4> kOtherFolders{"multimodal", "mimo", "retro", "inference"};

void check_program(const std::string& program, const std::string& name) {
  const std::size_t slash = program.rfind('/');
  const std::string file = program.substr(slash + 1);
  const std::string path = slash == std::string::npos ? std::string{} : program.substr(0, slash);
  const bool other_folder = std::ranges::find(kOtherFolders, path.substr(path.rfind('/') + 1)) != kOtherFolders.end();
  const bool swift = program.starts_with("swift ") || program.starts_with("megatron ");
  const bool trains = program == "megatron sft" || program == "megatron pt";
  if (other_folder || (swift && !trains)) {
    throw Error(name + ": launches " + program + ", expected the training of a decoder-only language model");
  }
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

/// Returns the setting that `name` means: as it is, or the only one of the file that has it behind the names of its
/// tables. Megatron's family knows settings by their last keys, so that the path of one, as Hydra spells it, is its
/// key.
std::string meant_setting(const std::string& name, const LaunchSettings& said) {
  const Settings& settings = said.settings;
  std::string meant = name;
  std::size_t found = settings.all().contains(name) ? 2 : 0;
  for (const auto& [other, setting] : settings.all()) {
    if (found > 1 || !other.ends_with("." + name)) continue;
    meant = ++found == 1 ? other : name;
  }
  const std::size_t dot = name.rfind('.');
  if (found == 0 && said.family == LaunchFamily::kTorchtitan) return titan_setting_called(name);
  if (found > 0 || dot == std::string::npos || said.family != LaunchFamily::kMegatron) return meant;
  const std::size_t table = name.rfind('.', dot - 1) + 1;
  return name.substr(is_general_table(std::string_view(name).substr(table, dot - table)) ? table : dot + 1);
}

/// What the caller sets replaces what the file says. Names of `variables` have had their effect already.
void set_given(const LaunchContext& context, const std::set<std::string, std::less<>>& variables,
               LaunchSettings& said) {
  Settings& settings = said.settings;
  check_variables(context, settings.source(), variables);
  for (const auto& [given, value] : context.given) {
    if (is_variable(given)) continue;
    const std::string name = meant_setting(setting_name(given), said);
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

/// Returns the variables and the settings that the caller gives.
ConfigVariables environment_of(const LaunchContext& context) {
  ConfigVariables environment{.given = context.given};
  for (const auto& [name, value] : context.given) {
    if (!is_variable(name)) environment.settings.emplace(name, value);
  }
  return environment;
}

/// Returns what a program of Hydra's says of its configuration, in the text of the program: `config_name="custom"`.
std::string hydra_argument(std::string_view program, std::string_view name) {
  const std::size_t decorator = program.find("hydra_runner(");
  const std::size_t main = program.find("hydra.main(");
  const std::size_t at = program.find(std::string(name) + "=", std::min(decorator, main));
  if (std::min(decorator, main) == std::string_view::npos || at == std::string_view::npos) return {};
  std::string_view value = program.substr(at + name.size() + 1);
  if (value.empty() || (value[0] != '"' && value[0] != '\'')) return {};
  return std::string(value.substr(1, value.find(value[0], 1) - 1));
}

/// A program of Hydra's names its configuration itself, where the command does not.
void add_hydra_names(const LaunchCommand& launch, const LaunchContext& context, Settings& settings) {
  if (!context.open || !launch.program.ends_with(".py") || settings.has("config_name")) return;
  const std::optional<std::string> text = context.open(launch.program.substr(launch.program.rfind('/') + 1));
  if (!text) return;
  for (const char* name : {"config_name", "config_path"}) {
    const std::string value = hydra_argument(*text, name);
    if (!value.empty() && !settings.has(name)) settings.set(name, {{value}, launch.program});
  }
}

/// Returns the names of the configurations that a command builds on, where one says so.
std::vector<std::string> named_configurations(const Settings& settings) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& folder, const std::string& file) {
    const bool complete = file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".toml");
    if (unknown_in(file).empty() && unknown_in(folder).empty()) {
      names.push_back((folder.empty() ? "" : folder + "/") + file + (complete ? "" : ".yaml"));
    }
  };
  const auto value = [&](const char* name) {
    const Setting* setting = settings.find(name);
    return setting == nullptr || setting->values.size() != 1 ? std::string{} : setting->values.front();
  };
  for (const std::string& file : settings.list("configuration_files")) add("", file);
  const Setting* folder = settings.find("d");  // deepy.py train.py -d configs 1-3B.yml local_setup.yml
  for (std::size_t k = 1; folder != nullptr && k < folder->values.size(); ++k) {
    if (folder->values[k].ends_with(".yml")) add(folder->values.front(), folder->values[k]);
  }
  for (const char* name : {"job.config_file", "config_file", "yaml_cfg", "config", "cfg"}) {
    const std::string file = value(name);
    if (file.ends_with(".yaml") || file.ends_with(".yml") || file.ends_with(".toml")) add("", file);
  }
  if (const std::string file = value("config_name"); !file.empty()) add(value("config_path"), file);
  return names;
}

/// Adds what the configurations say on which the command of a script builds; its own options stay.
void add_configurations(const LaunchCommand& launch, const LaunchContext& context, ConfigVariables& environment,
                        LaunchSettings& said) {
  for (const std::string& name : named_configurations(launch.settings)) {
    std::optional<std::string> text;
    if (const auto written = launch.files.find(name); written != launch.files.end()) text = written->second;
    if (!text && context.open) text = context.open(name);
    if (!text) {
      said.notes.push_back({LaunchNote::kNotFollowed, "the configuration " + name});
      said.missing = launch.settings.source() + ": the configuration '" + name + "' is not found, from the folder of " +
                     "this file, and may say the network";
      continue;
    }
    LaunchSettings below = name.ends_with(".toml") ? LaunchSettings{.family = LaunchFamily::kTorchtitan,
                                                                    .settings = settings_of_toml(*text, name)}
                                                   : yaml_launch(*text, name, context.open, environment, true);
    said.family = below.family;
    for (const auto& [key, setting] : below.settings.all()) {
      if (!said.settings.all().contains(key)) said.settings.set(key, setting);
    }
    said.notes.push_back({LaunchNote::kReadWith, name});
    said.notes.insert(said.notes.end(), below.notes.begin(), below.notes.end());
  }
}

/// What systems say outside of the files that are read: torchtitan's configurations by name, ms-swift's defaults.
void add_systems(const LaunchCommand& launch, LaunchSettings& said) {
  if (launch.program == "megatron sft" || launch.program == "megatron pt") {
    add_system_defaults(MegatronSystem::kSwift, said.settings);
  }
  if (launch.program.find("torchtitan") == std::string::npos) return;
  said.family = LaunchFamily::kTorchtitan;
  if (!said.settings.has("module") || !said.settings.has("config")) return;
  const std::string module = said.settings.text("module");
  add_titan_configuration(module.substr(module.rfind('.') + 1), said.settings.text("config"),
                          said.settings.find("config")->place, said.settings);
}

LaunchSettings script_settings(std::string_view text, const std::string& name, const LaunchContext& context,
                               std::set<std::string, std::less<>>& variables) {
  LaunchCommand launch = launch_command(text, name, shell_values(context), context.open);
  check_program(launch.program, name);
  add_deepspeed_file(launch, context);
  add_hydra_names(launch, context, launch.settings);
  LaunchSettings said{.settings = launch.settings,
                      .blocking_launches = launch.blocking_launches,
                      .notes = launch.notes,
                      .is_command_line = true};
  ConfigVariables environment = environment_of(context);
  for (const auto& [variable, value] : launch.variables.all()) {
    if (value.size() == 1 && unknown_in(value.front()).empty()) environment.given.emplace(variable, value.front());
  }
  add_configurations(launch, context, environment, said);
  add_systems(launch, said);
  for (const std::string& variable : launch.variables.asked()) {
    if (launch.variables.uses(variable)) variables.insert(variable);
  }
  variables.insert(environment.asked.begin(), environment.asked.end());
  return said;
}

/// Adds the names of the variables of its environment that the file reads to `variables`.
LaunchSettings settings_of(std::string_view text, const std::string& name, const LaunchContext& context,
                           std::set<std::string, std::less<>>& variables) {
  if (name.ends_with(".toml")) return {LaunchFamily::kTorchtitan, settings_of_toml(text, name)};
  if (name.ends_with(".json")) return {LaunchFamily::kDeepspeed, settings_of_json(text, name)};
  if (name.ends_with(".yaml") || name.ends_with(".yml")) {
    ConfigVariables environment = environment_of(context);
    LaunchSettings said = yaml_launch(text, name, context.open, environment);
    variables = std::move(environment.asked);
    return said;
  }
  if (is_megatron_log(text)) return {LaunchFamily::kMegatron, settings_of_megatron_log(text, name)};
  return script_settings(text, name, context, variables);
}

}  // namespace

LaunchSettings launch_settings(std::string_view text, const std::string& name, const LaunchContext& context) {
  std::set<std::string, std::less<>> variables;
  LaunchSettings said = settings_of(text, name, context, variables);
  set_given(context, variables, said);
  if (said.family == LaunchFamily::kMegatron) rename_to_megatron(said.settings);
  return said;
}

LaunchJob launch_job(LaunchSettings said) {
  const auto job_of = [&](LaunchFamily family, const Settings& settings) {
    switch (family) {
      case LaunchFamily::kTorchtitan:
        return torchtitan_job(settings);
      case LaunchFamily::kDeepspeed:
        return deepspeed_job(settings);
      case LaunchFamily::kMegatron:
        break;
    }
    return megatron_job(settings, said.is_command_line);
  };
  LaunchJob job = job_of(said.family, said.settings);
  job.parallelism.blocking_launches = job.parallelism.blocking_launches || said.blocking_launches;
  job.notes.insert(job.notes.begin(), said.notes.begin(), said.notes.end());
  if (!job.network && !said.missing.empty()) job.missing = said.missing;
  return job;
}

LaunchJob read_launch(std::string_view text, const std::string& name, const LaunchContext& context) {
  return launch_job(launch_settings(text, name, context));
}

}  // namespace plumb
