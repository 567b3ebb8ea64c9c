#include "models/launches/yaml_launch.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/launches/config_settings.hpp"
#include "models/launches/megatron_names.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostFiles = 64;

std::string with_ending(const std::string& file) {
  return file.ends_with(".yaml") || file.ends_with(".yml") ? file : file + ".yaml";
}

/// Files that a configuration is built on.
class ConfigFiles {
 public:
  ConfigFiles(const ShellSource& open, ConfigVariables& variables) : open_(open), variables_(variables) {}

  /// Returns the file at one of `paths` with all that it extends; none: no such file.
  std::optional<ConfigValues> read(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
      std::optional<std::string> text = open_ && read_.size() < kMostFiles ? open_(path) : std::nullopt;
      if (!text) continue;
      read_.push_back(path);
      ConfigValues values = values_of_yaml(*text, path);
      add_extended(path.substr(0, path.rfind('/') == std::string::npos ? 0 : path.rfind('/') + 1), values);
      return values;
    }
    return std::nullopt;
  }

  /// Adds what `values`, a file in `folder`, extends: of several files the last counts.
  void add_extended(const std::string& folder, ConfigValues& values) {
    const ConfigValue* extends = values.find("extends");
    if (extends == nullptr) extends = values.find("bases");  // older files of Primus
    if (extends == nullptr) return;
    std::vector<std::string> names = extends->setting.values;
    const std::string place = extends->setting.place;
    std::ranges::reverse(names);
    for (const std::string& name : names) {
      const std::string file = values.resolved(name, variables_);
      if (const std::optional<ConfigValues> below = read({folder + file})) {
        values.add_below(*below);
      } else {
        notes.push_back({LaunchNote::kNotFollowed, "extends " + file + " (" + place + ")"});
      }
    }
  }

  /// Adds the files of the list "defaults" of Hydra, beside `values`; those behind "_self_" come above it.
  void add_defaults(const std::string& folder, ConfigValues& values) {
    const ConfigValue* defaults = values.find("defaults");
    if (defaults == nullptr) return;
    bool above = false;
    const std::vector<std::string> names = defaults->setting.values;
    for (const std::string& name : names) {
      if (name == "_self_") above = true;
      const bool plain =
          !name.empty() && name.find_first_of("_@ ") != 0 && name.find_first_of("@ :/") == std::string::npos;
      std::optional<ConfigValues> file = plain ? read({folder + with_ending(name)}) : std::nullopt;
      if (!file) continue;
      if (above) std::swap(*file, values);
      values.add_below(*file);
    }
  }

  const std::vector<std::string>& names() const { return read_; }
  std::vector<LaunchNote> notes{};

 private:
  const ShellSource& open_;
  ConfigVariables& variables_;
  std::vector<std::string> read_;
};

/// What the caller sets counts for the values that refer to it, too.
void give_settings(const ConfigVariables& variables, ConfigValues& values) {
  for (const auto& [name, value] : variables.settings) values.give(setting_name(name), value);
}

/// Keys that only one system has, which is not read.
constexpr std::array<std::pair<std::string_view, std::string_view>, 16> kOtherSystems{
    {{"base_emb_dim", "MaxText"},
     {"base_num_decoder_layers", "MaxText"},
     {"per_device_batch_size", "MaxText"},
     {"ici_fsdp_parallelism", "MaxText"},
     {"parallelism.pp_engine", "Nanotron"},
     {"tokens.micro_batch_size", "Nanotron"},
     {"model.model_config.hidden_size", "Nanotron"},
     {"step_scheduler.global_batch_size", "NeMo Automodel"},
     {"step_scheduler.local_batch_size", "NeMo Automodel"},
     {"finetuning_type", "LLaMA-Factory"},
     {"base_model", "Axolotl"},
     {"compute_environment", "Hugging Face Accelerate"},
     {"actor_rollout_ref.model.path", "verl"},
     {"apiversion", "Kubernetes"},
     {"pipeline_name", "a pipeline of stages, not of a training job"},
     {"jobs.build.runs_on", "GitHub Actions"}}};

void refuse_other_system(const ConfigValues& values) {
  for (const auto& [key, system] : kOtherSystems) {
    if (const ConfigValue* found = values.find(key)) {
      throw Error(found->setting.place + ": " + found->leaf + " is a setting of " + std::string(system) +
                  ", which is not read; expected a configuration of NeMo, Megatron-Bridge, Primus or GPT-NeoX");
    }
  }
}

/// Returns the table of the module of Primus that trains; empty: the file is none of Primus.
std::string primus_module(const ConfigValues& values) {
  std::string best;
  for (const ConfigValue& value : values.all()) {
    const bool names_framework =
        value.leaf == "framework" && value.path.starts_with("modules.") && std::ranges::count(value.path, '.') == 2;
    if (!names_framework || (!best.empty() && value.table != "pre_trainer")) continue;
    best = "modules." + value.table;
  }
  return best;
}

