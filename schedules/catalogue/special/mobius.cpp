#include "schedules/catalogue/generator.hpp"

namespace plumb {
namespace {

/// Writes one device's step: every chunk in turn, the weights of the next one on their way meanwhile.
struct SwapWriter {
  ListBuilder& list;
  std::int32_t device;  ///< in the ring of stages
  std::int32_t num_devices;
  std::int32_t chunks;
  std::int64_t m;

  StageId stage(std::int32_t chunk) const { return StageId{chunk * num_devices + device}; }

  void load(std::int32_t chunk) const {
    if (chunk < chunks) list.add_move(stage(chunk), Op::kLoad, Action::kHost);
  }
  void evict(std::int32_t chunk) const { list.add_move(stage(chunk), Op::kEvict, Action::kHost); }

  /// The last stage of the model may share weights with the first, whose gradient comes last.
  bool updates_last() const { return device + 1 == num_devices && chunks > 1; }

  void step() const {
    load(0);
    for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
      load(chunk + 1);
      list.each(m, [&] { list.add(stage(chunk), Op::kF, 0); });
      if (chunk + 1 < chunks) evict(chunk);
    }
    for (std::int32_t chunk = chunks; chunk-- > 0;) {
      if (chunk > 0) load(chunk - 1);
      if (chunk == 0 && updates_last()) load(chunks - 1);
      list.each(m, [&] { list.add(stage(chunk), Op::kB, 0); });
      if (chunk + 1 < chunks || !updates_last()) list.add(stage(chunk), Op::kU, 0);
      evict(chunk);
    }
    if (!updates_last()) return;
    list.add(stage(chunks - 1), Op::kU, 0);
    evict(chunks - 1);
  }
};

}  // namespace

/// v chunks per device whose weights live in host memory: each chunk runs all microbatches while the weights of the
/// next one are loaded and those of the one before have been evicted, forwards through all chunks and back, so that a
/// device holds two chunks at most. Nobody waits while loading a chunk (L) takes no longer than the microbatches of
/// another one: L <= m F / v forwards and L <= m B / v backwards, for F and B of all chunks; otherwise every chunk
/// takes L. Stages go round a ring of devices; its partition is a matter of `models/`. With `complexes=N` the devices
/// stand below N root complexes, neighbours by number below one, and the ring visits the complexes in turn: stages
/// one after another, which load at nearly the same time, do not share a link to the host then (the paper's cross
/// mapping). Every device keeps the activations of all m microbatches (the paper evicts them too; not modelled). Any p,
/// m and v. (Feng et al., Mobius, ASPLOS 2023,
/// doi 10.1145/3575693.3575703; order as in arXiv 2211.05953)
///
///   p = 4, complexes=2: the ring is d0 d2 d1 d3
///   p = 2, v = 3, m = 2 (device 1 alike, with stages 1, 3 and 5, but 5LOAD before 1B0 and 5U0 5EVICT at the end)
///   d0: 0LOAD 2LOAD 0F0 0F1 0EVICT 4LOAD 2F0 2F1 2EVICT 4F0 4F1
///       2LOAD 4B0 4B1 4U0 4EVICT 0LOAD 2B0 2B1 2U0 2EVICT 0B0 0B1 0U0 0EVICT   (all moves @host)
Schedule mobius(const ScheduleParams& params) {
  const std::int32_t chunks = params.chunks > 0 ? params.chunks : 3;
  const std::int32_t p = params.num_devices;
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t complexes = whole_number("mobius", params, "complexes", 1);
  require(p % complexes == 0, "mobius",
          "complexes (" + std::to_string(complexes) + ") must divide num_devices (" + std::to_string(p) + ")");
  Schedule schedule = looped_schedule("mobius", params, chunks, updates);
  if (complexes > 1) schedule.parameters["complexes"] = complexes;
  const auto below = static_cast<std::int32_t>(p / complexes);  // devices of one complex
  for (std::size_t stage = 0; stage < schedule.placement[0].size(); ++stage) {
    const std::int32_t place = static_cast<std::int32_t>(stage) % p;
    const auto turn = static_cast<std::int32_t>(place % complexes);
    schedule.placement[0][stage] = {DeviceId{turn * below + static_cast<std::int32_t>(place / complexes)}};
  }
  for (std::int32_t d = 0; d < p; ++d) {
    const std::int32_t place = d % below * static_cast<std::int32_t>(complexes) + d / below;
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      SwapWriter{list, place, p, chunks, params.num_microbatches}.step();
    }));
  }
  return schedule;
}

}  // namespace plumb
