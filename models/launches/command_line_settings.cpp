#include "models/launches/command_line_settings.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/ground/error.hpp"
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
    if (text == "-m" && k + 1 < words.size() && words[k + 1].text.find("torch") == std::string::npos &&
        words[k + 1].text.find("launch") == std::string::npos) {
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

/// `#SBATCH --nodes=4` and the like.
void add_job_directives(std::string_view script, const std::string& file, Settings& settings) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames{
      {{"nodes", "nnodes"},
       {"N", "nnodes"},
       {"gpus_per_node", "gpus_per_node"},
       {"ntasks_per_node", "gpus_per_node"},
       {"gres", "gpus_per_node"},
       {"g", "gpus_per_node"},
       {"gpus_per_task", "gpus_per_task"}}};
  std::size_t line = 0;
  while (!script.empty()) {
    ++line;
    const std::size_t end = std::min(script.find('\n'), script.size());
    std::string_view text = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    if (!text.starts_with("#SBATCH -")) continue;
    text.remove_prefix(text.find_first_not_of("# SBATCH"));
    const std::string_view words = text.substr(std::min(text.find_first_not_of('-'), text.size()));
    const std::size_t split = words.find_first_of("= \t");
    if (split == std::string_view::npos) continue;
    std::string_view value = words.substr(split + 1);
    value = value.substr(0, value.find_first_of(" \t\r#"));
    value = value.substr(value.rfind(':') == std::string_view::npos ? 0 : value.rfind(':') + 1);
    const std::string name = words.substr(0, split) == "N" ? "N" : setting_name(words.substr(0, split));
    const auto known = std::ranges::find(kNames, name, &std::pair<std::string_view, std::string_view>::first);
    if (known == kNames.end() || value.empty() || settings.all().contains(known->second)) continue;
    settings.set(known->second, {{std::string(value)}, file + ":" + std::to_string(line)});
  }
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
    if (words.empty() || options < kLeastOptions || std::ranges::find(kNoLaunch, words.front().text) != kNoLaunch.end())
      continue;
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
  const ShellRun run = follow_shell_script(script, name, given, source);
  LaunchCommand launch{.settings = Settings(name), .program = {}, .files = run.files, .notes = {}, .variables = {}};
  const Words words = chosen_launch(run, name, launch);
  if (option_count(words) == 0) {
    throw Error(name +
                ": no launch of a training program is found, expected a command such as torchrun pretrain_gpt.py "
                "--num-layers 32 ...");
  }
  const std::size_t at = program_at(words);
  const bool has_program = at < words.size();
  if (has_program) {
    launch.program = words[at].text;
    add_options(Words(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(at)), name, launch.settings);
    add_options(Words(words.begin() + static_cast<std::ptrdiff_t>(at) + 1, words.end()), name, launch.settings);
  } else {
    add_options(words, name, launch.settings);
  }
  add_job_directives(script, name, launch.settings);
  read_surroundings(run, launch);
  launch.variables = run.values;
  return launch;
}

}  // namespace plumb
