#include "tools/command_line/parse_command_line.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/program_options.hpp>

#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "tools/command_line/help_text.hpp"
#include "tools/options/report_arguments.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// What people and other systems call an option. `letter`: it must have this short form, which tells the devices of a
/// pipeline (-p) from those of a cluster.
struct OtherWord {
  std::string_view theirs;  ///< small letters, with dashes
  std::string_view ours;
  std::string_view letter = "";
};

constexpr std::string_view kOfNone = "-";

/// Megatron-LM, torchtitan, NeMo and Primus say most of them; the rest are what first tries said.
constexpr std::array kOtherWords{
    OtherWord{"pp", "devices", "p"},
    OtherWord{"stages", "devices", "p"},
    OtherWord{"num-stages", "devices", "p"},
    OtherWord{"num-devices", "devices", "p"},
    OtherWord{"pipeline-parallel", "devices", "p"},
    OtherWord{"pipeline-parallel-size", "devices", "p"},
    OtherWord{"pipeline-model-parallel-size", "devices", "p"},
    OtherWord{"pipeline-parallel-degree", "devices", "p"},
    OtherWord{"gpus", "devices", kOfNone},
    OtherWord{"num-gpus", "devices", kOfNone},
    OtherWord{"n-gpus", "devices", kOfNone},
    OtherWord{"ngpus", "devices", kOfNone},
    OtherWord{"world-size", "devices", kOfNone},
    OtherWord{"num-devices", "devices", kOfNone},
    OtherWord{"pipeline-model-parallel-size", "pp"},
    OtherWord{"pipeline-parallel-size", "pp"},
    OtherWord{"num-microbatches", "microbatches"},
    OtherWord{"micro-batches", "microbatches"},
    OtherWord{"num-micro-batches", "microbatches"},
    OtherWord{"gradient-accumulation-steps", "microbatches"},
    OtherWord{"vp", "chunks"},
    OtherWord{"vpp", "chunks"},
    OtherWord{"num-chunks", "chunks"},
    OtherWord{"num-model-chunks", "chunks"},
    OtherWord{"virtual-stages", "chunks"},
    OtherWord{"virtual-pipeline-model-parallel-size", "chunks"},
    OtherWord{"tensor-parallel", "tp"},
    OtherWord{"tensor-parallel-size", "tp"},
    OtherWord{"tensor-model-parallel-size", "tp"},
    OtherWord{"context-parallel-size", "cp"},
    OtherWord{"expert-model-parallel-size", "ep"},
    OtherWord{"data-parallel", "dp"},
    OtherWord{"data-parallel-size", "dp"},
    OtherWord{"micro-batch-size", "microbatch-size"},
    OtherWord{"mbs", "microbatch-size"},
    OtherWord{"global-batch-size", "batch"},
    OtherWord{"global-batch", "batch"},
    OtherWord{"batch-size", "batch"},
    OtherWord{"gbs", "batch"},
    OtherWord{"seq", "sequence"},
    OtherWord{"seq-len", "sequence"},
    OtherWord{"seq-length", "sequence"},
    OtherWord{"sequence-length", "sequence"},
    OtherWord{"model", "network"},
    OtherWord{"gpu", "cluster"},
    OtherWord{"hardware", "cluster"},
    OtherWord{"machine", "cluster"},
    OtherWord{"costs", "cost"},
    OtherWord{"memory-budget", "memory-limit"},
    OtherWord{"max-memory", "memory-limit"},
    OtherWord{"framework", "runtime"},
    OtherWord{"system", "rules"},
    OtherWord{"system", "runtime"},
    OtherWord{"script", "job"},
    OtherWord{"script", "from"},
    OtherWord{"dtype", "precision"},
    OtherWord{"timeout", "time-limit"},
};

/// What to answer where no option of ours means the same. An empty command: every one.
struct WordAdvice {
  std::string_view theirs;
  std::string_view command;
  std::string_view advice;
};

constexpr std::string_view kCountsMicrobatches =
    "microbatches are counted, expected -m N: the batch divided by data ranks and microbatch size";
constexpr std::string_view kOtherPictures =
    "the terminal shows a drawing; expected --svg, --png, --pdf or --html FILE for another";
constexpr std::string_view kSweepPage =
    "expected --html FILE, a page with the diagram of all points; `plumbline compare` draws a few on one time axis";
constexpr std::string_view kCountsEffort =
    "effort is counted, so that answers repeat; expected --simulations N or --nodes N";
constexpr std::string_view kSpreadStage =
    "expected -p N devices of a pipeline, and --tp, --cp and --dp for what spreads a stage over others";

