#include "schedules/catalogue/slice_lengths.hpp"
#include "models/ground/named_option.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// FLOPs of attention for one token and one token of its context.
double attention(const TransformerShape& shape) { return static_cast<double>((4 * shape.head_size + 3) * shape.heads); }

/// FLOPs of one token whatever its context, over all layers.
double per_token(const TransformerShape& shape) {
  const double layer = static_cast<double>(8 * shape.hidden * shape.heads * shape.head_size) +
                       static_cast<double>(4 * shape.hidden * shape.feed_forward);
  return static_cast<double>(shape.layers) * layer + static_cast<double>(4 * shape.hidden * shape.vocabulary);
}

/// Splits "24x4096" or "4,3,2" into whole numbers of at least 1; empty when it is anything else.
std::vector<std::int64_t> numbers(std::string_view text, char separator) {
  std::vector<std::int64_t> found;
  for (;;) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || value < 1) return {};
    found.push_back(value);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.empty()) return found;
    if (text.front() != separator) return {};
    text.remove_prefix(1);
  }
}

/// The search for one bound of the longest slice.
class BoundedSlicing {
 public:
  /// `times[length - 1][context]`, in steps.
  explicit BoundedSlicing(const std::vector<std::vector<double>>& times)
      : times_(times), least_(times.size() + 1), last_(times.size() + 1) {}

  /// Least sum of slices none of which takes longer than `bound`; infinite when there is no way.
  double least_sum(double bound) {
    least_[0] = 0;
    for (std::size_t end = 1; end < least_.size(); ++end) {
      least_[end] = std::numeric_limits<double>::infinity();
      for (std::size_t length = end; length >= 1; --length) {
        const double time = times_[length - 1][end - length];
        if (time > bound || least_[end - length] + time >= least_[end]) continue;
        least_[end] = least_[end - length] + time;
        last_[end] = length;
      }
    }
    return least_.back();
  }

