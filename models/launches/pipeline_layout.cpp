#include "models/launches/pipeline_layout.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::size_t kLongestLayout = std::size_t{1} << 22U;
constexpr std::string_view kLayoutName = "pipeline_model_parallel_layout";

/// Digits of `text` at `at`, and moves behind them; 0 when there are none or too many.
std::size_t repeat_count(std::string_view text, std::size_t& at) {
  std::size_t count = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), count);
  at = static_cast<std::size_t>(end - text.data());
  return error == std::errc{} && count <= kLongestLayout ? count : 0;
}

/// Returns a layout as a list of lists of names, [["embedding","decoder"],["decoder","loss"]], in letters.
std::string in_letters(std::string_view layout) {
  std::string letters;
  std::string word;
  for (const char letter : layout.substr(layout.find('[') + 1)) {
    if ((letter >= 'a' && letter <= 'z') || letter == '_') {
      word += letter;
      continue;
    }
    if (word == "embedding") letters += 'E';
    if (word == "decoder") letters += 't';
    if (word == "mtp") letters += 'm';
    if (word == "loss") letters += 'L';
    word.clear();
    if (letter == ']') letters += '|';
  }
  while (letters.ends_with('|')) letters.pop_back();
  return letters;
}

std::string layout_of(const Settings& settings) {
  std::string text;
  for (const std::string& word : settings.list(kLayoutName)) text += word;
  std::erase_if(text, [](char letter) { return letter == ' ' || letter == '"' || letter == '\''; });
  const std::string layout = written_out_layout(text.starts_with('[') ? in_letters(text) : text);
  const auto refuse = [&](const std::string& what) {
    settings.fail(kLayoutName, "expected " + what + ", found '" + text + "'");
  };
  if (layout.empty() || layout.find_first_not_of("EtmL|") != std::string::npos) {
    refuse("letters E, t, m, L and | with repetitions (...)*n and t*n");
  }
  if (std::ranges::count(layout, 'E') != 1 || layout.front() != 'E') refuse("one E, first");
  if (std::ranges::count(layout, 'L') != 1 || layout.back() != 'L') refuse("one L, last");
  return layout;
}

std::vector<std::int64_t> units_of_layout(const Settings& settings, std::int64_t units) {
  std::vector<std::int64_t> stages{0};
  for (const char letter : layout_of(settings)) {
    if (letter == '|') {
      stages.push_back(0);
    } else if (letter == 't' || letter == 'm') {
      ++stages.back();
    }
  }
  if (const std::int64_t found = std::accumulate(stages.begin(), stages.end(), std::int64_t{0}); found != units) {
    settings.fail(kLayoutName,
                  "expected as many t and m as layers, " + std::to_string(units) + ", found " + std::to_string(found));
  }
  return stages;
}

/// Returns the numbers of a list such as 7,8,8,9.
std::vector<std::int64_t> numbers_of(const Settings& settings, std::string_view name) {
  constexpr std::int64_t kMostUnits = 1 << 20;
  std::vector<std::int64_t> numbers;
  for (const std::string& word : settings.list(name)) {
    std::string_view rest = word;
    while (!rest.empty() && (rest.front() == '[' || rest.front() == ' ')) rest.remove_prefix(1);
    while (!rest.empty()) {
      std::int64_t number = -1;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
      if (error != std::errc{} || number < 0 || number > kMostUnits) {
        settings.fail(name, "expected numbers of layers such as 7,8,8,9, found '" + word + "'");
      }
      numbers.push_back(number);
      rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
      while (!rest.empty() && (rest.front() == ',' || rest.front() == ' ' || rest.front() == ']')) {
        rest.remove_prefix(1);
      }
    }
  }
  return numbers;
}

/// Settings that say the layers of every stage, or of every rank, one by one.
constexpr std::array<std::string_view, 2> kLayerLists{"num_layer_list", "decoder_pipeline_manual_split_list"};

/// Returns the units of every stage that such a list says; empty: none is given.
std::vector<std::int64_t> units_of_list(const Settings& settings, std::int64_t units, std::size_t stages) {
  for (const std::string_view name : kLayerLists) {
    std::vector<std::int64_t> numbers = numbers_of(settings, name);
    if (numbers.empty()) continue;
    const std::int64_t sum = std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
    if (numbers.size() != stages || sum != units) {
      settings.fail(name, "expected " + std::to_string(stages) + " numbers that add up to " + std::to_string(units) +
                              " layers, found " + std::to_string(numbers.size()) + " that add up to " +
                              std::to_string(sum));
    }
    return numbers;
  }
  return {};
}

/// `units` over the ranks that state no number of their own.
std::vector<std::int64_t> units_of_ranks(const Settings& settings, std::int64_t units, std::int64_t pipeline) {
  constexpr std::string_view kFirst = "decoder_first_pipeline_num_layers";
  constexpr std::string_view kLast = "decoder_last_pipeline_num_layers";
  const std::int64_t first = settings.whole(kFirst, 0);
  const std::int64_t last = settings.whole(kLast, 0);
  const std::int64_t others = pipeline - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0);
  const std::int64_t rest = units - first - last;
  if (rest < 0 || (others == 0 && rest != 0) || (others > 0 && rest % others != 0)) {
    settings.fail(first > 0  ? kFirst
                  : last > 0 ? kLast
                             : "num_layers",
                  std::to_string(rest) + " layers do not divide over " + std::to_string(others) +
                      " pipeline ranks, expected a multiple of them");
  }
  std::vector<std::int64_t> ranks(static_cast<std::size_t>(pipeline), others > 0 ? rest / others : 0);
  if (first > 0) ranks.front() = first;
  if (last > 0) ranks.back() = last;
  return ranks;
}

}  // namespace