constexpr std::array kWordAdvice{
    WordAdvice{"batch", "simulate", kCountsMicrobatches},
    WordAdvice{"batch", "campaign", kCountsMicrobatches},
    WordAdvice{"batch", "train", kCountsMicrobatches},
    WordAdvice{"devices", "simulate", kSpreadStage},
    WordAdvice{"plot", "simulate", kOtherPictures},
    WordAdvice{"draw", "simulate", kOtherPictures},
    WordAdvice{"show", "simulate", kOtherPictures},
    WordAdvice{"plot", "sweep", kSweepPage},
    WordAdvice{"svg", "sweep", kSweepPage},
    WordAdvice{"png", "sweep", kSweepPage},
    WordAdvice{"time-limit", "search", kCountsEffort},
    WordAdvice{"comm", "", "expected it among the costs: --cost F=1,B=2,comm=0.1"},
    WordAdvice{"days", "campaign", "expected --hours X"},
    WordAdvice{"job", "validate", "a launch file is no schedule; expected `plumbline simulate --job FILE`"},
};

/// "--num_stages=4" is the word "num-stages" and the rest "=4".
struct GivenOption {
  std::string word;
  std::string rest;
};

GivenOption given_option(const std::string& argument) {
  const std::size_t begin = argument.starts_with("--") ? 2 : 1;
  const std::size_t equals = std::min(argument.find('='), argument.size());
  return {dashed_name(argument.substr(begin, equals - begin)), argument.substr(equals)};
}

bool declares(const OptionTable& table, std::string_view word) {
  for (const OptionGroup& group : table.groups()) {
    for (const Option& option : group.options) {
      if (option.name == word || option.letter == word) return true;
    }
  }
  return word == "help" || word == "h";
}

/// The option of `table` that `word` stands for; null: none. What `simulate` calls --job is --from in `plan`.
const Option* meant(const std::string& word, const OptionTable& table) {
  if (word == "job" && table.command() == "plan") return table.find("from");
  if (word == "from" && table.command() == "simulate") return table.find("job");
  for (const OtherWord& other : kOtherWords) {
    if (other.theirs != word) continue;
    const Option* option = table.find(other.ours);
    if (option == nullptr) continue;
    if (other.letter.empty() || option->letter == (other.letter == kOfNone ? "" : other.letter)) return option;
  }
  return nullptr;
}

/// The report that writes files with the ending of `file`; null: none.
const Option* report_of(const std::string& file, const OptionTable& table) {
  const std::size_t dot = file.rfind('.');
  const Option* option = dot == std::string::npos ? nullptr : table.find(file.substr(dot + 1));
  return option == nullptr || option->kind == OptionKind::kFlag ? nullptr : option;
}

bool takes_output_as_argument(const OptionTable& table) {
  return table.command() == "convert" || table.command() == "explore";
}

}  // namespace

CommandLine in_our_words(const CommandLine& arguments, const OptionTable& table) {
  CommandLine ours;
  bool options_ended = false;
  for (auto at = arguments.begin(); at != arguments.end(); ++at) {
    options_ended |= *at == "--";
    const bool is_option = *at == "-o" || (at->size() > 2 && at->starts_with("--"));
    if (options_ended || !is_option) {
      ours.push_back(*at);
      continue;
    }
    const GivenOption given = given_option(*at);
    const bool before_value = at + 1 != arguments.end();
    const bool is_output = given.word == "o" || given.word == "output";
    const Option* option = nullptr;
    if (declares(table, given.word)) {  // "--save_order" with a dash, too
      option = at->substr(0, at->find('=')) == "--" + given.word ? nullptr : table.find(given.word);
    } else if (is_output && given.rest.empty() && before_value && takes_output_as_argument(table)) {
      continue;
    } else if (is_output) {
      option = report_of(given.rest.empty() && before_value ? *(at + 1) : given.rest, table);
    } else {
      option = meant(given.word, table);
    }
    ours.push_back(option == nullptr ? *at : "--" + option->name + given.rest);
    if (option != nullptr) note("plumbline: note: " + *at + " is read as " + ours.back());
  }
  return ours;
}

