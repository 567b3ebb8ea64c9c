#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/command.hpp"

namespace plumb {

/// Smallest and largest value that an option takes.
struct NumberRange {
  std::int64_t least = 1;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
};

struct RealRange {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

/// The options of one command: declared with the variable that each fills, then parsed once.
///
/// Names are long ("json") or long and short ("devices,p"). Every mistake is an `Error` that names the command and the
/// option; unknown options come with the nearest known one.
class ArgumentParser {
 public:
  /// `usage` is what follows the program's name: "simulate NAME|FILE [options]". Its first word names the command.
  ArgumentParser(std::string usage, std::string summary);
  ArgumentParser(const ArgumentParser&) = delete;
  ArgumentParser& operator=(const ArgumentParser&) = delete;
  ~ArgumentParser();

  /// Following options are listed under `title`.
  ArgumentParser& group(const std::string& title);
  ArgumentParser& flag(const std::string& name, bool& value, const std::string& help);
  ArgumentParser& text(const std::string& name, std::string& value, const std::string& placeholder,
                       const std::string& help);
  /// May be given several times.
  ArgumentParser& texts(const std::string& name, std::vector<std::string>& values, const std::string& placeholder,
                        const std::string& help);
  ArgumentParser& whole(const std::string& name, std::optional<std::int64_t>& value, NumberRange range,
                        const std::string& help);
  ArgumentParser& real(const std::string& name, std::optional<double>& value, RealRange range, const std::string& help);

  /// One required argument without a name; in order of declaration.
  ArgumentParser& positional(std::string& value, const std::string& placeholder);
  /// All remaining arguments, at least `least`.
  ArgumentParser& positionals(std::vector<std::string>& values, std::size_t least, const std::string& placeholder);

  /// Fills the variables. False when help was asked for and printed.
  bool parse(const CommandLine& arguments);

 private:
  struct State;

  void take_positionals(const std::vector<std::string>& given) const;

  std::unique_ptr<State> state_;
};

/// A whole number that fills `text`, within `range`. Throws `Error`: "WHERE: 'x' is not a whole number, expected ...".
std::int64_t parse_whole(std::string_view text, NumberRange range, std::string_view where);

/// A finite decimal number that fills `text`, within `range`. Throws `Error` as `parse_whole` does.
double parse_real(std::string_view text, std::string_view where, RealRange range = {});

/// Parts of `text` between `separator`s; an empty text has none.
std::vector<std::string> split(std::string_view text, char separator);

/// The words of "name word word ...", without the name. Throws `Error` when the command is another one.
CommandLine words_behind(std::string_view name, std::string_view command);

/// "key=value" apart. Throws `Error` without a key or an equals sign.
std::pair<std::string, std::string> parse_assignment(std::string_view text, std::string_view where);

}  // namespace plumb
