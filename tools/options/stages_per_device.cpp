#include "tools/options/stages_per_device.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "models/costs/vocabulary_stages.hpp"

namespace plumb {

std::int32_t stages_per_device(const Schedule& schedule) {
  std::vector<std::size_t> places;
  if (schedule.vocabulary) places = chain_places(*schedule.vocabulary, schedule.num_stages);
  const std::vector<StageId> shares = shares_of_blocks(schedule);
  const auto holds_layers = [&](std::size_t stage) {
    if (std::ranges::find(shares, StageId{static_cast<std::int32_t>(stage)}) != shares.end()) return false;
    if (places.empty()) return true;
    const auto last = static_cast<std::size_t>(schedule.vocabulary->num_layer_stages(schedule.num_stages));
    return places[stage] >= 1 && places[stage] <= last;
  };
  std::int32_t most = 1;
  for (const auto& replica : schedule.placement) {
    std::vector<std::int32_t> held(static_cast<std::size_t>(schedule.num_devices));
    for (std::size_t stage = 0; stage < replica.size(); ++stage) {
      if (!holds_layers(stage)) continue;
      for (const DeviceId device : replica[stage]) most = std::max(most, ++held[index(device)]);
    }
  }
  const std::int32_t layers =
      (schedule.vocabulary ? schedule.vocabulary->num_layer_stages(schedule.num_stages) : schedule.num_stages) -
      static_cast<std::int32_t>(shares.size());
  return most < layers ? most : std::max(1, (layers + schedule.num_devices - 1) / schedule.num_devices);
}

}  // namespace plumb
