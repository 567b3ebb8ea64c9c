#include "models/sources/profile.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a profile, which comes back as it was and has a partition, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  return testing::read_or_refuse(
      [&] { return profile_from_json(testing::text_of(data, size), "fuzz.json"); },
      [](const Profile& profile) {
        testing::promise(profile_from_json(profile_to_json(profile), "again.json") == profile, "the same profile");
        testing::promise(profiled_partition(profile).num_stages() == profile.stages.size(), "a stage for each row");
      });
}