  /// The lengths that `least_sum` found, in steps.
  std::vector<std::int64_t> lengths() const {
    std::vector<std::int64_t> found;
    for (std::size_t end = last_.size() - 1; end > 0; end -= last_[end]) {
      found.push_back(static_cast<std::int64_t>(last_[end]));
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  const std::vector<std::vector<double>>& times_;
  std::vector<double> least_;
  std::vector<std::size_t> last_;  ///< length of the slice that ends there
};

/// By length - 1 and context, in steps.
using SliceTimes = std::vector<std::vector<double>>;

/// The times of all slices, which are also added to `bounds`.
SliceTimes slice_times(const SliceTime& time, const SliceSearch& search, std::vector<double>& bounds) {
  const std::int64_t steps = search.tokens / search.step;
  SliceTimes times(static_cast<std::size_t>(steps));
  for (std::int64_t length = 1; length <= steps; ++length) {
    auto& row = times[static_cast<std::size_t>(length - 1)];
    for (std::int64_t context = 0; context + length <= steps; ++context) {
      row.push_back(time(length * search.step, context * search.step));
    }
    bounds.insert(bounds.end(), row.begin(), row.end());
  }
  return times;
}

void sort_bounds(std::vector<double>& bounds) {
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
}

/// The search over batches for one bound of the longest slice.
class BoundedBatches {
 public:
  /// `times[samples - 1]`
  explicit BoundedBatches(const std::vector<SliceTimes>& times)
      : sums_(times.size()), least_(times.size() + 1), last_(times.size() + 1) {
    for (const SliceTimes& one : times) slicing_.emplace_back(one);
  }

  /// Least sum over all batches of slices none of which takes longer than `bound`; infinite when there is no way.
  double least_sum(double bound) {
    for (std::size_t k = 0; k < slicing_.size(); ++k) sums_[k] = slicing_[k].least_sum(bound);
    least_[0] = 0;
    for (std::size_t end = 1; end < least_.size(); ++end) {
      least_[end] = std::numeric_limits<double>::infinity();
      for (std::size_t samples = end; samples >= 1; --samples) {
        const double sum = least_[end - samples] + sums_[samples - 1];
        if (sum >= least_[end]) continue;
        least_[end] = sum;
        last_[end] = samples;
      }
    }
    return least_.back();
  }

  /// The batches that `least_sum` found, lengths in steps.
  std::vector<BatchSlice> slices() const {
    std::vector<BatchSlice> found;
    for (std::size_t end = least_.size() - 1; end > 0; end -= last_[end]) {
      found.push_back({static_cast<std::int64_t>(last_[end]), slicing_[last_[end] - 1].lengths()});
    }
    std::reverse(found.begin(), found.end());
    return found;
  }

 private:
  std::vector<BoundedSlicing> slicing_;  ///< by samples together - 1
  std::vector<double> sums_;
  std::vector<double> least_;
  std::vector<std::size_t> last_;  ///< samples of the batch that ends there
};

TransformerShape shape_option(std::string_view name, const ScheduleParams& params) {
  const auto option = params.options.find("model");
  const std::vector<std::int64_t> given =
      option == params.options.end() ? std::vector<std::int64_t>{} : numbers(option->second, 'x');
  require(given.size() == 5 && given[1] % given[3] == 0, name,
          "option model: expected LAYERSxHIDDENxFEEDFORWARDxHEADSxVOCABULARY, hidden a multiple of heads" +
              (option == params.options.end() ? std::string(", found none") : ", found '" + option->second + "'"));
  return {given[0], given[1], given[2], given[3], given[1] / given[3], given[4]};
}

/// What the options ask the search for.
struct OptionSearch {
  SliceSearch search;
  BatchSliceTime time;
};

/// Lengths are by default multiples of tokens / `usual_steps`.
OptionSearch option_search(std::string_view name, const ScheduleParams& params, std::int64_t tokens,
                           std::int64_t usual_steps, std::int64_t most_steps) {
  const TransformerShape shape = shape_option(name, params);
  const std::int64_t step = whole_number(name, params, "multiple", std::max<std::int64_t>(1, tokens / usual_steps));
  require(tokens % step == 0 && tokens / step <= most_steps, name,
          "option multiple (" + std::to_string(step) + ") must divide tokens (" + std::to_string(tokens) +
              ") into at most " + std::to_string(most_steps));
  const double overhead = params.options.contains("overhead")
                              ? static_cast<double>(whole_number(name, params, "overhead", 1)) * per_token(shape)
                              : 0;
  const auto time = [=](std::int64_t samples, std::int64_t length, std::int64_t context) {
    return overhead + static_cast<double>(samples) * slice_flops(shape, length, context + length);
  };
  return {{.tokens = tokens, .step = step, .devices = params.num_devices, .microbatches = params.num_microbatches},
          time};
}

std::vector<std::int64_t> searched(std::string_view name, const ScheduleParams& params, std::int64_t tokens) {
  const OptionSearch asked = option_search(name, params, tokens, 64, 256);
  const auto one = [&](std::int64_t length, std::int64_t context) { return asked.time(1, length, context); };
  return fastest_slice_lengths(one, asked.search);
}

std::vector<std::int64_t> equal_lengths(std::int64_t tokens, std::int64_t slices) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t i = 0; i < slices; ++i) lengths.push_back((i + 1) * tokens / slices - i * tokens / slices);
  return lengths;
}

}  // namespace

double slice_flops(const TransformerShape& shape, std::int64_t length, std::int64_t end) {
  const auto n = static_cast<double>(length);
  const auto context = static_cast<double>(end) - n / 2;  // mean over the tokens of the slice
  return static_cast<double>(shape.layers) * attention(shape) * n * context + n * per_token(shape);
}

std::vector<std::int64_t> equal_work_lengths(const TransformerShape& shape, std::int64_t tokens, std::int64_t slices,
                                             std::int64_t multiple) {
  const double share = slice_flops(shape, tokens, tokens) / static_cast<double>(slices);
  const double a = static_cast<double>(shape.layers) * attention(shape) / 2;
  std::vector<std::int64_t> lengths;
  std::int64_t end = tokens;
  for (std::int64_t i = slices - 1; i > 0; --i) {
    const double b = 2 * a * static_cast<double>(end) + per_token(shape);  // share = b n - a n^2
    const double length = (b - std::sqrt(std::max(0.0, b * b - 4 * a * share))) / (2 * a);
    lengths.push_back(static_cast<std::int64_t>(length) / multiple * multiple);
    end -= lengths.back();
    if (lengths.back() > 0 && end > 0) continue;
    throw Error(std::to_string(slices) + " slices of " + std::to_string(tokens) + " tokens in multiples of " +
                std::to_string(multiple) + ": expected at least one token in each");
  }
  lengths.push_back(end);
  std::reverse(lengths.begin(), lengths.end());
  return lengths;
}

