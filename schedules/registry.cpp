#include "schedules/registry.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "models/error.hpp"
#include "schedules/generator.hpp"

namespace plumb {

Schedule gpipe(const ScheduleParams& params);
Schedule one_f_one_b(const ScheduleParams& params);
Schedule interleaved(const ScheduleParams& params);
Schedule zb_h1(const ScheduleParams& params);
Schedule chimera(const ScheduleParams& params);
Schedule pipedream(const ScheduleParams& params);
Schedule pipemare(const ScheduleParams& params);

namespace {

constexpr std::string_view kTiming = "timing=1f1b|slots: one action at a time, or a forward and a backward at once";

// name, summary, year, source, synchronous, weights, placement, needs, options, generator
constexpr std::array kCatalogue{
    ScheduleSpec{"gpipe", "all forwards, then all backwards", 2018, "Huang et al., GPipe, arXiv 1811.06965", true,
                 "flush", "linear", "", "order=reverse|fifo: order of the backwards", gpipe},
    ScheduleSpec{"1f1b", "alternate one forward with one backward", 2020,
                 "Narayanan et al., PipeDream-Flush, arXiv 2006.09503", true, "flush", "linear", "", "", one_f_one_b},
    ScheduleSpec{"interleaved", "1f1b over several chunks per device", 2021,
                 "Narayanan et al., Megatron-LM, arXiv 2104.04473", true, "flush", "looped",
                 "m a multiple of group, or a rest of at least p; or m < p",
                 "group=N: microbatches that pass a chunk together (default p)", interleaved},
    ScheduleSpec{"zb-h1", "1f1b with the weight gradient put off into the drain", 2023,
                 "Qi et al., Zero Bubble Pipeline Parallelism, arXiv 2401.10241", true, "flush", "linear", "", "",
                 zb_h1},
    ScheduleSpec{"chimera", "pipelines in both directions over the same devices", 2021,
                 "Li and Hoefler, Chimera, arXiv 2107.06925", true, "flush", "bidirectional",
                 "p even; m < p or a multiple of p; m >= 2f", "pipelines=f: pipelines in each direction (divides p/2)",
                 chimera},
    ScheduleSpec{"pipedream", "never flushed; a backward reads the weights of its forward", 2018,
                 "Narayanan et al., PipeDream, arXiv 1806.03377", false, "stash", "linear", "", kTiming, pipedream},
    ScheduleSpec{"pipemare", "never flushed, one version of the weights, whatever is newest", 2019,
                 "Yang et al., PipeMare, arXiv 1910.05124", false, "latest", "linear", "", kTiming, pipemare},
};

const ScheduleSpec& find(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ScheduleSpec& spec : kCatalogue) {
    if (spec.name == name) return spec;
    names.push_back(spec.name);
  }
  throw_unknown("schedule", name, names);
}

/// Names of the options of `spec`: what stands before each '=' of "key=value: meaning; key=value: meaning".
std::vector<std::string_view> option_names(const ScheduleSpec& spec) {
  std::vector<std::string_view> names;
  std::string_view rest = spec.options;
  while (!rest.empty()) {
    names.push_back(rest.substr(0, rest.find('=')));
    const std::size_t next = rest.find("; ");
    rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 2);
  }
  return names;
}

void check_options(const ScheduleSpec& spec, const ScheduleParams& params) {
  const std::vector<std::string_view> known = option_names(spec);
  for (const auto& [key, value] : params.options) {
    require(!known.empty(), spec.name, "has no options, found '" + key + "'");
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw_unknown("option of " + std::string(spec.name), key, known);
    }
  }
}

void check_in(const ScheduleSpec& spec, const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  require(least <= value && value <= most, spec.name,
          std::string(what) + " (" + std::to_string(value) + ") must be from " + std::to_string(least) + " to " +
              std::to_string(most));
}

}  // namespace

std::span<const ScheduleSpec> schedule_catalogue() { return kCatalogue; }

Schedule generate(std::string_view name, const ScheduleParams& params) {
  constexpr std::int64_t kMostDevices = 65536;
  constexpr std::int64_t kMostStages = std::int64_t{1} << 20;
  const ScheduleSpec& spec = find(name);
  check_options(spec, params);
  check_in(spec, "num_devices", params.num_devices, 1, kMostDevices);
  check_in(spec, "num_microbatches", params.num_microbatches, 1, kMostMicrobatches);
  check_in(spec, "chunks per device", params.chunks, 0, kMostStages / params.num_devices);
  check_in(spec, "updates", params.updates, 0, kMostMicrobatches);
  return spec.make(params);
}

}  // namespace plumb
