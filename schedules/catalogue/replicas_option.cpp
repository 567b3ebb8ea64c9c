#include "schedules/catalogue/replicas_option.hpp"

#include <charconv>
#include <limits>
#include <numeric>
#include <string>

#include "schedules/catalogue/generator.hpp"

namespace plumb {

std::vector<std::int64_t> dashed_numbers(const std::string& text, std::int64_t most) {
  std::vector<std::int64_t> numbers;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (;;) {
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(at, end, number);
    if (error != std::errc{} || number < 1 || number > most) return {};
    numbers.push_back(number);
    if (stop == end) return numbers;
    if (*stop != '-') return {};
    at = stop + 1;
  }
}

std::vector<std::int64_t> replicas_option(std::string_view name, const ScheduleParams& params) {
  const auto option = params.options.find("replicas");
  if (option == params.options.end()) return {};
  const std::int64_t p = params.num_devices;
  std::vector<std::int64_t> replicas = dashed_numbers(option->second, p);
  const bool good = std::accumulate(replicas.begin(), replicas.end(), std::int64_t{0}) == p;
  require(good, name,
          "option replicas: expected the devices of each stage, as 2-1-1, " + std::to_string(p) + " together, found '" +
              option->second + "'");
  return replicas;
}

std::vector<std::int64_t> limits_option(std::string_view name, const ScheduleParams& params, std::size_t stages) {
  const std::int64_t most = params.num_microbatches;
  const auto option = params.options.find("limit");
  if (option == params.options.end()) return std::vector<std::int64_t>(stages, most);
  std::vector<std::int64_t> limits = dashed_numbers(option->second, std::numeric_limits<std::int32_t>::max());
  if (limits.size() == 1) limits.resize(stages, limits.front());
  require(limits.size() == stages, name,
          "option limit: expected a number from 1 or one for each of " + std::to_string(stages) +
              " stages, as 1-3-2, found '" + option->second + "'");
  return limits;
}

}  // namespace plumb
