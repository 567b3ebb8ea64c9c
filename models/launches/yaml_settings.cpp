#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <yaml-cpp/yaml.h>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"
#include "models/launches/config_settings.hpp"

namespace plumb {
namespace {

/// Tables whose keys say nothing without them.
constexpr std::array<std::string_view, 10> kGeneralTables{
    "zero_optimization", "fp16",         "bf16", "optimizer", "scheduler", "activation_checkpointing", "tokenizer",
    "precision_config",  "rope_scaling", "optim"};

/// "${NAME:value}" is value; other references stand for something that is not known.
std::string resolved(const std::string& text) {
  if (!text.starts_with("${") || !text.ends_with('}')) return text;
  const std::string inside = text.substr(2, text.size() - 3);
  const std::size_t colon = inside.find(':');
  const bool is_reference = inside.find_first_of("${") != std::string::npos;
  if (colon != std::string::npos && !is_reference && inside.find(',') == std::string::npos &&
      !inside.starts_with("oc.")) {
    return inside.substr(colon + 1);
  }
  return kUnknownBegin + inside.substr(0, colon) + kUnknownEnd;
}

class YamlWalk {
 public:
  explicit YamlWalk(const std::string& name) : settings_(name) {}

  void walk(const YAML::Node& node, const std::string& table, const std::string& leaf, std::uint64_t depth) {
    count_value(depth);
    if (node.IsMap()) {
      for (const auto& member : node) {
        if (!member.first.IsScalar()) continue;
        walk(member.second, leaf, setting_name(member.first.Scalar()), depth + 1);
      }
      return;
    }
    if (leaf.empty()) return;
    Setting setting{{}, settings_.source() + ":" + std::to_string(node.Mark().line + 1)};
    if (node.IsSequence()) {
      for (const YAML::Node& one : node) {
        if (one.IsMap()) return;
        count_value(depth);
        setting.values.push_back(one.IsScalar() ? resolved(one.Scalar()) : "[...]");
        count_text(setting.values.back());
      }
    } else {
      setting.values.push_back(node.IsScalar() ? resolved(node.Scalar()) : "null");
      count_text(setting.values.back());
    }
    keep(table, leaf, std::move(setting));
  }

  /// References to other values, "${model.encoder_seq_length}", become these values.
  Settings take() {
    for (const auto& [name, setting] : std::map(settings_.all().begin(), settings_.all().end())) {
      if (setting.values.size() != 1) continue;
      const std::string reference = unknown_in(setting.values.front());
      if (reference.empty()) continue;
      const auto found = settings_.all().find(setting_name(reference.substr(reference.rfind('.') + 1)));
      if (found == settings_.all().end() || found->first == name) continue;
      for (const std::string& value : found->second.values) count_text(value);
      settings_.set(name, {found->second.values, setting.place});
    }
    return std::move(settings_);
  }

 private:
  void count_value(std::uint64_t depth) {
    if (depth <= kConfigLevels.most && ++count_ <= kConfigValues.most) return;
    throw Error(settings_.source() + ": expected a configuration of fewer tables and values");
  }

  /// Aliases and references repeat values: together they are no longer than a whole configuration may be.
  void count_text(const std::string& value) {
    bytes_ += value.size() + 1;
    if (bytes_ <= kYamlText.most) return;
    throw Error(settings_.source() + ": expected at most 4 MiB of values, with those that it repeats");
  }

  void keep(const std::string& table, const std::string& leaf, Setting setting) {
    if (std::ranges::find(kGeneralTables, table) != kGeneralTables.end()) {
      settings_.set(table + "." + leaf, setting);
      if (table != "tokenizer" && table != "optimizer" && table != "optim") return;
    }
    const bool empty = setting.values.size() == 1 && setting.values.front() == "null";
    const int rank = empty ? 0 : table == "model" ? 2 : 1;
    int& best = ranks_[leaf];
    if (rank < best || (rank == best && settings_.all().contains(leaf))) return;
    best = rank;
    settings_.set(leaf, std::move(setting));
  }

  Settings settings_;
  std::map<std::string, int> ranks_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

Settings settings_of_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kYamlText.most) throw Error(name + ": expected a configuration of at most 4 MiB");
  try {
    YamlWalk walk(name);
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) throw Error(name + ": expected a table of names and values");
    walk.walk(root, "", "", 0);
    return walk.take();
  } catch (const YAML::Exception& error) {
    throw Error(name + ":" + std::to_string(error.mark.line + 1) + ":" + std::to_string(error.mark.column + 1) + ": " +
                error.msg);
  }
}

}  // namespace plumb
