#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/run_time_rule.hpp"

namespace plumb {
namespace {

/// The forward of the stage after the one that repeats it.
const ExtraWork kNextForward{.kind = ExtraWork::Kind::kPass, .pass = Op::kF, .stages_ahead = 1};

/// What a stage does in one step while nothing is lost.
struct RedundantStage {
  StageId stage{};
  std::int64_t warmup = 0;
  std::int64_t m = 0;
  bool redundant = false;  ///< repeats the forward of the next stage

  void write(ListBuilder& list) const {
    const auto backward = [&](std::int64_t microbatch) {
      if (redundant) list.add(stage, Op::kX, microbatch);
      list.add(stage, Op::kB, microbatch);
    };
    list.each(warmup, [&] { list.add(stage, Op::kF, 0); });
    list.each(m - warmup, [&] {
      list.add(stage, Op::kF, warmup);
      backward(0);
    });
    list.each(warmup, [&] { backward(m - warmup); });
  }
};

/// Devices with the lists of one or two stages each, every list in its own order; a backward first where both could go
/// on.
class MergeRule final : public RunTimeRule {
 public:
  using Stream = std::vector<Action>;

  /// `streams[stage]` runs on `device_of[stage]`.
  MergeRule(ChainTimes times, std::vector<Stream> streams, std::vector<std::int32_t> device_of)
      : times_(std::move(times)),
        streams_(std::move(streams)),
        device_of_(std::move(device_of)),
        next_(streams_.size()) {
    for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
      post(0, device_of_[stage], action_of(static_cast<std::int32_t>(stage), Op::kU, 0));  // wakes the device
    }
  }

  void arrive(std::int32_t, const Action& work, Ticks) override { arrived_.insert(key(work)); }

  std::pair<Action, Ticks> choose(std::int32_t device, Ticks now) override {
    std::optional<std::size_t> chosen;
    for (std::size_t stage = 0; stage < streams_.size(); ++stage) {
      if (device_of_[stage] != device || !is_ready(stage)) continue;
      if (!chosen || (head(stage).op == Op::kB && head(*chosen).op != Op::kB)) chosen = stage;
    }
    if (!chosen) return kStayIdle;
    const Action action = head(*chosen);
    ++next_[*chosen];
    const Ticks time = time_of(action);
    if (action.op == Op::kF) send(action, *chosen + 1, now + time);
    if (action.op == Op::kB && *chosen > 0) send(action, *chosen - 1, now + time);
    return {action, time};
  }

 private:
  using Key = std::tuple<StageId, Op, MicrobatchId>;
  static Key key(const Action& action) { return {action.stage, action.op, action.microbatch}; }

  const Action& head(std::size_t stage) const { return streams_[stage][next_[stage]]; }

  bool is_ready(std::size_t stage) const {
    if (next_[stage] == streams_[stage].size()) return false;
    const Action& action = head(stage);
    const bool has_input = action.op == Op::kF ? stage == 0 : action.op != Op::kB || stage + 1 == streams_.size();
    return has_input || arrived_.contains(key(action));
  }

  Ticks time_of(const Action& action) const {
    const std::size_t stage = index(action.stage);
    if (action.op == Op::kX) return times_.forward[(stage + 1) % times_.forward.size()];
    return (action.op == Op::kF ? times_.forward : times_.backward)[stage];
  }

  void send(Action value, std::size_t to, Ticks at) {
    if (to == streams_.size()) return;
    const bool local = device_of_[to] == device_of_[index(value.stage)];
    value.stage = StageId{static_cast<std::int32_t>(to)};
    post(at + (local ? 0 : times_.transfer), device_of_[to], value);
  }

