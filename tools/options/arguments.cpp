#include "tools/options/arguments.hpp"

#include <cassert>
#include <functional>

#include <boost/program_options.hpp>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "tools/options/examples.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace po = boost::program_options;

struct ArgumentParser::State {
  using Setter = std::function<void(const std::vector<std::string>& given, const std::string& where)>;

  std::string usage;
  std::string summary;
  std::string command;
  std::vector<po::options_description> groups;
  std::vector<std::string> shown_names;  // "--json", "-p": for suggestions
  std::vector<std::pair<std::string, Setter>> setters;
  std::vector<std::pair<std::string*, std::string>> positionals;
  std::vector<std::string>* rest = nullptr;
  std::size_t least_rest = 0;
  std::string rest_placeholder;

  void add(const std::string& name, const po::value_semantic* semantic, const std::string& help, Setter setter) {
    groups.back().add_options()(name.c_str(), semantic, help.c_str());
    const std::string long_name = name.substr(0, name.find(','));
    shown_names.push_back("--" + long_name);
    if (long_name.size() != name.size()) shown_names.push_back("-" + name.substr(long_name.size() + 1));
    setters.emplace_back(long_name, std::move(setter));
  }

  std::string help() const {
    TextStream out;
    out << "usage: plumbline " << usage << "\n\n" << examples_text(examples_of(usage)) << summary << '\n';
    for (const po::options_description& group : groups) {
      if (!group.options().empty()) out << '\n' << group;
    }
    return without_trailing_spaces(out.str());
  }

  /// Boost leaves a space at the end of a line that it breaks.
  static std::string without_trailing_spaces(const std::string& text) {
    std::string kept;
    for (const char letter : text) {
      if (letter == '\n') kept.erase(kept.find_last_not_of(' ') + 1);
      kept += letter;
    }
    return kept;
  }
};

namespace {

constexpr const char* kPositional = "positional arguments";
constexpr unsigned kHelpWidth = 110;

po::typed_value<std::vector<std::string>>* texts_value(const std::string& placeholder) {
  return po::value<std::vector<std::string>>()->value_name(placeholder)->composing();
}

const std::string& the_only(const std::vector<std::string>& given, const std::string& where) {
  if (given.size() > 1) throw Error(where + ": given " + std::to_string(given.size()) + " times, expected once");
  return given.front();
}

po::variables_map run_boost(const CommandLine& arguments, const po::options_description& all,
                            const std::string& command, const std::vector<std::string>& known) {
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positional).style(style).run(), values);
  } catch (const po::unknown_option& error) {
    const std::vector<std::string_view> candidates(known.begin(), known.end());
    throw_unknown(command + " option", error.get_option_name(), candidates);
  } catch (const po::error& error) {
    throw Error(command + ": " + error.what());
  }
  return values;
}

}  // namespace

ArgumentParser::ArgumentParser(std::string usage, std::string summary) : state_(std::make_unique<State>()) {
  state_->command = usage.substr(0, usage.find(' '));
  state_->usage = std::move(usage);
  state_->summary = std::move(summary);
  group("Options");
}

ArgumentParser::~ArgumentParser() = default;

ArgumentParser& ArgumentParser::group(const std::string& title) {
  state_->groups.emplace_back(title, kHelpWidth, kHelpWidth / 2);
  return *this;
}

ArgumentParser& ArgumentParser::flag(const std::string& name, bool& value, const std::string& help) {
  state_->add(name, new po::untyped_value(true), help, [&value](const auto&, const auto&) { value = true; });
  return *this;
}

ArgumentParser& ArgumentParser::text(const std::string& name, std::string& value, const std::string& placeholder,
                                     const std::string& help) {
  state_->add(name, texts_value(placeholder), help,
              [&value](const auto& given, const std::string& where) { value = the_only(given, where); });
  return *this;
}

ArgumentParser& ArgumentParser::texts(const std::string& name, std::vector<std::string>& values,
                                      const std::string& placeholder, const std::string& help) {
  state_->add(name, texts_value(placeholder), help, [&values](const auto& given, const auto&) { values = given; });
  return *this;
}

ArgumentParser& ArgumentParser::whole(const std::string& name, std::optional<std::int64_t>& value, NumberRange range,
                                      const std::string& help) {
  state_->add(name, texts_value("N"), help, [&value, range](const auto& given, const std::string& where) {
    value = parse_whole(the_only(given, where), range, where);
  });
  return *this;
}

ArgumentParser& ArgumentParser::real(const std::string& name, std::optional<double>& value, RealRange range,
                                     const std::string& help) {
  state_->add(name, texts_value("X"), help, [&value, range](const auto& given, const std::string& where) {
    value = parse_real(the_only(given, where), where, range);
  });
  return *this;
}

ArgumentParser& ArgumentParser::positional(std::string& value, const std::string& placeholder) {
  state_->positionals.emplace_back(&value, placeholder);
  return *this;
}

ArgumentParser& ArgumentParser::positionals(std::vector<std::string>& values, std::size_t least,
                                            const std::string& placeholder) {
  state_->rest = &values;
  state_->least_rest = least;
  state_->rest_placeholder = placeholder;
  return *this;
}

bool ArgumentParser::parse(const CommandLine& arguments) {
  bool help = false;
  flag("help,h", help, "print this help");
  po::options_description all;
  for (const po::options_description& group : state_->groups) all.add(group);
  all.add_options()(kPositional, po::value<std::vector<std::string>>()->composing());
  const po::variables_map values = run_boost(arguments, all, state_->command, state_->shown_names);
  if (values.count("help") > 0) {
    print(state_->help());
    return false;
  }
  for (const auto& [name, set] : state_->setters) {
    const po::variable_value& value = values[name];
    if (value.empty()) continue;
    const auto* given = boost::any_cast<std::vector<std::string>>(&value.value());
    set(given == nullptr ? std::vector<std::string>{} : *given, state_->command + ": --" + name);
  }
  const po::variable_value& given = values[kPositional];
  take_positionals(given.empty() ? std::vector<std::string>{} : given.as<std::vector<std::string>>());
  return true;
}

void ArgumentParser::take_positionals(const std::vector<std::string>& given) const {
  const std::size_t named = state_->positionals.size();
  for (std::size_t i = 0; i < named; ++i) {
    const auto& [value, placeholder] = state_->positionals[i];
    if (i >= given.size())
      throw Error(state_->command + ": " + placeholder + " is missing, expected: " + state_->usage);
    *value = given[i];
  }
  if (state_->rest != nullptr) {
    state_->rest->assign(given.begin() + static_cast<std::ptrdiff_t>(named), given.end());
    if (state_->rest->size() < state_->least_rest) {
      throw Error(state_->command + ": " + state_->rest_placeholder + " is missing, expected: " + state_->usage);
    }
  } else if (given.size() > named) {
    throw Error(state_->command + ": '" + given[named] + "' is one argument too many, expected: " + state_->usage);
  }
}

}  // namespace plumb
