#include "schedules/catalogue/registry.hpp"

#include <algorithm>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"

namespace plumb {

namespace {

const ScheduleSpec& find(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
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

std::span<const ScheduleSpec> schedule_catalogue() {
  static const std::vector<ScheduleSpec> catalogue = [] {
    std::vector<ScheduleSpec> rows;
    for (const auto part : {synchronous_schedules(), zero_bubble_schedules(), asynchronous_schedules(),
                            torch_schedules(), special_schedules()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return catalogue;
}

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
