#include "models/launches/read_machine.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

namespace plumb {
namespace {

/// Options of Slurm's commands, by what they say here. Of the short ones, "N" and "n" differ.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kSlurmOptions{
    {{"nodes", "nnodes"},
     {"N", "nnodes"},
     {"gpus_per_node", "gpus_per_node"},
     {"ntasks_per_node", "gpus_per_node"},
     {"gres", "gpus_per_node"},
     {"g", "gpus_per_node"},
     {"gpus_per_task", "gpus_per_task"},
     {"gpus", "scheduled_devices"},
     {"G", "scheduled_devices"},
     {"ntasks", "scheduled_tasks"},
     {"n", "scheduled_tasks"}}};

/// Variables that scripts give the size of a job.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSizeVariables{
    {{"NNODES", "nnodes"},
     {"NUM_NODES", "nnodes"},
     {"N_NODES", "nnodes"},
     {"SLURM_NNODES", "nnodes"},
     {"SLURM_JOB_NUM_NODES", "nnodes"},
     {"NPROC_PER_NODE", "gpus_per_node"},
     {"GPUS_PER_NODE", "gpus_per_node"},
     {"NUM_GPUS_PER_NODE", "gpus_per_node"},
     {"GPUS", "gpus_per_node"},
     {"WORLD_SIZE", "world_size"}}};

bool is_number(std::string_view text) {
  return !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool knows(const Settings& settings, std::string_view name) {
  const auto found = settings.all().find(name);
  return found != settings.all().end() && found->second.values.size() == 1 && is_number(found->second.values.front());
}

void learn(std::string_view name, std::string value, std::string place, Settings& settings) {
  if (is_number(value) && !knows(settings, name)) settings.set(name, {{std::move(value)}, std::move(place)});
}

/// Returns the number of "8", "gpu:h100:8" and "4-8".
std::string scheduled_number(std::string_view value) {
  value = value.substr(0, value.find_first_of(" \t\r#,-"));
  return std::string(value.substr(value.rfind(':') == std::string_view::npos ? 0 : value.rfind(':') + 1));
}

/// Reads one option, "--nodes=4", "--nodes 4", "-N4" or "-N 4"; `next` is the word behind it.
void read_slurm_option(std::string_view word, std::string_view next, const std::string& place, Settings& settings) {
  if (word.size() < 2 || word[0] != '-') return;
  std::string name;
  std::string value(next);
  if (word[1] == '-') {
    const std::size_t equals = word.find('=');
    name = setting_name(word.substr(0, equals));
    if (equals != std::string_view::npos) value = word.substr(equals + 1);
  } else {
    name = word.substr(1, 1);
    if (word.size() > 2) value = word.substr(word[2] == '=' ? 3 : 2);
  }
  const auto known = std::ranges::find(kSlurmOptions, name, &std::pair<std::string_view, std::string_view>::first);
  if (known != kSlurmOptions.end()) learn(known->second, scheduled_number(value), place, settings);
}

/// `#SBATCH --nodes=4` and the like.
void read_directives(std::string_view script, const std::string& file, Settings& settings) {
  for (std::size_t line = 1; !script.empty(); ++line) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    std::string_view text = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    constexpr std::string_view kDirective = "#SBATCH";
    if (!text.starts_with(kDirective)) continue;
    text.remove_prefix(std::min(text.find_first_not_of(" \t", kDirective.size()), text.size()));
    const std::string_view word = text.substr(0, text.find_first_of(" \t\r"));
    std::string_view next = text.substr(word.size());
    next.remove_prefix(std::min(next.find_first_not_of(" \t"), next.size()));
    next = next.substr(0, next.find_first_of(" \t\r"));
    read_slurm_option(word, next, file + ":" + std::to_string(line), settings);
  }
}

}  // namespace

void add_scheduler_options(const ShellRun& run, std::string_view script, Settings& settings) {
  static constexpr std::array<std::string_view, 3> kSchedulers{"sbatch", "salloc", "srun"};
  for (const std::vector<ShellWord>& words : run.commands) {
    const bool schedules = !words.empty() && std::ranges::find(kSchedulers, words[0].text) != kSchedulers.end();
    // A command on one node that asks for an address trains nothing.
    const bool trains = schedules && std::ranges::any_of(words, [](const ShellWord& word) {
                          return word.text == "-m" || word.text.find(".py") != std::string::npos ||
                                 word.text.find(".s") != std::string::npos;
                        });
    for (std::size_t k = 1; trains && k < words.size() && !words[k].text.ends_with(".py"); ++k) {
      const std::string place = settings.source() + ":" + std::to_string(words[k].line);
      read_slurm_option(words[k].text, k + 1 < words.size() ? std::string_view(words[k + 1].text) : "", place,
                        settings);
    }
  }
  read_directives(script, settings.source(), settings);
  for (const auto& [name, text] : run.started) read_directives(text, name, settings);
  for (const auto& [variable, name] : kSizeVariables) {
    const auto found = run.values.all().find(variable);
    if (found == run.values.all().end() || found->second.size() != 1) continue;
    learn(name, found->second.front(), settings.source(), settings);
  }
}

void set_machine(const Settings& settings, LaunchJob& job) {
  const auto known = [&](std::initializer_list<std::string_view> names) -> std::int64_t {
    for (const std::string_view name : names) {
      settings.note_read(name);
      if (knows(settings, name)) return settings.whole(name, 0, 0);
    }
    return 0;
  };
  const std::int64_t tasks = known({"scheduled_tasks"});
  const std::int64_t devices = known({"scheduled_devices"});
  job.nodes = known({"nnodes", "num_nodes", "trainer.num_nodes"});
  job.per_node = known({"nproc_per_node", "num_gpus", "trainer.devices", "gpus_per_node", "gpus_per_task", "devices"});
  // torchrun and deepspeed launch on one node unless they are told.
  if (job.nodes == 0 && job.per_node > 0 && !settings.has("nnodes") && !settings.has("num_nodes")) {
    const std::int64_t all = std::max(tasks, devices);
    job.nodes = all > job.per_node && all % job.per_node == 0 ? all / job.per_node : 1;
  }
  if (job.nodes > 0 && job.per_node == 0) {
    const std::int64_t all = std::max(tasks, devices);
    if (all % job.nodes == 0) job.per_node = all / job.nodes;
  }
  if (const std::int64_t world = known({"world_size"}); world > 0 && job.devices() == 0) {
    job.per_node = std::min<std::int64_t>(8, world);
    job.nodes = world / job.per_node;
  }
}

}  // namespace plumb
