#include "models/launches/command_line_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
#include "models/launches/read_machine.hpp"
#include "models/launches/shell_tokens.hpp"

namespace plumb {
namespace {

using Words = std::vector<ShellWord>;

constexpr std::size_t kLeastOptions = 3;  ///< fewest options of what counts as a launch

bool is_option(std::string_view word) {
  return word.size() > 2 && word.starts_with("--") && word[2] != '-' && word[2] != ' ' && word[2] != '=';
}

std::size_t option_count(const Words& words) {
  return static_cast<std::size_t>(
      std::ranges::count_if(words, [](const ShellWord& word) { return is_option(word.text); }));
}

/// Returns where the training program stands; the number of words where there is none.
std::size_t program_at(const Words& words) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string& text = words[k].text;
    if (text.ends_with(".py") && !is_option(text) && (k == 0 || !is_option(words[k - 1].text))) return k;
    if (text == "-m" && k + 1 < words.size() && !words[k + 1].text.starts_with("torch.") &&
        words[k + 1].text != "torchrun" && words[k + 1].text.find("launch") == std::string::npos) {
      return k + 1;
    }
  }
  return words.size();
}

/// Commands inside of words (bash -c "...") come after the command itself.
void add_inner_commands(const Words& words, const std::string& name, const ShellValues& values,
                        std::vector<Words>& all) {
  for (const ShellWord& word : words) {
    if (word.text.find(' ') == std::string::npos || word.text.find(" --") == std::string::npos) continue;
    try {
      for (Words& inner : follow_shell_script(word.text, name, values, {}, word.line).commands) {
        all.push_back(std::move(inner));
      }
    } catch (const Error&) {
      // a text that is no command
    }
  }
}

/// Returns the words of all variables that hold options, where no command uses them.
Words options_of_variables(const ShellValues& values) {
  Words words;
  for (const auto& [name, value] : values.all()) {
    Words own;
    for (const std::string& part : value) {
      for (std::size_t at = 0; at < part.size();) {
        const std::size_t begin = part.find_first_not_of(" \t\r\n\\", at);
        if (begin == std::string::npos) break;
        at = std::min(part.find_first_of(" \t\r\n", begin), part.size());
        own.push_back({part.substr(begin, at - begin), 0});
      }
    }
    if (!own.empty() && is_option(own.front().text)) words.insert(words.end(), own.begin(), own.end());
  }
  return words;
}

bool is_short_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         ((word[1] >= 'a' && word[1] <= 'z') || (word[1] >= 'A' && word[1] <= 'Z'));
}

/// `--name value ...`, `--name=value` and `name=value` (as Hydra takes it), the values up to the next option.
void add_options(const Words& words, const std::string& file, Settings& settings) {
  std::string name;
  Setting setting;
  const auto finish = [&] {
    if (!name.empty()) settings.set(name, std::move(setting));
    name.clear();
    setting = {};
  };
  for (const ShellWord& word : words) {
    const std::size_t equals = word.text.find('=');
    const bool hydra =
        name.empty() && equals != std::string::npos && equals > 0 && word.text.find_first_of(" /{") > equals;
    if (is_option(word.text) || is_short_option(word.text) || hydra) {
      finish();
      setting.place = word.line > 0 ? file + ":" + std::to_string(word.line) : file;
      name = setting_name(word.text.substr(0, equals));
      while (name.starts_with('+')) name.erase(0, 1);
      if (equals != std::string::npos) {
        setting.values.push_back(word.text.substr(equals + 1));
        finish();
      }
    } else if (!name.empty()) {
      setting.values.push_back(word.text);
    }
  }
  finish();
}

bool is_configuration(std::string_view word) {
  return word.ends_with(".toml") || word.ends_with(".yaml") || word.ends_with(".yml");
}

/// Files that a command is given without the name of an option: "train.py configs/1-3B.yml configs/local.yml".
void add_loose_files(const Words& words, const std::string& file, Settings& settings) {
  Setting files{{}, file};
  for (const ShellWord& word : words) {
    if (is_option(word.text)) break;
    if (!is_configuration(word.text) || word.text.find('=') != std::string::npos) continue;
    files.values.push_back(word.text);
    files.place = file + ":" + std::to_string(word.line);
  }
  if (!files.values.empty()) settings.set("configuration_files", std::move(files));
}

/// Returns "megatron sft" of ms-swift, whose command is no file of Python; empty: it is another command.
std::string swift_program(const Words& words) {
  for (std::size_t k = 0; k + 1 < words.size() && k < 4; ++k) {
    if (words[k].text == "megatron" || words[k].text == "swift") return words[k].text + " " + words[k + 1].text;
  }
  return {};
}

