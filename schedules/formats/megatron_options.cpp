#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/mistakes.hpp"
#include "models/launches/pipeline_layout.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/formats/megatron.hpp"

namespace plumb {
namespace {

enum class OptionTakes : std::uint8_t { kNothing, kNumber, kText };

/// Options that shape a pipeline or its order, and those that stand beside them and do not.
constexpr std::array<std::pair<std::string_view, OptionTakes>, 20> kMegatronOptions{
    {{"pipeline-model-parallel-size", OptionTakes::kNumber},
     {"num-layers", OptionTakes::kNumber},
     {"num-layers-per-virtual-pipeline-stage", OptionTakes::kNumber},
     {"num-virtual-stages-per-pipeline-rank", OptionTakes::kNumber},
     {"pipeline-model-parallel-layout", OptionTakes::kText},
     {"decoder-first-pipeline-num-layers", OptionTakes::kNumber},
     {"decoder-last-pipeline-num-layers", OptionTakes::kNumber},
     {"account-for-embedding-in-pipeline-split", OptionTakes::kNothing},
     {"account-for-loss-in-pipeline-split", OptionTakes::kNothing},
     {"microbatch-group-size-per-virtual-pipeline-stage", OptionTakes::kNumber},
     {"no-overlap-p2p-communication", OptionTakes::kNothing},
     {"overlap-p2p-communication-warmup-flush", OptionTakes::kNothing},
     {"overlap-moe-expert-parallel-comm", OptionTakes::kNothing},
     {"global-batch-size", OptionTakes::kNumber},
     {"micro-batch-size", OptionTakes::kNumber},
     {"data-parallel-size", OptionTakes::kNumber},
     {"recompute-granularity", OptionTakes::kText},
     {"recompute-method", OptionTakes::kText},
     {"recompute-num-layers", OptionTakes::kNumber},
     {"sequence-parallel", OptionTakes::kNothing}}};

constexpr std::int64_t kMegatronNumber = (std::int64_t{1} << 31) - 1;
/// Options of a command line or script: `--name value` or `--name=value`, `#` begins a comment, `\` goes on.
class MegatronReader {
 public:
  MegatronReader(std::string_view text, std::string_view file_name) : file_name_(file_name) {
    for (std::size_t line = 1; !text.empty(); ++line) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view words = text.substr(0, end);
      read_words(words.substr(0, words.find('#')), line);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (waiting_) mistakes_.keep([&] { fail(waiting_->second, "--" + waiting_->first + ": expected a value"); });
    mistakes_.finish();
  }

  Schedule read() const {
    const std::int64_t p = number("pipeline-model-parallel-size", 1);
    const std::int64_t v = chunks(p);
    const std::int64_t m = microbatches();
    ScheduleParams params{.num_devices = static_cast<std::int32_t>(p), .num_microbatches = m};
    if (v > 1) {
      params.chunks = static_cast<std::int32_t>(v);
      const std::int64_t group = number("microbatch-group-size-per-virtual-pipeline-stage", p);
      if (p < 2) throw Error(file_name_ + ": several chunks need at least two devices");
      if (group < p || group > m) {
        throw Error(file_name_ + ": --microbatch-group-size-per-virtual-pipeline-stage (" + std::to_string(group) +
                    ") must be from the pipeline size (" + std::to_string(p) + ") to the microbatches (" +
                    std::to_string(m) + ")");
      }
      params.options["group"] = std::to_string(group);
      if (given_.contains("overlap-moe-expert-parallel-comm")) params.options["ahead"] = "1";
    }
    Schedule schedule = made(v > 1 ? "interleaved" : "1f1b", params);
    schedule.name = std::filesystem::path(file_name_).stem().string();
    if (recomputes())
      schedule.recompute = {{.first_stage = 0, .last_stage = schedule.num_stages - 1, .microbatches = {}}};
    return schedule;
  }

 private:
  struct Given {
    std::string value;
    std::size_t line = 0;
  };

  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw Error(file_name_ + ":" + std::to_string(line) + ": " + what);
  }

  void read_words(std::string_view words, std::size_t line) {
    while (true) {
      const std::size_t begin = words.find_first_not_of(" \t\r\\");
      if (begin == std::string_view::npos) return;
      words.remove_prefix(begin);
      const std::size_t end = std::min(words.find_first_of(" \t\r\\"), words.size());
      const std::string_view word = words.substr(0, end);
      const bool is_value_of_mistake = skips_value_ && !word.starts_with("--");
      skips_value_ = !is_value_of_mistake && !mistakes_.keep([&] { read_word(word, line); });
      words.remove_prefix(end);
    }
  }

  void read_word(std::string_view word, std::size_t line) {
    if (waiting_) {
      keep(waiting_->first, word, line);
      waiting_.reset();
      return;
    }
    if (!word.starts_with("--"))
      fail(line, "expected an option such as --pipeline-model-parallel-size, found '" + std::string(word) + "'");
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name(word.substr(2, equals - 2));
    const auto known = std::ranges::find(kMegatronOptions, name, &std::pair<std::string_view, OptionTakes>::first);
    if (known == kMegatronOptions.end()) {
      std::vector<std::string_view> names;
      for (const auto& option : kMegatronOptions) names.push_back(option.first);
      try {
        throw_unknown("option of a Megatron-LM pipeline", name, names);
      } catch (const Error& error) {
        fail(line, error.what());
      }
    }
    if (given_.contains(name)) fail(line, "--" + name + " is given twice");
    if (known->second == OptionTakes::kNothing) {
      if (equals < word.size()) fail(line, "--" + name + ": expected no value");
      given_[name] = {"", line};
    } else if (equals < word.size()) {
      keep(name, word.substr(equals + 1), line);
    } else {
      waiting_ = {name, line};
    }
  }

