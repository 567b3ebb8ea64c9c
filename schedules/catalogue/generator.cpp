#include "schedules/catalogue/generator.hpp"

#include <charconv>

#include "models/ground/error.hpp"

namespace plumb {

void require(bool ok, std::string_view name, const std::string& rule) {
  if (!ok) throw Error(std::string(name) + ": " + rule);
}

void require_one_chunk(std::string_view name, const ScheduleParams& params) {
  require(params.chunks <= 1, name,
          "chunks per device (" + std::to_string(params.chunks) + ") must be 1; see 'interleaved'");
}

std::string choice(std::string_view, const ScheduleParams& params, const std::string& key,
                   std::span<const std::string_view> choices) {
  const auto option = params.options.find(key);
  return option == params.options.end() ? std::string(choices.front()) : option->second;
}

std::int64_t whole_number(std::string_view name, const ScheduleParams& params, const std::string& key,
                          std::int64_t otherwise, std::int64_t least) {
  const auto option = params.options.find(key);
  if (option == params.options.end()) return otherwise;
  const std::string& text = option->second;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(
      error == std::errc{} && end == text.data() + text.size() && value >= least, name,
      "option " + key + ": expected a whole number of at least " + std::to_string(least) + ", found '" + text + "'");
  return value;
}

Schedule looped_schedule(std::string_view name, const ScheduleParams& params, std::int32_t chunks,
                         std::int64_t updates) {
  require(updates <= kMostMicrobatches / params.num_microbatches, name,
          "num_microbatches (" + std::to_string(params.num_microbatches) + ") times updates (" +
              std::to_string(updates) + ") must be at most " + std::to_string(kMostMicrobatches));
  Schedule schedule;
  schedule.name = name;
  schedule.parameters = {{"p", std::int64_t{params.num_devices}}, {"m", params.num_microbatches}};
  if (chunks > 1) schedule.parameters["v"] = std::int64_t{chunks};
  if (updates > 1) schedule.parameters["updates"] = updates;
  schedule.num_devices = params.num_devices;
  schedule.num_stages = params.num_devices * chunks;
  schedule.num_microbatches = params.num_microbatches * updates;
  schedule.microbatches_per_update = {params.num_microbatches};
  schedule.placement.resize(1);
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    schedule.placement[0].push_back({DeviceId{stage % params.num_devices}});
  }
  schedule.devices.reserve(static_cast<std::size_t>(params.num_devices));
  return schedule;
}

}  // namespace plumb
