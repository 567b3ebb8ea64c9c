#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/network/network.hpp"
#include "models/sources/profile.hpp"
#include "models/stages/partition.hpp"
#include "trainer/data/training_data.hpp"
#include "trainer/ground/device_clock.hpp"
#include "trainer/numbers/optimizer.hpp"
#include "trainer/profile/profile_samples.hpp"
#include "trainer/profile/profile_schedule.hpp"
#include "trainer/stages/backend.hpp"
#include "trainer/streams/stream_options.hpp"

namespace plumb {

/// What to measure, and how long.
struct ProfileOptions {
  Network network;
  Partition partition;
  MicrobatchShape shape;
  std::int32_t num_devices = 0;        ///< threads that run at once; 0: one per stage. At most as many as stages
  const TrainingData* data = nullptr;  ///< outlives the run
  OptimizerOptions optimizer;
  NumberType numbers = NumberType::kFloat32;
  std::string backend = "cpu";
  ClockKind clock = ClockKind::kWall;  ///< as in `ExecutionOptions`
  StreamOptions streams;
  std::int64_t microbatches = 8;  ///< per update; and in flight where the stages are crowded
  std::int64_t updates = 3;       ///< measured, per round
  std::int64_t rounds = 2;        ///< each trains with fused and split backwards, with 1F1B and crowded
  bool crowded = true;            ///< false: 1F1B only, without copies
  bool reductions = false;        ///< whether contention has what reductions take, too
  std::function<void(std::int64_t round)> on_round;  ///< called after every round
};

/// Measures every stage's F, B, I, W and U and the hand-over of messages by training, with all devices at work at once
/// (1F1B; where there are more stages than devices, a device runs neighbouring stages one after the other); then once
/// more with all microbatches of an update in flight (`Profile::crowded`), and with every stash going to the host and
/// back (EVICT and LOAD; on a CPU they are copies by the device's own thread). The first update of every run warms up
/// and is not counted.
///
/// Copying a message is part of the action that sends or takes it, as it is for the thread. What remains of a transfer
/// is the time until a waiting device goes on, whatever the size: its latency. The 10th percentile counts, because on a
/// busy machine most threads that are woken wait for a processor, which is the machine's time and not the message's.
///
/// Rounds, and the runs of a round, may alternate with runs of something else, so that both are measured in the same
/// conditions of the machine.
class StageProfiler {
 public:
  /// Throws `Error` for more devices than stages.
  explicit StageProfiler(ProfileOptions options);

  /// Returns what one round trains, in order: with fused and with split backwards, both with as few microbatches in
  /// flight as 1F1B and with all, and with copies to the host.
  std::vector<ProfileKind> round() const;

  /// One run of a round.
  void measure(const ProfileKind& kind);

  /// All runs of a round.
  void measure_round();

  /// Adds what another one measured with the same options, so that rounds can be chosen afterwards.
  void add(const StageProfiler& other);

  /// Returns what all rounds until now measured.
  Profile profile() const;

 private:
  ProfileOptions options_;
  ProfileSamples regular_;
  ProfileSamples crowded_;
  std::string machine_;  ///< machine of the first run
};

/// Returns one run of `profile_schedule` as the options say; the first update warms up. A run with one action at a time
/// has so many more updates that every action is measured as often.
Timeline profiled_run(const ProfileOptions& options, const ProfileKind& kind);

/// Returns one run of `mirrored_schedule`, likewise: with two copies of every stage.
Timeline mirrored_run(const ProfileOptions& options, bool alone);

/// Returns what a profile says of the network, and of the machine as the runs that were measured say it.
Profile described_profile(const ProfileOptions& options, const std::string& machine);

/// Returns how long messages take in `samples`.
ProfiledTransfer profiled_transfer(const ProfileOptions& options, const ProfileSamples& samples);

/// `options` with the number of devices. Throws `Error` for more devices than stages.
ProfileOptions with_devices(ProfileOptions options);

/// Returns all rounds of `options` in a row.
Profile profile_run(const ProfileOptions& options);

}  // namespace plumb
