#include <string_view>

#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"
#include "tests/fuzz/promise.hpp"

namespace {

using namespace plumb;

/// Any text is a profile of a traced run, which comes back as it was and gives times that are not below 0, or is
/// refused.
int try_run_profile(std::string_view text) {
  return testing::read_or_refuse(
      [&] { return run_profile_from_json(text, "fuzz.json"); },
      [](const RunProfile& profile) {
        testing::promise(run_profile_from_json(run_profile_to_json(profile), "again.json") == profile, "the same run");
        for (const std::int32_t stages : {1, 2, 3}) {
          for (const StageTimes& times : run_profile_costs(profile, stages).costs.times) {
            testing::promise(times.f >= 0 && times.b >= 0 && times.i >= 0 && times.w >= 0, "times");
          }
        }
      });
}

}  // namespace

/// Any text is a profile, which comes back as it was and has a partition, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = testing::text_of(data, size);
  if (text.find("run-profile") != std::string_view::npos) return try_run_profile(text);
  return testing::read_or_refuse(
      [&] { return profile_from_json(text, "fuzz.json"); },
      [](const Profile& profile) {
        testing::promise(profile_from_json(profile_to_json(profile), "again.json") == profile, "the same profile");
        testing::promise(profiled_partition(profile).num_stages() == profile.stages.size(), "a stage for each row");
      });
}