  ChainTimes times_;
  std::vector<Stream> streams_;
  std::vector<std::int32_t> device_of_;
  std::vector<std::size_t> next_;
  std::set<Key> arrived_;
};

/// The stage whose device is gone.
std::optional<std::int32_t> lost_stage(const ScheduleParams& params, bool wrap) {
  const auto option = params.options.find("lost");
  if (option == params.options.end()) return std::nullopt;
  const bool first = option->second == "0";
  const std::int64_t lost = first ? 0 : whole_number("bamboo", params, "lost", 0);
  require(lost < params.num_devices && params.num_devices > 1, "bamboo",
          "lost (" + std::to_string(lost) + ") must be one of several stages, 0 to p - 1");
  require(!first || wrap, "bamboo", "option lost=0 needs wrap=yes: nobody else has a copy of the first stage");
  return static_cast<std::int32_t>(lost);
}

/// The device before takes the lost stage over: p - 1 devices, one of which runs two stages.
void take_over(Schedule& schedule, const ScheduleParams& params, std::int32_t lost,
               const std::vector<RedundantStage>& stages) {
  const std::int32_t p = params.num_devices;
  const auto survivor = [&](std::int32_t stage) { return stage > lost ? stage - 1 : stage; };
  std::vector<std::int32_t> device_of;
  for (std::int32_t stage = 0; stage < p; ++stage) device_of.push_back(survivor(stage));
  const std::int32_t successor = (lost + p - 1) % p;
  device_of[static_cast<std::size_t>(lost)] = survivor(successor);
  std::vector<MergeRule::Stream> streams;
  for (RedundantStage stage : stages) {
    const auto number = static_cast<std::int32_t>(stage.stage);
    if (number == lost || number == successor) stage.redundant = false;
    ListBuilder list;
    stage.write(list);
    streams.push_back(expand(list.take()));
    schedule.placement[0][index(stage.stage)] = {DeviceId{device_of[index(stage.stage)]}};
  }
  schedule.num_devices = p - 1;
  MergeRule rule(chain_times(params, p), std::move(streams), device_of);
  const std::vector<std::vector<Action>> order = play(rule, p - 1);
  for (std::int32_t d = 0; d < p - 1; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates_or(params, 1), [&](ListBuilder& list) {
      list.add_all(order[static_cast<std::size_t>(d)]);
      for (std::int32_t stage = 0; stage < p; ++stage) {
        if (device_of[static_cast<std::size_t>(stage)] == d) list.add(StageId{stage}, Op::kU, 0);
      }
    }));
  }
}

}  // namespace

/// 1F1B whose devices also keep the weights of the stage after theirs and repeat its forward, so that they can take
/// over when that device is lost. The redundant forward of microbatch k, X<k>, stands right before the device waits for
/// the gradient of k: in the bubble of pipelines whose stages grow slower towards the end. Where they do not, it is
/// exposed: with equal stages a step takes (m + p - 1)(F + B) + m X.
/// The last device waits for no gradient and repeats nothing; `wrap=yes` has it repeat the forward of the first stage
/// before each backward.
/// `lost=s` is the step after the device of stage s is gone: the one before it runs both stages on its own, each in its
/// order, a backward first where both could go on (played through with the given costs; without: B = 2 F), until the
/// model is partitioned anew. The redundant backwards of the step in which it was lost are not part of either.
/// Device d keeps min(p - d, m) activations; the stashes of redundant forwards go to the host at once (not modelled).
/// Weights: twice (a correction buffer as large as the device's own). Any p and m.
/// (Thorpe et al., Bamboo, arXiv 2204.12013; released code, uclasystem/bamboo)
///
///   p = 3, m = 4
///   d0: 0F0 0F1 0F2 0X0 0B0 0F3 0X1 0B1 0X2 0B2 0X3 0B3 0U0
///   d1: 1F0 1F1 1X0 1B0 1F2 1X1 1B1 1F3 1X2 1B2 1X3 1B3 1U0
///   d2: 2F0 2B0 2F1 2B1 2F2 2B2 2F3 2B3 2U0
Schedule bamboo(const ScheduleParams& params) {
  require_one_chunk("bamboo", params);
  const bool wrap = choice("bamboo", params, "wrap", {"no", "yes"}) == "yes";
  const std::int64_t m = params.num_microbatches;
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule("bamboo", params, 1, updates);
  require(schedule.num_microbatches <= 1 << 20, "bamboo",
          "num_microbatches (" + std::to_string(schedule.num_microbatches) +
              ") in all must be at most 1048576, because redundant work is declared one by one");
  schedule.parameters["wrap"] = wrap;
  schedule.weights.correction_buffers = {"weights of the next stage"};
  std::vector<RedundantStage> stages;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const std::int64_t ahead = params.num_devices - 1 - d;
    stages.push_back({StageId{d}, std::min(ahead, m), m, wrap || ahead > 0});
  }
  const std::optional<std::int32_t> lost = lost_stage(params, wrap);
  const bool any = wrap || params.num_devices > 1;
  for (std::int64_t k = 0; any && k < schedule.num_microbatches; ++k)
    schedule.extras["X" + std::to_string(k)] = kNextForward;
  if (lost) {
    require_playable("bamboo", m * params.num_devices);
    schedule.parameters["lost"] = std::int64_t{*lost};
    take_over(schedule, params, *lost, stages);
    return schedule;
  }
  for (const RedundantStage& stage : stages) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      stage.write(list);
      list.add(stage.stage, Op::kU, 0);
    }));
  }
  return schedule;
}

}  // namespace plumb
