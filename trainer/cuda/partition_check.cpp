#include "trainer/cuda/partition_check.hpp"

#include <algorithm>

namespace plumb::cuda {

std::string text_of_multiprocessors(const std::vector<unsigned int>& blocks) {
  std::string text;
  for (std::size_t first = 0; first < blocks.size(); ++first) {
    if (blocks[first] == 0) continue;
    std::size_t last = first;
    while (last + 1 < blocks.size() && blocks[last + 1] > 0) ++last;
    text += (text.empty() ? "" : ", ") + std::to_string(first) + (last > first ? "-" + std::to_string(last) : "");
    first = last;
  }
  return text;
}

std::int64_t used_multiprocessors(const SeenMultiprocessors& part) {
  return std::ranges::count_if(part.blocks, [](unsigned int blocks) { return blocks > 0; });
}

std::vector<std::string> find_overlaps(const std::vector<SeenMultiprocessors>& parts) {
  std::vector<std::string> findings;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (used_multiprocessors(parts[i]) != parts[i].sms) {
      findings.push_back(parts[i].name + " runs on " + std::to_string(used_multiprocessors(parts[i])) + " SMs (" +
                         text_of_multiprocessors(parts[i].blocks) + "); expected " + std::to_string(parts[i].sms));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (parts[i].group == parts[j].group) continue;
      std::vector<unsigned int> both(std::min(parts[i].blocks.size(), parts[j].blocks.size()));
      for (std::size_t sm = 0; sm < both.size(); ++sm) both[sm] = std::min(parts[i].blocks[sm], parts[j].blocks[sm]);
      const std::string shared = text_of_multiprocessors(both);
      if (!shared.empty()) findings.push_back(parts[i].name + " and " + parts[j].name + " share SMs " + shared);
    }
  }
  return findings;
}

std::vector<std::string> find_false_waits(const SpinTimes& times) {
  if (2 * times.together_ns < 3 * times.spin_ns) return {};
  return {std::to_string(times.streams) + " streams that should run at once take " +
          std::to_string(times.together_ns / 1000) + " us for kernels of " + std::to_string(times.spin_ns / 1000) +
          " us; some share a hardware queue (CUDA_DEVICE_MAX_CONNECTIONS=32 must be set before the program starts)"};
}

}  // namespace plumb::cuda
