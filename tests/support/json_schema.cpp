#include "tests/support/json_schema.hpp"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace plumb::testing {
namespace {

using Json = nlohmann::json;

bool has_type(const Json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "number") return value.is_number();
  if (type == "integer") return value.is_number_integer();
  throw std::invalid_argument("schema: type " + type);
}

class Checker {
 public:
  explicit Checker(const Json& root) : root_(root) {}

  std::string check(const Json& schema, const Json& value, const std::string& path) {
    for (const auto& [keyword, argument] : schema.items()) {
      const std::string wrong = check_keyword(schema, keyword, argument, value, path);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  std::string check_keyword(const Json& schema, const std::string& keyword, const Json& argument, const Json& value,
                            const std::string& path) {
    static const std::set<std::string> kAnnotations{"$schema", "$id", "title", "description", "default", "$defs"};
    if (kAnnotations.contains(keyword)) return "";
    const auto fail = [&](bool ok) { return ok ? "" : path + ": violates " + keyword + " " + argument.dump(); };
    if (keyword == "$ref") return check(resolve(argument), value, path);
    if (keyword == "const") return fail(value == argument);
    if (keyword == "enum") return fail(std::find(argument.begin(), argument.end(), value) != argument.end());
    if (keyword == "type") return fail(any_type(argument, value));
    if (keyword == "oneOf") return fail(matches(argument, value, path) == 1);
    if (keyword == "allOf") return fail(matches(argument, value, path) == argument.size());
    if (keyword == "minimum") return fail(!value.is_number() || value >= argument);
    if (keyword == "maximum") return fail(!value.is_number() || value <= argument);
    if (keyword == "pattern")
      return fail(!value.is_string() || std::regex_search(value.get<std::string>(), pattern(argument)));
    if (keyword == "minItems") return fail(!value.is_array() || value.size() >= argument);
    if (keyword == "maxItems") return fail(!value.is_array() || value.size() <= argument);
    if (keyword == "uniqueItems") {
      return fail(!value.is_array() || std::set<Json>(value.begin(), value.end()).size() == value.size());
    }
    if (keyword == "items") return check_items(argument, value, path);
    if (keyword == "required") return check_required(argument, value, path);
    if (keyword == "properties") return check_properties(argument, value, path);
    if (keyword == "additionalProperties") return check_additional(schema, argument, value, path);
    throw std::invalid_argument("schema: keyword " + keyword);
  }

  static bool any_type(const Json& types, const Json& value) {
    if (types.is_string()) return has_type(value, types);
    return std::any_of(types.begin(), types.end(), [&](const Json& type) { return has_type(value, type); });
  }

  std::size_t matches(const Json& schemas, const Json& value, const std::string& path) {
    std::size_t count = 0;
    for (const Json& schema : schemas) count += check(schema, value, path).empty() ? 1 : 0;
    return count;
  }

  std::string check_items(const Json& schema, const Json& value, const std::string& path) {
    if (!value.is_array()) return "";
    for (std::size_t i = 0; i < value.size(); ++i) {
      const std::string wrong = check(schema, value[i], path + "/" + std::to_string(i));
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  static std::string check_required(const Json& keys, const Json& value, const std::string& path) {
    for (const std::string key : keys) {
      if (value.is_object() && !value.contains(key)) return path + ": lacks " + key;
    }
    return "";
  }

  std::string check_properties(const Json& properties, const Json& value, const std::string& path) {
    for (const auto& [key, schema] : properties.items()) {
      if (!value.is_object() || !value.contains(key)) continue;
      const std::string wrong = check(schema, value[key], path + "/" + key);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  std::string check_additional(const Json& schema, const Json& allowed, const Json& value, const std::string& path) {
    if (!value.is_object()) return "";
    for (const auto& [key, member] : value.items()) {
      if (schema.contains("properties") && schema["properties"].contains(key)) continue;
      if (allowed.is_boolean()) return path + ": unknown key " + key;
      const std::string wrong = check(allowed, member, path + "/" + key);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  const Json& resolve(const std::string& reference) const { return root_.at(Json::json_pointer(reference.substr(1))); }

  const std::regex& pattern(const std::string& text) {
    const auto found = patterns_.find(text);
    return found != patterns_.end() ? found->second : patterns_.emplace(text, std::regex(text)).first->second;
  }

  const Json& root_;
  std::map<std::string, std::regex> patterns_;
};

}  // namespace

std::string schema_violation(const std::string& schema, const std::string& document) {
  const Json rules = Json::parse(schema);
  return Checker(rules).check(rules, Json::parse(document), "");
}

}  // namespace plumb::testing
