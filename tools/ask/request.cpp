#include "tools/ask/request.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

using RequestJson = nlohmann::json;

constexpr const char* kName = "request";

std::string plain_text(const RequestJson& value, const std::string& name) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return value.dump();
  throw Error(std::string(kName) + ": '" + name + "' is " + value.type_name() +
              ", expected a text, a number, true, false, or an array of texts");
}

Request::Field field_of(const std::string& name, const RequestJson& value) {
  Request::Field field{.name = name, .values = {}, .is_switch = value.is_boolean()};
  if (value.is_boolean()) return field;
  if (!value.is_array()) {
    field.values.push_back(plain_text(value, name));
    return field;
  }
  for (const RequestJson& each : value) field.values.push_back(plain_text(each, name));
  return field;
}

TextsByName files_of(const RequestJson& value) {
  TextsByName files;
  if (!value.is_object()) throw Error("request: 'files' is no object, expected names with texts");
  for (const auto& [name, text] : value.items()) {
    if (!text.is_string()) throw Error("request: file '" + name + "' is no text, expected its content");
    files.emplace(name, text.get<std::string>());
  }
  return files;
}

bool is_retired(const OptionTable& options, const Request::Field& field) {
  return field.is_switch && std::ranges::find(options.retired(), field.name) != options.retired().end();
}

/// Read twice: by the strict reader, which says what is wrong with a text, and for values as they are written.
RequestJson parsed(std::string_view text) {
  const JsonDocument strict(std::string(text), kName);
  return RequestJson::parse(text);
}

const PositionalArgument* argument_of(const OptionTable& options, std::string_view name) {
  for (const PositionalArgument& argument : options.arguments()) {
    if (!argument.name.empty() && argument.name == name) return &argument;
  }
  return nullptr;
}

[[noreturn]] void throw_unknown_field(const OptionTable& options, const std::string& name) {
  std::vector<std::string_view> known;
  for (const PositionalArgument& argument : options.arguments()) known.push_back(argument.name);
  for (const OptionGroup& group : options.groups()) {
    for (const Option& option : group.options) known.push_back(option.name);
  }
  throw_unknown(options.command() + " field", name, known);
}

void check_kind(const Option& option, const Request::Field& field, const std::string& where) {
  const bool flag = option.kind == OptionKind::kFlag;
  if (flag != field.is_switch) throw Error(where + ": expected " + (flag ? "true or false" : "a value"));
  if (!flag && option.kind != OptionKind::kTexts && field.values.size() != 1) {
    throw Error(where + ": an array of " + std::to_string(field.values.size()) + " values, expected a single value");
  }
}

}  // namespace

bool Request::wants(std::string_view part) const { return std::ranges::find(want, part) != want.end(); }

Request request_from_json(std::string_view text) {
  const RequestJson document = parsed(text);
  if (!document.is_object()) throw Error("request: expected an object");
  Request request;
  for (const auto& [name, value] : document.items()) {
    if (name == "version") {
      if (value != 1) throw Error("request: version " + value.dump() + ", expected 1");
    } else if (name == "ask") {
      request.ask = plain_text(value, name);
    } else if (name == "want") {
      request.want = field_of(name, value).values;
    } else if (name == "files") {
      request.files = files_of(value);
    } else if (name == "only_files") {
      if (!value.is_boolean()) throw Error("request: 'only_files' is no truth value, expected true or false");
      request.only_files = value.get<bool>();
    } else if (!value.is_null() && value != false) {
      request.fields.push_back(field_of(name, value));
    }
  }
  if (request.ask.empty()) throw Error("request: 'ask' is missing, expected a question such as \"simulate\"");
  return request;
}

void take_request(const OptionTable& options, const Request& request) {
  std::vector<std::string> positionals;
  std::vector<TakenOption> given;
  for (const PositionalArgument& argument : options.arguments()) {
    for (const Request::Field& field : request.fields) {
      if (!argument.name.empty() && field.name == argument.name) {
        positionals.insert(positionals.end(), field.values.begin(), field.values.end());
      }
    }
  }
  for (const Request::Field& field : request.fields) {
    if (is_retired(options, field) || argument_of(options, field.name) != nullptr) continue;
    const Option* option = options.find(field.name);
    if (option == nullptr) throw_unknown_field(options, field.name);
    const std::string where = options.command() + ": " + field.name;
    check_kind(*option, field, where);
    if (field.is_switch || !field.values.empty()) given.push_back({option, field.values, where});
  }
  options.take(std::move(given), positionals);
}

std::string command_of(const OptionTable& options, const Request& request) {
  std::string named = "plumbline " + options.command();
  std::string text;
  for (const Request::Field& field : request.fields) {
    const bool positional = argument_of(options, field.name) != nullptr;
    if (is_retired(options, field)) continue;
    if (field.is_switch) text += " --" + field.name;
    for (const std::string& value : field.values) {
      (positional ? named : text) += (positional ? " " : " --" + field.name + " ") + shell_word(value);
    }
  }
  return named + text;
}

}  // namespace plumb
