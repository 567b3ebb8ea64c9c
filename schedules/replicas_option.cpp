#include "schedules/replicas_option.hpp"

#include <charconv>
#include <numeric>
#include <string>

#include "schedules/generator.hpp"

namespace plumb {

std::vector<std::int64_t> replicas_option(std::string_view name, const ScheduleParams& params) {
  const auto option = params.options.find("replicas");
  if (option == params.options.end()) return {};
  const std::int64_t p = params.num_devices;
  const std::string& text = option->second;
  std::vector<std::int64_t> replicas;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  bool good = true;
  while (good) {
    std::int64_t count = 0;
    const auto [stop, error] = std::from_chars(at, end, count);
    good = error == std::errc{} && count >= 1 && count <= p;
    replicas.push_back(count);
    if (stop == end) break;
    good = good && *stop == '-';
    at = stop + 1;
  }
  good = good && std::accumulate(replicas.begin(), replicas.end(), std::int64_t{0}) == p;
  require(good, name,
          "option replicas: expected the devices of each stage, as 2-1-1, " + std::to_string(p) + " together, found '" +
              text + "'");
  return replicas;
}

}  // namespace plumb
