#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/ground/given_files.hpp"
#include "tools/options/option_table.hpp"

namespace plumb {

/// A request document, read: `{"ask": "simulate", "schedule": "zb-h1", "devices": 4, "want": ["summary"]}`.
struct Request {
  /// The value of a field as a command line would give it.
  struct Field {
    std::string name;
    std::vector<std::string> values;  ///< of true: none
    bool is_switch = false;           ///< true or false
  };

  std::string ask;                ///< the question
  std::vector<Field> fields;      ///< options; those that are false or null are left out
  std::vector<std::string> want;  ///< parts of the answer
  TextsByName files;              ///< texts that stand in for files
  bool only_files = false;        ///< nothing else is read

  bool wants(std::string_view part) const;
  /// What the answer may read (`GivenFiles`); the request must outlive it.
  ReadableFiles readable() const {
    return {.texts = &files, .reach = only_files ? FileReach::kGiven : FileReach::kAll};
  }
};

/// Reads a request. Throws `Error` with line and column for broken JSON, and with the name of a field whose value is of
/// another type.
Request request_from_json(std::string_view text);

/// Fills the variables of `options`: fields are called as long options are, and as arguments without a name are
/// (`PositionalArgument::name`). Throws `Error` for unknown fields, with the nearest known one, and for whatever a
/// command line with these options would be refused for.
void take_request(const OptionTable& options, const Request& request);

/// The command that asks the same: "plumbline simulate zb-h1 --devices 4", quoted for a shell.
std::string command_of(const OptionTable& options, const Request& request);

}  // namespace plumb
