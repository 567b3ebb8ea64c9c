#include "tools/options/jobs/tensor_by_rank.hpp"

#include <numeric>

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

const std::string kTensorByRank = "--tp-by-rank";

}  // namespace

std::vector<std::int32_t> parse_tensor_by_rank(const std::string& text) {
  std::vector<std::int32_t> degrees;
  for (const std::string& word : split(text, '-')) {
    degrees.push_back(static_cast<std::int32_t>(parse_whole(word, {1, 1'000'000}, kTensorByRank)));
  }
  return degrees;
}

std::vector<std::int32_t> parse_tensor_by_rank(const std::string& text, std::int32_t devices) {
  std::vector<std::int32_t> degrees = parse_tensor_by_rank(text);
  if (std::ssize(degrees) == devices) return degrees;
  throw Error(kTensorByRank + ": " + text + " has " + std::to_string(degrees.size()) +
              " degrees, expected one for each of the " + std::to_string(devices) + " pipeline ranks");
}

std::vector<std::int32_t> places_of_stages(const Schedule& schedule, const std::vector<std::int32_t>& degrees) {
  const auto degree = [&](DeviceId device) { return degrees[index(device)]; };
  std::vector<std::int32_t> places;
  for (std::size_t s = 0; s < schedule.placement.front().size(); ++s) {
    const DeviceId first = schedule.placement.front()[s].front();
    places.push_back(static_cast<std::int32_t>(first));
    for (const auto& replica : schedule.placement) {
      for (const DeviceId device : replica[s]) {
        if (degree(device) == degree(first)) continue;
        throw Error(kTensorByRank + ": stage " + std::to_string(s) + " is on devices " + std::to_string(index(first)) +
                    " and " + std::to_string(index(device)) + ", expected the same degree on both");
      }
    }
  }
  return places;
}

std::vector<std::int32_t> one_stage_each(std::int32_t stages, std::int32_t devices) {
  if (stages != devices) {
    throw Error(kTensorByRank + ": the schedule is searched for its costs, expected one stage on each of its devices");
  }
  std::vector<std::int32_t> places(static_cast<std::size_t>(stages));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

}  // namespace plumb
