#include <utility>

#include <yaml-cpp/yaml.h>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"
#include "models/launches/config_settings.hpp"

namespace plumb {
namespace {

class YamlWalk {
 public:
  explicit YamlWalk(const std::string& name) : values_(name) {}

  void walk(const YAML::Node& node, ConfigValue at, std::uint64_t depth) {
    count_value(depth);
    if (node.IsMap()) {
      for (const auto& member : node) {
        if (!member.first.IsScalar()) continue;
        std::string key = setting_name(member.first.Scalar());
        if (at.path.size() + key.size() > kConfigName.most) {  // every value repeats the names of its tables
          throw Error(values_.source() + ": expected names of at most " + std::to_string(kConfigName.most) +
                      " bytes, with those of their tables");
        }
        const std::string path = at.path.empty() ? key : at.path + "." + key;
        walk(member.second, {.path = path, .table = at.leaf, .leaf = std::move(key)}, depth + 1);
      }
      return;
    }
    if (at.leaf.empty()) return;
    at.setting.place = values_.source() + ":" + std::to_string(node.Mark().line + 1);
    if (node.IsSequence()) {
      for (const YAML::Node& one : node) {
        if (one.IsMap() && at.leaf == "defaults") continue;  // groups of Hydra
        if (one.IsMap()) return;
        at.setting.values.push_back(element(one, depth + 1));
      }
    } else {
      at.setting.values.push_back(node.IsScalar() ? scalar(node) : "null");
    }
    values_.add(std::move(at));
  }

  ConfigValues take() { return std::move(values_); }

 private:
  void count_value(std::uint64_t depth) {
    if (depth <= kConfigLevels.most && ++count_ <= kConfigValues.most) return;
    throw Error(values_.source() + ": expected a configuration of fewer tables and values");
  }

  /// Aliases repeat values: together they are no longer than a whole configuration may be.
  std::string scalar(const YAML::Node& node) {
    bytes_ += node.Scalar().size() + 1;
    if (bytes_ <= kYamlText.most) return node.Scalar();
    throw Error(values_.source() + ": expected at most 4 MiB of values, with those that it repeats");
  }

  /// A list in a list is its texts in brackets.
  std::string element(const YAML::Node& node, std::uint64_t depth) {
    count_value(depth);
    if (node.IsScalar()) return scalar(node);
    if (!node.IsSequence()) return "[...]";
    std::string text = "[";
    for (const YAML::Node& one : node) text += (text.size() > 1 ? "," : "") + element(one, depth + 1);
    return text + "]";
  }

  ConfigValues values_;
  std::uint64_t count_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

ConfigValues values_of_yaml(std::string_view text, const std::string& name) {
  if (text.size() > kYamlText.most) throw Error(name + ": expected a configuration of at most 4 MiB");
  try {
    YamlWalk walk(name);
    const YAML::Node root = YAML::Load(std::string(text));
    if (!root.IsMap()) throw Error(name + ": expected a table of names and values");
    walk.walk(root, {}, 0);
    return walk.take();
  } catch (const YAML::Exception& error) {
    throw Error(name + ":" + std::to_string(error.mark.line + 1) + ":" + std::to_string(error.mark.column + 1) + ": " +
                error.msg);
  }
}

}  // namespace plumb
