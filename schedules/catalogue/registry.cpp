#include "schedules/catalogue/registry.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "models/costs/check_costs.hpp"
#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "models/ground/plain_name.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/other_names.hpp"
#include "schedules/catalogue/pipeline_copies.hpp"

namespace plumb {

namespace {

/// What depends on the size is checked by the generator.
void check_schedule_options(const ScheduleSpec& spec, const ScheduleParams& params) {
  if (params.options.empty()) return;
  const std::vector<NamedOption> known = spec.all_options();
  for (const auto& [key, value] : params.options) {
    if (key == kCopyShares) continue;  // why it is none of a schedule's is said where copies are made
    require(!known.empty(), spec.name, "has no options, found '" + key + "'");
    const NamedOption& option = option_named(known, key, "option of " + std::string(spec.name));
    require(allows_value(option, value), spec.name,
            "option " + key + ": expected " + expected_values(option) + ", found '" + value + "'");
  }
}

void check_in(const ScheduleSpec& spec, const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  require(least <= value && value <= most, spec.name,
          std::string(what) + " (" + std::to_string(value) + ") must be from " + std::to_string(least) + " to " +
              std::to_string(most));
}

/// Costs that a generator can add up over all its microbatches; it decides by sums of them.
StageCosts summable_costs(const ScheduleSpec& spec, const ScheduleParams& params, std::int32_t num_stages) {
  StageCosts costs = params.costs(num_stages);
  check_costs(costs);
  double each = 0;
  for (const StageTimes& times : costs.times) {
    const Ticks backward = std::max(times.b, times.i + times.w);
    each += static_cast<double>(times.f) + static_cast<double>(backward) + static_cast<double>(times.r) +
            static_cast<double>(times.u) + 2 * static_cast<double>(costs.comm.value_or(0));
  }
  const auto microbatches =
      static_cast<double>(params.num_microbatches) * static_cast<double>(std::max<std::int64_t>(1, params.updates));
  const auto most = static_cast<double>(kMostRun);
  require(each * microbatches <= most, spec.name,
          "the passes of all microbatches take more than 2^61 ticks of the clock; expected smaller costs");
  return costs;
}

}  // namespace

std::vector<NamedOption> ScheduleSpec::all_options() const {
  std::vector<NamedOption> all = options;
  if (synchronous && !inference && copies) all.push_back(kCopySharesOption);
  return all;
}

bool ScheduleSpec::has_option(std::string_view option) const { return find_option(options, option) != nullptr; }

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

const ScheduleSpec& schedule_named(std::string_view name) {
  const std::string plain = plain_name(name);
  const auto catalogue = schedule_catalogue();
  const auto called = [&](std::string_view wanted) {
    return std::ranges::find_if(catalogue, [&](const ScheduleSpec& spec) { return plain_name(spec.name) == wanted; });
  };
  if (const auto found = called(plain); found != catalogue.end()) return *found;
  std::vector<std::string_view> names;
  for (const ScheduleSpec& spec : catalogue) names.push_back(spec.name);
  for (const OtherName& other : other_names()) {
    if (plain_name(other.theirs) == plain) return *called(plain_name(other.ours));
  }
  if (plain.starts_with("zerobubble")) {  // the name of a family
    std::erase_if(names, [](std::string_view one) { return one.find("zb") == std::string_view::npos; });
  }
  std::string small(name);
  for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  throw_unknown("schedule", small, names);
}

Schedule generate(std::string_view name, const ScheduleParams& params) {
  constexpr std::int64_t kMostDevices = 65536;
  constexpr std::int64_t kMostStages = std::int64_t{1} << 20;
  const ScheduleSpec& spec = schedule_named(name);
  check_schedule_options(spec, params);
  check_in(spec, "num_devices", params.num_devices, 1, kMostDevices);
  check_in(spec, "num_microbatches", params.num_microbatches, 1, kMostMicrobatches);
  check_in(spec, "chunks per device", params.chunks, 0, kMostStages / params.num_devices);
  check_in(spec, "updates", params.updates, 0, kMostMicrobatches);
  if (params.options.contains(std::string(kCopyShares))) {
    require(spec.synchronous && !spec.inference, spec.name, "option shares: expected a schedule that flushes");
    return pipeline_copies(spec.name, params, [name](const ScheduleParams& one) { return generate(name, one); });
  }
  if (spec.make == nullptr) return generate_by_rules(spec, params);
  if (!params.costs) return spec.make(params);
  ScheduleParams checked = params;
  checked.costs = [&](std::int32_t num_stages) { return summable_costs(spec, params, num_stages); };
  return spec.make(checked);
}

}  // namespace plumb
