#include "trainer/profile/contention_run.hpp"

#include <utility>
#include <vector>

#include "sim/contention_fit/fit_contention.hpp"
#include "trainer/profile/profile_schedule.hpp"

namespace plumb {

ContentionRun measure_contention(const ProfileOptions& given) {
  const ProfileOptions options = with_devices(given);
  ProfileSamples alone(options.partition.num_stages());
  ProfileSamples loaded(options.partition.num_stages());
  std::vector<Timeline> runs;
  for (std::int64_t round = 0; round < options.rounds; ++round) {
    for (const bool split : {false, true}) {
      runs.push_back(profiled_run(options, {.split = split, .alone = true}));
      alone.add(runs.back(), 1);
      runs.push_back(profiled_run(options, {.split = split}));
      loaded.add(runs.back(), options.microbatches);
      runs.push_back(profiled_run(options, {.split = split, .crowded = true}));
    }
    runs.push_back(profiled_run(options, {.changing = true}));
    for (const bool one_by_one : {true, false}) {
      if (options.reductions && options.num_devices > 1) runs.push_back(mirrored_run(options, one_by_one));
    }
    if (options.on_round) options.on_round(round);
  }
  ContentionRun result;
  result.fit = fit_contention(runs, {.first_update = 1});
  result.profile = described_profile(options, runs.empty() ? "" : runs.front().machine);
  result.profile.stages = alone.stages(options.partition);
  if (options.num_devices > 1) result.profile.transfers = {profiled_transfer(options, loaded)};
  result.profile.contention = result.fit.contention;
  return result;
}

}  // namespace plumb