std::string written_out_layout(std::string layout) {
  std::erase(layout, ',');
  std::string flat;
  for (std::size_t at = 0; at < layout.size();) {
    if (layout[at] != '(') {
      flat += layout[at++];
      continue;
    }
    const std::size_t close = layout.find(')', at);
    if (close == std::string::npos || close + 1 >= layout.size() || layout[close + 1] != '*') return {};
    const std::string body = layout.substr(at + 1, close - at - 1);
    at = close + 2;
    const std::size_t count = repeat_count(layout, at);
    if (count == 0 || flat.size() + count * body.size() > kLongestLayout) return {};
    for (std::size_t i = 0; i < count; ++i) flat += body;
  }
  std::string text;
  for (std::size_t at = 0; at < flat.size();) {
    const char letter = flat[at++];
    std::size_t count = 1;
    if (at < flat.size() && flat[at] == '*') count = repeat_count(flat, ++at);
    if (count == 0 || text.size() + count > kLongestLayout) return {};
    text.append(count, letter);
  }
  return text;
}

std::int64_t megatron_chunks(const Settings& settings, std::int64_t units, std::int64_t pipeline) {
  constexpr std::string_view kPerStage = "num_layers_per_virtual_pipeline_stage";
  if (settings.has(kLayoutName)) {
    const std::int64_t stages = std::ranges::count(layout_of(settings), '|') + 1;
    if (stages % pipeline != 0) {
      settings.fail(kLayoutName,
                    "expected a multiple of " + std::to_string(pipeline) + " stages, found " + std::to_string(stages));
    }
    return stages / pipeline;
  }
  if (!settings.has(kPerStage)) return settings.whole("num_virtual_stages_per_pipeline_rank", 1);
  const std::int64_t chunk = settings.whole(kPerStage, 1);
  const std::int64_t counted = units + (settings.flag("account_for_embedding_in_pipeline_split") ? 1 : 0) +
                               (settings.flag("account_for_loss_in_pipeline_split") ? 1 : 0);
  if (counted % pipeline != 0 || counted / pipeline % chunk != 0) {
    settings.fail(kPerStage, "expected a divisor of the layers of a rank (" + std::to_string(counted) + " over " +
                                 std::to_string(pipeline) + "), found " + std::to_string(chunk));
  }
  return counted / pipeline / chunk;
}

std::vector<std::int64_t> megatron_stage_units(const Settings& settings, std::int64_t units, std::int64_t pipeline,
                                               std::int64_t chunks) {
  if (settings.has(kLayoutName)) return units_of_layout(settings, units);
  std::vector<std::int64_t> listed = units_of_list(settings, units, static_cast<std::size_t>(pipeline * chunks));
  if (!listed.empty()) return listed;
  const std::int64_t embedding = settings.flag("account_for_embedding_in_pipeline_split") ? 1 : 0;
  const std::int64_t loss = settings.flag("account_for_loss_in_pipeline_split") ? 1 : 0;
  const std::vector<std::int64_t> ranks = units_of_ranks(settings, units + embedding + loss, pipeline);
  std::vector<std::int64_t> stages;
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    for (const std::int64_t rank : ranks) {
      if (rank % chunks != 0) {
        settings.fail(
            "num_virtual_stages_per_pipeline_rank",
            std::to_string(rank) + " layers of a rank do not divide into " + std::to_string(chunks) + " stages");
      }
      stages.push_back(rank / chunks);
    }
  }
  stages.front() -= embedding;
  stages.back() -= loss;
  if (stages.front() < 0 || stages.back() < 0) settings.fail("num_layers", "expected more layers than stages");
  return stages;
}

std::vector<std::int64_t> deepspeed_stage_units(const Settings& settings, std::int64_t units, std::int64_t pipeline) {
  constexpr std::string_view kMethod = "pp_partition_method";
  const std::string method = settings.text(kMethod, "type:transformer");
  const std::int64_t end = method.find("embed") != std::string::npos ? 1 : 0;
  const std::int64_t counted = units + 2 * end;
  if (counted < pipeline || (pipeline == 1 && units == 0)) {
    settings.fail(settings.has(kMethod) ? kMethod : "num_layers",
                  std::to_string(counted) + " layers for " + std::to_string(pipeline) +
                      " pipeline ranks, expected at least one for each");
  }
  std::vector<std::int64_t> stages;
  for (std::int64_t rank = 0; rank < pipeline; ++rank) {
    stages.push_back(counted / pipeline + (rank < counted % pipeline ? 1 : 0));
  }
  stages.front() -= end;
  stages.back() -= end;
  return stages;
}

Partition cut_at_units(const PipelineUnits& network, const std::vector<std::int64_t>& stages) {
  Partition partition{{0}};
  std::size_t next = network.before;
  std::size_t unit = 0;
  for (std::size_t s = 0; s + 1 < stages.size(); ++s) {
    for (std::int64_t k = 0; k < stages[s]; ++k) next += network.units[unit++];
    partition.bounds.push_back(next);
  }
  while (unit < network.units.size()) next += network.units[unit++];
  partition.bounds.push_back(next + network.behind);
  return partition;
}

}  // namespace plumb