/// Returns where the options begin that are not those of a scheduler, which are read apart.
std::size_t behind_scheduler(const Words& words) {
  if (words.empty() || words.front().text != "srun") return 0;
  for (std::size_t k = 1; k < words.size(); ++k) {
    const std::string name = words[k].text.substr(words[k].text.rfind('/') + 1);
    if (name == "torchrun" || name.starts_with("python") || name == "deepspeed" || name == "accelerate") return k;
  }
  return 0;
}

Words chosen_launch(const ShellRun& run, const std::string& name, LaunchCommand& launch) {
  std::vector<Words> commands = run.commands;
  for (std::size_t k = 0, outer = commands.size(); k < outer; ++k) {
    const Words words = commands[k];
    add_inner_commands(words, name, run.values, commands);
  }
  if (run.values.work().exhausted()) {
    throw Error(name + ": the texts inside of its commands take too long to follow, expected fewer");
  }
  std::size_t launches = 0;
  const Words* best = nullptr;
  for (const Words& words : commands) {
    static constexpr std::array<std::string_view, 6> kNoLaunch{"echo", "printf", "git", "rsync", "mkdir", "docker"};
    const std::size_t options = option_count(words);
    const bool builds =
        std::ranges::any_of(words, [](const ShellWord& word) { return is_configuration(word.text); }) ||
        std::ranges::any_of(words, [](const ShellWord& word) { return word.text == "torchtitan.train"; });
    const bool few = options < kLeastOptions && (!builds || program_at(words) == words.size());
    if (words.empty() || few || std::ranges::find(kNoLaunch, words.front().text) != kNoLaunch.end()) continue;
    launches += program_at(words) < words.size() ? 1 : 0;
    if (best == nullptr || options > option_count(*best)) best = &words;
  }
  if (launches > 1) {
    launch.notes.push_back({LaunchNote::kNotFollowed, std::to_string(launches - 1) +
                                                          " other launches of the file: the one with the most "
                                                          "options counts, the first of several"});
  }
  Words words = best != nullptr ? *best : Words{};
  const Words loose = options_of_variables(run.values);
  if (option_count(loose) > 2 * option_count(words)) {
    launch.notes.push_back({LaunchNote::kAssumed, "no launch uses the options of the variables: all of them count"});
    return loose;
  }
  return words;
}

/// Submissions of MLPerf keep the variables of a run in a file of their own, and start it by another one beside it.
std::string script_beside(const ShellRun& run, const ShellSource& source) {
  constexpr const char* kStarts = "run_and_time.sh";
  const bool starts = std::ranges::any_of(
      run.commands, [](const Words& words) { return program_at(words) < words.size() || option_count(words) > 0; });
  return !starts && source && source(kStarts) ? kStarts : "";
}

void read_surroundings(const ShellRun& run, LaunchCommand& launch) {
  const ShellValues::Words* blocking = run.values.find("CUDA_LAUNCH_BLOCKING");
  launch.blocking_launches = blocking != nullptr && *blocking == ShellValues::Words{"1"};
  for (const std::string& part : run.not_followed) {
    std::string shown = part;
    std::erase_if(shown, [](char letter) { return letter == kUnknownBegin || letter == kUnknownEnd; });
    launch.notes.push_back({LaunchNote::kNotFollowed, "line " + shown});
  }
}

}  // namespace

LaunchCommand launch_command(std::string_view script, const std::string& name, const ShellValues& given,
                             const ShellSource& source) {
  ShellRun run = follow_shell_script(script, name, given, source);
  const std::string beside = script_beside(run, source);
  const bool starts_beside = !beside.empty();
  if (starts_beside) {
    run = follow_shell_script(std::string(script) + "\nsource " + beside + "\n", name, given, source);
  }
  LaunchCommand launch{.settings = Settings(name), .program = {}, .files = run.files, .notes = {}, .variables = {}};
  Words words = chosen_launch(run, name, launch);
  for (const Words& command : run.commands) {
    if (starts_beside && (words.empty() || option_count(words) == 0) && program_at(command) < command.size()) {
      words = command;
    }
  }
  if (option_count(words) == 0 && words.empty()) {
    throw Error(name +
                ": no launch of a training program is found, expected a command such as torchrun pretrain_gpt.py "
                "--num-layers 32 ...");
  }
  const std::size_t at = program_at(words);
  const std::size_t begin = std::min(behind_scheduler(words), at);
  const auto part = [&](std::size_t from, std::size_t to) {
    return Words(words.begin() + static_cast<std::ptrdiff_t>(from), words.begin() + static_cast<std::ptrdiff_t>(to));
  };
  add_options(part(begin, at), name, launch.settings);
  if (at < words.size()) {
    launch.program = words[at].text;
    add_options(part(at + 1, words.size()), name, launch.settings);
    add_loose_files(part(at + 1, words.size()), name, launch.settings);
  } else {
    launch.program = swift_program(words);
  }
  add_scheduler_options(run, script, launch.settings);
  read_surroundings(run, launch);
  launch.variables = run.values;
  return launch;
}

}  // namespace plumb
