#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb::testing {

/// A schedule of one replica with stage s on device s, its lists written as text: {"0F0 0B0", "1F0 1B0"}.
inline Schedule written_schedule(const std::vector<std::string>& devices, std::int64_t num_microbatches) {
  Schedule schedule;
  schedule.name = "written";
  schedule.num_devices = static_cast<std::int32_t>(devices.size());
  schedule.num_stages = schedule.num_devices;
  schedule.num_microbatches = num_microbatches;
  schedule.microbatches_per_update = {num_microbatches};
  schedule.placement.resize(1);
  for (std::int32_t device = 0; device < schedule.num_devices; ++device) {
    schedule.placement[0].push_back({DeviceId{device}});
    DeviceList list;
    const std::string& text = devices[static_cast<std::size_t>(device)];
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(' ', begin), text.size());
      const auto expected = read_item(std::string_view(text).substr(begin, end - begin), list.actions);
      if (!expected.empty()) throw std::invalid_argument(text.substr(begin, end - begin));
      begin = end + 1;
    }
    schedule.devices.push_back(list);
  }
  return schedule;
}

}  // namespace plumb::testing
