#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/launches/settings.hpp"

namespace plumb {

/// A value of a configuration in tables, before references in it are replaced.
struct ConfigValue {
  std::string path;   ///< keys that lead to it, joined by '.'
  std::string table;  ///< the key before the last one; empty: it stands in no table
  std::string leaf;   ///< the last key
  Setting setting{};
};

/// What references to the environment are looked up in, and which names were looked up.
struct ConfigVariables {
  std::map<std::string, std::string> given{};     ///< variables
  std::map<std::string, std::string> settings{};  ///< values of the caller for settings, by their paths
  std::set<std::string, std::less<>> asked{};
};

/// The values of a configuration, with those of the files that it is built on.
class ConfigValues {
 public:
  explicit ConfigValues(std::string source) : source_(std::move(source)) {}

  const std::string& source() const { return source_; }
  const std::vector<ConfigValue>& all() const { return values_; }
  void add(ConfigValue value) { values_.push_back(std::move(value)); }
  /// Adds the values of `below` whose paths are not there.
  void add_below(const ConfigValues& below);
  /// Returns the value at `path` as the file has it; null: there is none.
  const ConfigValue* find(std::string_view path) const;
  /// Sets what the caller gives: the values at `path`, or at paths that end with it.
  void give(std::string_view path, const std::string& value);
  /// Keeps what begins with `path` and a dot, without this beginning.
  void descend(std::string_view path);

  /// Returns the values by their whole paths, with the references in them replaced.
  Settings by_path(ConfigVariables& variables) const;
  /// Returns the values by their last keys, as `settings_of_yaml` says.
  Settings by_leaf(ConfigVariables& variables) const;
  /// Returns `text` with references replaced.
  std::string resolved(const std::string& text, ConfigVariables& variables) const;

 private:
  std::string source_;
  std::vector<ConfigValue> values_;
};

/// Returns whether keys of a table of that name say nothing without it ("fp16.enabled").
bool is_general_table(std::string_view table);

/// Returns what `name:arguments` of a resolver comes to that computes ("multiply", "floor_div", "if"); empty: nobody
/// knows it, or it cannot be computed of these.
std::string computed_reference(std::string_view name, const std::vector<std::string>& arguments);

}  // namespace plumb
