#include "schedules/catalogue/synchronous/vocabulary_passes.hpp"

#include <string>

namespace plumb {

Schedule vocabulary_schedule(std::string_view name, const ScheduleParams& params, HeadPasses passes,
                             std::int64_t updates) {
  require_one_chunk(name, params);
  const std::int32_t p = params.num_devices;
  require(p >= 2, name, "num_devices (" + std::to_string(p) + ") must be at least 2");
  Schedule schedule = looped_schedule(name, params, 3, updates);
  schedule.vocabulary.emplace();
  auto& edges = schedule.stage_edges.emplace();
  schedule.vocabulary->at_once = passes == HeadPasses::kAtOnce;
  const StageId first{0};
  const StageId last{p - 1};
  const StageId loss{3 * p};
  const bool has_loss = passes == HeadPasses::kAtOnce;
  for (std::int32_t stage = 0; stage + 1 < p; ++stage) {
    edges.emplace_back(StageId{stage}, StageId{stage + 1});
  }
  for (std::int32_t share = 0; share < p; ++share) {
    const StageId output{p + share};
    const StageId input{2 * p + share};
    schedule.vocabulary->output.push_back(output);
    schedule.vocabulary->input.push_back(input);
    edges.emplace_back(input, first);
    edges.emplace_back(last, output);
    if (has_loss) edges.emplace_back(output, loss);
  }
  if (has_loss) {
    schedule.vocabulary->loss = loss;
    schedule.placement[0].push_back({DeviceId{p - 1}});
    ++schedule.num_stages;
  }
  return schedule;
}

void VocabularyPasses::score(std::int64_t k) {
  add(1, Op::kF, k);
  if (passes_ == HeadPasses::kOneBarrier) add(1, Op::kI, k);
}

void VocabularyPasses::score_backward(std::int64_t k) {
  if (passes_ == HeadPasses::kOneBarrier) {
    add(1, Op::kW, k);
    return;
  }
  add(1, Op::kB, k);
}

void VocabularyPasses::loss(std::int64_t k) {
  if (device_ != p_ - 1 || k < 0 || k >= m_) return;
  list_.add(StageId{3 * p_}, Op::kF, k);
  list_.add(StageId{3 * p_}, Op::kB, k);
}

void VocabularyPasses::updates() {
  for (std::int32_t group = 0; group < 3; ++group) list_.add(StageId{group * p_ + device_}, Op::kU, 0);
  if (passes_ == HeadPasses::kAtOnce && device_ == p_ - 1) list_.add(StageId{3 * p_}, Op::kU, 0);
}

}  // namespace plumb
