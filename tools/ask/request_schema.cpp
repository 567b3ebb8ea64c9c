#include "tools/ask/request_schema.hpp"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace plumb {
namespace {

using SchemaJson = nlohmann::ordered_json;

/// One text, or several.
SchemaJson texts_schema() { return {{"type", {"string", "array"}}, {"items", {{"type", {"string", "number"}}}}}; }

/// A number, or a text that holds one; the bounds are those of a number.
SchemaJson whole_schema(NumberRange range) {
  SchemaJson schema = {{"type", {"integer", "string"}}, {"minimum", range.least}};
  if (range.most != std::numeric_limits<std::int64_t>::max()) schema["maximum"] = range.most;
  return schema;
}

SchemaJson real_schema(RealRange range) {
  SchemaJson schema = {{"type", {"number", "string"}}};
  if (std::isfinite(range.least)) schema["minimum"] = range.least;
  if (std::isfinite(range.most)) schema["maximum"] = range.most;
  return schema;
}

SchemaJson option_schema(const Option& option) {
  SchemaJson schema;
  switch (option.kind) {
    case OptionKind::kFlag:
      schema = {{"type", {"boolean", "null"}}};
      break;
    case OptionKind::kTexts:
      schema = texts_schema();
      break;
    case OptionKind::kWhole:
      schema = whole_schema(option.range);
      break;
    case OptionKind::kReal:
      schema = real_schema(option.reals);
      break;
    case OptionKind::kText:
      schema = {{"type", {"string", "number"}}};
      break;
  }
  schema["description"] = option.help;
  return schema;
}

SchemaJson parts_schema(const std::vector<std::string_view>& parts) {
  SchemaJson names = SchemaJson::array();
  for (const std::string_view part : parts) names.push_back(part);
  return {{"type", "array"},
          {"items", {{"enum", std::move(names)}}},
          {"description", "parts of the answer; without it: " + std::string(parts.front())}};
}

SchemaJson question_schema(const NamedQuestion& named) {
  const OptionTable& options = named.question->options();
  SchemaJson properties = {
      {"version", {{"const", 1}}},
      {"ask", {{"const", named.name}}},
      {"files",
       {{"type", "object"},
        {"additionalProperties", {{"type", "string"}}},
        {"description", "texts that stand in for files, by their names"}}},
      {"only_files", {{"type", "boolean"}, {"description", "true: nothing is read but the texts of 'files'"}}}};
  SchemaJson required = {"ask"};
  if (const auto parts = named.question->parts(); !parts.empty()) properties["want"] = parts_schema(parts);
  for (const PositionalArgument& argument : options.arguments()) {
    if (argument.name.empty()) continue;
    properties[argument.name] = argument.several ? texts_schema() : SchemaJson{{"type", "string"}};
    properties[argument.name]["description"] = argument.placeholder;
    if (argument.least > 0) required.push_back(argument.name);
  }
  for (const OptionGroup& group : options.groups()) {
    for (const Option& option : group.options) properties[option.name] = option_schema(option);
  }
  return {{"type", "object"},
          {"title", options.usage()},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

}  // namespace

std::string request_schema(const std::vector<NamedQuestion>& questions) {
  SchemaJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "A request of Plumbline"},
                       {"oneOf", SchemaJson::array()},
                       {"$defs", SchemaJson::object()}};
  for (const NamedQuestion& named : questions) {
    const std::string name(named.name);
    schema["oneOf"].push_back({{"$ref", "#/$defs/" + name}});
    schema["$defs"][name] = question_schema(named);
  }
  return schema.dump(1) + "\n";
}

}  // namespace plumb