/// Beside the file, or where Primus keeps it, in a folder above.
std::vector<std::string> places_of(const std::string& file, const std::string& kind, const std::string& framework) {
  std::vector<std::string> places{file};
  std::string up;
  for (int k = 0; k < 8; ++k, up += "../") {
    places.push_back(std::string(up).append("primus/configs/").append(kind).append("/").append(framework).append("/") +
                     file);
  }
  return places;
}

/// A module of Primus: its overrides, above its configuration, above its model.
class PrimusLayers {
 public:
  PrimusLayers(ConfigValues values, std::string module, ConfigFiles& files, ConfigVariables& variables)
      : values_(std::move(values)), module_(std::move(module)), files_(files), variables_(variables) {
    framework_ = said("framework");
  }

  LaunchSettings settings() {
    static constexpr std::array<std::string_view, 3> kFrameworks{"megatron", "torchtitan", "megatron_bridge"};
    if (std::ranges::find(kFrameworks, framework_) == kFrameworks.end()) {
      throw Error(place("framework") + ": framework: '" + framework_ +
                  "' is not read here, expected megatron, torchtitan or megatron_bridge");
    }
    const std::string config = said("config");
    const std::string model = said("model");
    ConfigValues own = values_;
    own.descend(module_ + ".overrides");
    std::string missing;
    if (!config.empty()) {
      const std::optional<ConfigValues> file = files_.read(places_of(with_ending(config), "modules", framework_));
      if (!file) throw Error(not_found("config", config, "modules"));
      own.add_below(*file);
    }
    if (!model.empty()) {
      const std::optional<ConfigValues> file = files_.read(places_of(with_ending(model), "models", framework_));
      if (file) own.add_below(*file);
      if (!file) missing = not_found("model", model, "models");
    }
    give_settings(variables_, own);
    const bool titan = framework_ == "torchtitan";
    LaunchSettings result{.family = titan ? LaunchFamily::kTorchtitan : LaunchFamily::kMegatron,
                          .settings = titan ? own.by_path(variables_) : own.by_leaf(variables_)};
    for (const char* name : {"extends", "bases", "defaults", "model"}) {
      if (!titan) result.settings.remove(name);
    }
    result.missing = std::move(missing);
    if (result.missing.empty() && framework_ == "megatron_bridge") {
      result.missing = place("model") + ": model: its recipe is a program, which describes the network";
    }
    return result;
  }

 private:
  std::string said(const char* name) {
    const ConfigValue* found = values_.find(module_ + "." + name);
    if (found == nullptr || found->setting.values.size() != 1) return {};
    const std::string text = values_.resolved(found->setting.values.front(), variables_);
    if (const std::string unknown = unknown_in(text); !unknown.empty()) {
      throw Error(found->setting.place + ": " + name + ": the value of " + unknown +
                  " is not in this file, expected it with --job-set " + unknown + "=VALUE");
    }
    return text == "null" ? std::string{} : text;
  }

  std::string place(const char* name) const {
    const ConfigValue* found = values_.find(module_ + "." + name);
    return found == nullptr ? values_.source() : found->setting.place;
  }

  std::string not_found(const char* name, const std::string& file, const std::string& kind) const {
    return place(name) + ": " + name + ": the file '" + with_ending(file) +
           "' is not found, expected it beside this one, or in primus/configs/" + kind + "/" + framework_ +
           " of a folder above";
  }

  ConfigValues values_;
  std::string module_;
  ConfigFiles& files_;
  ConfigVariables& variables_;
  std::string framework_;
};

}  // namespace

LaunchSettings yaml_launch(std::string_view text, const std::string& name, const ShellSource& open,
                           ConfigVariables& variables, bool is_named) {
  ConfigValues values = values_of_yaml(text, name);
  ConfigFiles files(open, variables);
  const std::string module = primus_module(values);
  LaunchSettings result{.settings = Settings(name)};
  if (module.empty()) {
    refuse_other_system(values);
    const std::string folder = name.substr(0, name.rfind('/') == std::string::npos ? 0 : name.rfind('/') + 1);
    files.add_extended(is_named ? folder : "", values);
    files.add_defaults(is_named ? folder : "", values);
    give_settings(variables, values);
    result.settings = values.by_leaf(variables);
    result.settings.remove("extends");
    result.settings.remove("defaults");
    if (is_neox_configuration(result.settings)) add_system_defaults(MegatronSystem::kNeoX, result.settings);
  } else {
    result = PrimusLayers(std::move(values), module, files, variables).settings();
  }
  result.notes = std::move(files.notes);
  for (const std::string& file : files.names()) result.notes.push_back({LaunchNote::kReadWith, file});
  return result;
}

}  // namespace plumb