  void keep(const std::string& name, std::string_view value, std::size_t line) {
    if (value.size() >= 2 && value.front() == value.back() && (value.front() == '"' || value.front() == '\'')) {
      value = value.substr(1, value.size() - 2);
    }
    if (value.empty() || value.starts_with("--")) fail(line, "--" + name + ": expected a value");
    given_[name] = {std::string(value), line};
  }

  std::int64_t number(const std::string& name, std::int64_t otherwise) const {
    const auto found = given_.find(name);
    if (found == given_.end()) return otherwise;
    const std::string& text = found->second.value;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 1 || value > kMegatronNumber) {
      fail(found->second.line, "--" + name + ": expected a whole number from 1 to " + std::to_string(kMegatronNumber) +
                                   ", found '" + text + "'");
    }
    return value;
  }

  /// Chunks per rank: by one of three options, or one.
  std::int64_t chunks(std::int64_t p) const {
    const std::string layout = "pipeline-model-parallel-layout";
    const std::string per_stage = "num-layers-per-virtual-pipeline-stage";
    const std::string count = "num-virtual-stages-per-pipeline-rank";
    if (given_.contains(layout) + given_.contains(per_stage) + given_.contains(count) > 1) {
      throw Error(file_name_ + ": expected only one of --" + layout + ", --" + per_stage + " and --" + count);
    }
    if (given_.contains(layout)) return layout_stages(given_.at(layout), p) / p;
    if (!given_.contains(per_stage)) return number(count, 1);
    const std::int64_t layers = number("num-layers", 0);
    const std::int64_t chunk = number(per_stage, 1);
    if (layers == 0 || layers % p != 0 || layers / p % chunk != 0) {
      fail(given_.at(per_stage).line, "--" + per_stage + " (" + std::to_string(chunk) +
                                          "): expected a divisor of the layers of a rank, --num-layers (" +
                                          std::to_string(layers) + ") over " + std::to_string(p));
    }
    return layers / p / chunk;
  }

  /// Stages of a layout: one E first, one L last, a multiple of `p`, as many layers as said.
  std::int64_t layout_stages(const Given& given, std::int64_t p) const {
    const auto refuse = [&](const std::string& what) {
      fail(given.line, "--pipeline-model-parallel-layout: expected " + what + ", found '" + given.value + "'");
    };
    const std::string text = written_out_layout(given.value);
    if (text.empty() || text.find_first_not_of("EtmL|") != std::string::npos) {
      refuse("letters E, t, m, L and | with repetitions (...)*n and t*n");
    }
    if (std::ranges::count(text, 'E') != 1 || text.front() != 'E') refuse("one E, first");
    if (std::ranges::count(text, 'L') != 1 || text.back() != 'L') refuse("one L, last");
    const std::int64_t stages = std::ranges::count(text, '|') + 1;
    if (stages % p != 0) refuse("a multiple of " + std::to_string(p) + " stages");
    const std::int64_t layers = std::ranges::count(text, 't');
    if (number("num-layers", layers) != layers) refuse("as many t as --num-layers");
    return stages;
  }

  std::int64_t microbatches() const {
    const std::int64_t samples = number("micro-batch-size", 1) * number("data-parallel-size", 1);
    const std::int64_t batch = number("global-batch-size", 0);
    if (batch == 0)
      throw Error(file_name_ + ": expected --global-batch-size, which says how many microbatches there are");
    if (batch % samples != 0) {
      fail(given_.at("global-batch-size").line, "--global-batch-size (" + std::to_string(batch) +
                                                    ") must be a multiple of micro-batch-size x data-parallel-size (" +
                                                    std::to_string(samples) + ")");
    }
    return batch / samples;
  }

  bool recomputes() const {
    const auto found = given_.find("recompute-granularity");
    if (found == given_.end()) return false;
    if (found->second.value != "full" && found->second.value != "selective") {
      fail(found->second.line,
           "--recompute-granularity: expected full or selective, found '" + found->second.value + "'");
    }
    const auto method = given_.find("recompute-method");
    if (method != given_.end() && method->second.value != "uniform") {
      fail(method->second.line,
           "--recompute-method: expected uniform (every stage), found '" + method->second.value + "'");
    }
    return found->second.value == "full";  // selective recompute is of layers: --recompute selective of a simulation
  }

  Schedule made(std::string_view name, const ScheduleParams& params) const {
    try {
      return generate(name, params);
    } catch (const Error& error) {
      throw Error(file_name_ + ": " + error.what());
    }
  }

  std::string file_name_;
  std::map<std::string, Given> given_;
  std::optional<std::pair<std::string, std::size_t>> waiting_;  ///< option whose value comes next, and its line
  Mistakes mistakes_;
  bool skips_value_ = false;  ///< the word behind an option that is not known
};

}  // namespace

Schedule schedule_from_megatron_options(std::string_view text, std::string_view file_name) {
  return MegatronReader(text, file_name).read();
}

}  // namespace plumb