std::string unknown_option_text(const std::string& name, const OptionTable& table) {
  const std::string word = given_option(name).word;
  std::vector<std::string_view> words{word};
  for (const OtherWord& other : kOtherWords) {
    if (other.theirs == word) words.push_back(other.ours);
  }
  for (const WordAdvice& row : kWordAdvice) {
    const bool here = row.command.empty() || row.command == table.command();
    if (here && std::ranges::find(words, row.theirs) != words.end()) return "; " + std::string(row.advice);
  }
  std::vector<std::string> shown{"--help", "-h"};
  for (const OptionGroup& group : table.groups()) {
    for (const Option& option : group.options) {
      shown.push_back("--" + option.name);
      if (!option.letter.empty()) shown.push_back("-" + option.letter);
    }
  }
  const std::vector<std::string_view> candidates(shown.begin(), shown.end());
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) return " (did you mean '" + nearest + "'?)";
  std::string parts;
  for (const std::string& option : shown) {
    if (word.size() > 2 && option.find(word) != std::string::npos) parts += " " + option;
  }
  if (!parts.empty()) return "; expected one of:" + parts;
  return "; `plumbline " + table.command() + " --help` lists its options";
}

namespace {

const TableWatch::See* watching = nullptr;

}  // namespace

TableWatch::TableWatch(See see) : see_(std::move(see)), outer_(std::exchange(watching, &see_)) {}

TableWatch::~TableWatch() { watching = outer_; }

const TableWatch::See* TableWatch::current() { return watching; }

namespace po = boost::program_options;

namespace {

constexpr const char* kPositional = "positional arguments";

const po::value_semantic* parser_value(const Option& option) {
  if (option.kind == OptionKind::kFlag) return new po::untyped_value(true);
  return po::value<std::vector<std::string>>()->composing();
}

po::variables_map run_boost(const CommandLine& arguments, const OptionTable& table) {
  po::options_description all;
  for (const OptionGroup& group : table.groups()) {
    for (const Option& option : group.options) {
      const std::string names = option.name + (option.letter.empty() ? "" : "," + option.letter);
      all.add_options()(names.c_str(), parser_value(option), "");
    }
  }
  for (const std::string& name : table.retired()) all.add_options()(name.c_str(), new po::untyped_value(true), "");
  all.add_options()(kPositional, po::value<std::vector<std::string>>()->composing());
  po::positional_options_description positional;
  positional.add(kPositional, -1);
  const int style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments).options(all).positional(positional).style(style).run(), values);
  } catch (const po::unknown_option& error) {
    if (error.get_option_name() == "--png" && table.find("svg") != nullptr) {
      throw Error(table.command() + ": --png: " + std::string(kNoPng));
    }
    const std::string& name = error.get_option_name();
    throw Error("unknown " + table.command() + " option '" + name + "'" + unknown_option_text(name, table));
  } catch (const po::error& error) {
    throw Error(table.command() + ": " + error.what());
  }
  return values;
}

std::vector<std::string> texts_of(const po::variable_value& value) {
  if (value.empty()) return {};
  const auto* given = boost::any_cast<std::vector<std::string>>(&value.value());
  return given == nullptr ? std::vector<std::string>{} : *given;
}

/// Throws `Error` for `-p 8 --devices 16`: whoever wrote both meant two things.
void check_one_spelling(const CommandLine& arguments, const OptionTable& table, const Option& option) {
  if (option.letter.empty() || option.kind == OptionKind::kTexts) return;
  const auto given = [&](const std::string& spelling) {
    return std::ranges::any_of(arguments, [&](const std::string& argument) { return argument.starts_with(spelling); });
  };
  if (!given("-" + option.letter) || !given("--" + option.name)) return;
  std::string message = table.command() + ": -" + option.letter + " and --" + option.name + " are one option (" +
                        option.help.substr(0, option.help.find(" (")) + "), expected one of them";
  if (option.name == "devices" && table.find("cluster") != nullptr) {
    message += "; how many devices the cluster has is said by its name, as in --cluster h100-2x8";
  }
  throw Error(message);
}

}  // namespace

bool parse_command_line(const OptionTable& options, const CommandLine& arguments) {
  if (const TableWatch::See* see = TableWatch::current()) {
    (*see)(options);
    return false;
  }
  // Before anything is refused, and also where an option lacks its value: `plan --jobs --help`.
  if (const std::optional<std::string> help = asked_help(options, arguments)) {
    print(*help);
    return false;
  }
  const CommandLine ours = in_our_words(arguments, options);
  const po::variables_map values = run_boost(ours, options);
  std::vector<TakenOption> given;
  for (const OptionGroup& group : options.groups()) {
    for (const Option& option : group.options) {
      const po::variable_value& value = values[option.name];
      if (value.empty()) continue;
      check_one_spelling(ours, options, option);
      given.push_back({&option, texts_of(value), options.command() + ": --" + option.name});
    }
  }
  options.take(std::move(given), texts_of(values[kPositional]));
  return true;
}

}  // namespace plumb
