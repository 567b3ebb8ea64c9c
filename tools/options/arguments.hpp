#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/terminal/command_line.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {

/// The options of one command. Each is declared with the variable that it fills; then the command line is parsed once.
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

}  // namespace plumb