std::vector<std::int64_t> fastest_slice_lengths(const SliceTime& time, const SliceSearch& search) {
  std::vector<double> bounds;
  const SliceTimes times = slice_times(time, search, bounds);
  sort_bounds(bounds);
  BoundedSlicing slicing(times);
  double best = std::numeric_limits<double>::infinity();
  std::vector<std::int64_t> lengths;
  for (const double bound : bounds) {
    const double fill = static_cast<double>(search.devices - 1) * bound;
    if (fill >= best) break;
    const double total = static_cast<double>(search.microbatches) * slicing.least_sum(bound) + fill;
    if (total >= best) continue;
    best = total;
    lengths = slicing.lengths();
  }
  for (std::int64_t& length : lengths) length *= search.step;
  return lengths;
}

std::vector<BatchSlice> fastest_batch_slices(const BatchSliceTime& time, const SliceSearch& search) {
  std::vector<double> bounds;
  std::vector<SliceTimes> times;
  for (std::int64_t samples = 1; samples <= search.microbatches; ++samples) {
    const auto together = [&](std::int64_t length, std::int64_t context) { return time(samples, length, context); };
    times.push_back(slice_times(together, search, bounds));
  }
  sort_bounds(bounds);
  BoundedBatches batches(times);
  double best = std::numeric_limits<double>::infinity();
  std::vector<BatchSlice> found;
  for (const double bound : bounds) {
    const double fill = static_cast<double>(search.devices - 1) * bound;
    if (fill >= best) break;
    const double total = batches.least_sum(bound) + fill;
    if (total >= best) continue;
    best = total;
    found = batches.slices();
  }
  for (BatchSlice& batch : found) {
    for (std::int64_t& length : batch.lengths) length *= search.step;
  }
  return found;
}

std::vector<BatchSlice> joint_slices(std::string_view name, const ScheduleParams& params) {
  constexpr std::int64_t kMostWork = 1024;  // takes about a second
  constexpr std::int64_t kMostTogether = 128;
  const std::int64_t samples = params.num_microbatches;
  require(samples <= kMostTogether, name,
          "option lengths=joint: num_microbatches (" + std::to_string(samples) + ") must be at most " +
              std::to_string(kMostTogether));
  const std::int64_t tokens = whole_number(name, params, "tokens", 0);
  require(tokens > 0, name, "option lengths=joint needs tokens=N, the length of a sequence");
  const std::int64_t steps = kMostWork / samples;
  const OptionSearch asked = option_search(name, params, tokens, std::min<std::int64_t>(32, steps), steps);
  return fastest_batch_slices(asked.time, asked.search);
}

std::vector<NamedOption> slice_options(OptionDefault slices, std::initializer_list<NamedOption> more) {
  std::vector<NamedOption> options{
      {"slices", count_form("k"), slices, "slices of a sequence"},
      {"lengths",
       {"equal", "work", "search", list_form("L,L,...")},
       "equal",
       "lengths of the slices: all equal, equal work, those with the shortest step, or as given"},
      {"tokens", count_form("N"), "one for each slice", "tokens of a sequence; lengths=work and search need it"},
      {"model", list_form("LAYERSxHIDDENxFEEDFORWARDxHEADSxVOCABULARY"), "none",
       "the transformer whose work counts; lengths=work and search need it"},
      {"multiple", count_form("N"), "1; tokens / 64 with lengths=search",
       "number of tokens that every length is a multiple of"},
      {"overhead", count_form("N", 0), 0, "time of a slice that does not depend on its length, in tokens"}};
  options.insert(options.end(), more);
  return options;
}

std::vector<std::int64_t> slice_lengths(std::string_view name, const ScheduleParams& params, std::int64_t otherwise) {
  const auto option = params.options.find("lengths");
  const std::string how = option == params.options.end() ? "equal" : option->second;
  const std::int64_t slices = whole_number(name, params, "slices", otherwise);
  const std::int64_t tokens = whole_number(name, params, "tokens", how == "equal" ? slices : 0);
  require(slices <= std::numeric_limits<std::int16_t>::max() && (how != "equal" || slices <= tokens), name,
          "option slices (" + std::to_string(slices) + ") must be at most 32767 and at most one for each token");
  if (how == "equal") return equal_lengths(tokens, slices);
  const std::vector<std::int64_t> given = numbers(how, ',');
  if (!given.empty()) return given;
  require(how == "work" || how == "search", name,
          "option lengths: expected equal, work, search or numbers like 4,3,2,1, found '" + how + "'");
  require(tokens > 0, name, "option lengths=" + how + " needs tokens=N, the length of a sequence");
  if (how == "search") return searched(name, params, tokens);
  return equal_work_lengths(shape_option(name, params), tokens, slices, whole_number(name, params, "multiple", 1));
}

}  // namespace plumb
