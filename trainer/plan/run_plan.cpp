#include "trainer/plan/run_plan.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "models/costs/reverses.hpp"
#include "models/ground/error.hpp"
#include "models/network/flow.hpp"
#include "models/network/layer_shape.hpp"
#include "models/stages/lay_out_stage.hpp"
#include "models/stages/network_costs.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/versions/steady_delays.hpp"
#include "schedules/versions/weight_versions.hpp"
#include "trainer/backends/backends.hpp"

namespace plumb {
namespace {

Precision precision(const TrainOptions& options) {
  return precision_of(options.model.numbers, options.optimization.optimizer);
}

[[noreturn]] void refuse(const TrainOptions& options, const std::string& what) {
  throw Error("train '" + options.schedule.name + "': " + what);
}

void check_schedule(const TrainOptions& options) {
  const Schedule& schedule = options.schedule;
  if (schedule.vocabulary) refuse(options, "a divided vocabulary cannot be trained; expected stages that hold layers");
  if (!schedule.start_together.empty()) {
    refuse(options, "stages that start together cannot be trained; expected stages on one device each");
  }
  if (options.model.partition.num_stages() != static_cast<std::size_t>(schedule.num_stages)) {
    refuse(options, "the partition has " + std::to_string(options.model.partition.num_stages()) + " stages; expected " +
                        std::to_string(schedule.num_stages));
  }
  const std::vector<std::size_t>& bounds = options.model.partition.bounds;
  if (std::ranges::adjacent_find(bounds) != bounds.end()) {
    refuse(options, "a stage has no layers; expected at least one in every stage that is trained");
  }
  if (options.model.partition.num_layers() != options.model.network.layers.size()) {
    refuse(options, "the partition has " + std::to_string(options.model.partition.num_layers()) + " layers; expected " +
                        std::to_string(options.model.network.layers.size()));
  }
  if (!is_chain(schedule)) refuse(options, "a stage graph cannot be trained; expected a chain of stages");
}

/// A stage adds its gradients up in one block, from the first backward of an update to its U, or where it has two to
/// its REDUCE_GRAD, which may hand over one sum at a time. (I makes those of norms.)
void check_gradients(const TrainOptions& options, const Program& program) {
  std::vector<std::size_t> updates(program.holders.size(), 0);
  std::vector<std::size_t> handed_over(program.holders.size(), 0);
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Row& row = program.rows[program.instrs[at].row];
    const Action& action = program.instrs[at].action;
    if (row.op == Op::kU) updates[row.holder] = index(action.microbatch) + 1;
    const bool hands_over = program.holders[row.holder].gradient_blocks > 1 && row.op == Op::kReduceGrad;
    if (hands_over && handed_over[row.holder]++ != updates[row.holder]) {
      refuse(options, to_string(action) +
                          " hands over gradients while those of the update before are not used; "
                          "expected its U in between");
    }
    if (row.op != Op::kB && row.op != Op::kI && row.op != Op::kW) continue;
    const auto per_update = static_cast<std::size_t>(options.schedule.per_update(action.stage));
    const std::size_t open = std::max(updates[row.holder], handed_over[row.holder]);
    program.parts.for_each(action, [&](std::size_t microbatch, std::size_t, std::size_t) {
      if (microbatch / per_update <= open) return;
      refuse(options, to_string(action) + " adds to the gradients of stage " + std::to_string(index(action.stage)) +
                          " while those of the update before are not used; expected its U in between");
    });
  }
}

void check_data(const TrainOptions& options) {
  if (options.data == nullptr) refuse(options, "no data given");
  const LayerSpec& first = options.model.network.layers.front();
  const LayerSpec& last = options.model.network.layers.back();
  if (!begins_network(first.kind) || !ends_network(last.kind)) {
    refuse(options,
           "network '" + options.model.network.name + "': expected a layer that reads data first and a loss last");
  }
  try {
    plumb::check_data(options.data->facts(), options.model.network, options.model.shape.sequence);
  } catch (const Error& error) {
    refuse(options, error.what());
  }
}

/// A tentative update is taken back when the next one's gradients are there, which have to begin before it.
void check_tentative_updates(const TrainOptions& options, const Program& program) {
  const auto is_acco = [](const Method& method) { return method.name == "acco"; };
  const auto has_one = [](const Holder& holder) { return holder.gradient_blocks == 1; };
  if (std::ranges::none_of(options.schedule.weights.methods, is_acco)) return;
  if (std::ranges::none_of(program.holders, has_one)) return;
  refuse(options, "method acco: expected backwards of the next update between REDUCE_GRAD and U of every one");
}

/// What the worker cannot execute, said before anything is allocated.
void check_program(const TrainOptions& options, const Program& program) {
  const bool shared = std::any_of(program.collectives.begin(), program.collectives.end(),
                                  [](const Collective& of) { return of.kind == Collective::Kind::kReduceTied; });
  if (shared && options.optimization.clip_norm > 0 && options.optimization.clip_scope == ClipScope::kStage) {
    refuse(options,
           "clipping every stage by itself would part the copies of a shared weight; expected the clip scope global");
  }
  const bool moves_weights = std::ranges::any_of(program.moves, [](const Move& move) { return move.weights; });
  const bool validates = std::ranges::any_of(program.rows, [](const Row& row) { return row.op == Op::kV; });
  if (moves_weights && validates)
    refuse(options, "weights that move cannot be validated; expected the clip scope stage");
}

/// Arithmetic on weights beside passes and updates would have to keep masters and their rounded copies together.
void check_bfloat16(const TrainOptions& options, const Backend& backend, const Program& program) {
  if (options.model.numbers != NumberType::kBFloat16) return;
  if (!backend.bfloat16) {
    refuse(options, "the back end '" + std::string(backend.name) + "' has no bf16; expected float32 or float64");
  }
  const bool syncs = std::ranges::any_of(
      program.collectives, [](const Collective& of) { return of.kind == Collective::Kind::kSyncWeights; });
  if (syncs || !options.schedule.weights.methods.empty()) {
    refuse(options, "methods and SYNC_WEIGHTS change weights between updates, which bf16 has twice; expected float32");
  }
}

/// Times that are given, for the stages of the network.
void take_times(const StageCosts& given, StageCosts& costs) {
  costs.base = given.base;
  costs.times = given.times;
  costs.from_network = given.from_network;
  costs.layer_forward = given.layer_forward;
  costs.comm = given.comm;
}

Program lowered(const TrainOptions& options) {
  const ExecutionOptions& execution = options.execution;
  StageCosts costs =
      untimed_costs(options.model.network, options.model.partition, options.model.shape, precision(options));
  if (execution.pace) take_times(execution.pace->costs, costs);
  if (execution.cluster == nullptr && !costs.comm) costs.comm = 0;
  LowerOptions lowering = execution.lowering;
  lowering.messages = true;
  lowering.global_norm |= options.optimization.clip_norm > 0 && options.optimization.clip_scope == ClipScope::kGlobal;
  return lower(options.schedule, costs, execution.cluster, lowering);
}

/// Weights that no update changes are there once for all copies of a stage, and stay where they are.
void check_frozen(const TrainOptions& options, const Backend& backend, const Program& program) {
  const auto has_frozen = [](const StageMemory& memory) { return memory.frozen_bytes > 0; };
  if (std::ranges::none_of(program.memory, has_frozen)) return;
  if (!backend.frozen) {
    refuse(options, "the back end '" + std::string(backend.name) +
                        "' trains all weights, not adapters beside frozen ones; expected cpu");
  }
  if (std::ranges::any_of(program.moves, [](const Move& move) { return move.weights; })) {
    refuse(options, "frozen weights do not move to other memories; expected a schedule that leaves weights on devices");
  }
}

/// A teacher's part in the loss is that of logits.
void check_teacher(const TrainOptions& options, const Backend& backend, const Program& program) {
  const TeacherOptions& teacher = options.optimization.teacher;
  const bool asked = teacher.weight > 0 || !options.model.teacher_parameters.empty();
  if (!program.has_teacher) {
    if (asked) refuse(options, "no teacher runs in it; expected a schedule that has one, such as tspipe");
    return;
  }
  const auto between = [](double x, double most) { return x >= 0 && x <= most; };
  if (!between(teacher.weight, 1) || !between(teacher.decay, 1) || !(teacher.temperature > 0)) {
    refuse(options, "expected a weight and a decay of the teacher from 0 to 1, and a temperature above 0");
  }
  if (!backend.teacher) {
    refuse(options, "the back end '" + std::string(backend.name) + "' runs no teacher; expected cpu");
  }
  if (!makes_logits(options.model.network.layers.back().kind)) {
    refuse(options,
           "network '" + options.model.network.name +
               "': its loss is not one of logits, which a teacher could give; expected a head or a classifier last");
  }
  const auto frozen = [](const StageMemory& memory) { return memory.frozen_bytes > 0; };
  if (!options.model.teacher_parameters.empty() && std::ranges::any_of(program.memory, frozen)) {
    refuse(options, "student and teacher share what is frozen beside adapters; expected a teacher of the same weights");
  }
}

void check_pace(const TrainOptions& options, const Backend& backend, const Program& program) {
  if (!backend.paced) return;
  if (!options.execution.pace) {
    refuse(options, "the back end '" + std::string(backend.name) +
                        "' has no times of its own; expected given ones, as `plumbline train` takes them");
  }
  if (!program.contention.empty()) {
    refuse(options, "actions that slow each other down have no given time; expected a cluster without contention");
  }
}

}  // namespace

RunPlan::RunPlan(const TrainOptions& given)
    : options(given),
      backend(given.hooks.own_backend != nullptr ? *given.hooks.own_backend : plumb::backend(given.execution.backend)) {
  check_schedule(options);
  check_data(options);
  program = lowered(options);
  check_gradients(options, program);
  check_tentative_updates(options, program);
  check_program(options, program);
  check_bfloat16(options, backend, program);
  check_frozen(options, backend, program);
  check_teacher(options, backend, program);
  check_pace(options, backend, program);
  validation = ValidationPlan(program, options);
  for (const Part& part : program.parts.all()) places.push_back(place_of(part, options.model.shape));
  for (std::size_t stage = 0; stage < options.model.partition.num_stages(); ++stage) {
    for (const PartPlace& place : places) {
      layouts.push_back(stage_layout(options.model.network.layers, options.model.partition.range(stage), place.shape,
                                     precision(options), options.model.partition.before(stage)));
    }
  }
  const auto goes_back = [](const StageLayout& of) { return reverses(of.memory) || !of.returned.empty(); };
  if (given.hooks.own_backend == nullptr && backend.only_streams && std::ranges::any_of(layouts, goes_back)) {
    refuse(options, "the back end '" + options.execution.backend + "' cannot reverse stages; expected cpu");
  }
  if (program.parts.causal() && std::ranges::any_of(layouts, goes_back)) {
    refuse(options, "reversible stages drop the keys that later sequence slices read; expected whole sequences");
  }
  document_updates = program.num_microbatches / options.schedule.per_update(StageId{0});
  count_summed();
  if (!options.schedule.weights.methods.empty()) {
    if (validation.any()) refuse(options, "methods of asynchronous training cannot be taken back; expected no V");
    method_places = plumb::method_places(options.schedule, program);
    steady_delays = reaches_steady_state(options.schedule, program) || has_closed_delays(options.schedule);
    forward_versions = plumb::forward_versions(program);
    predicted_reads = plumb::predicted_reads(options.schedule, program);
  }
  const std::size_t size = program.size();
  index_guests();
  const auto& kept = program.kept_versions;
  replaced = group_by(kept.size(), size, [&](std::size_t k) { return kept[k].replaced_by; });
  last_read = group_by(kept.size(), size, [&](std::size_t k) { return kept[k].last_reader; });
  std::vector<InstrIndex> joining_at;
  for (std::uint32_t c = 0; c < program.collectives.size(); ++c) {
    for (std::uint32_t m = 0; m < program.collectives[c].members.size(); ++m) {
      joinings.push_back({c, m});
      joining_at.push_back(program.collectives[c].members[m]);
    }
  }
  joins = group_by(joinings.size(), size, [&](std::size_t j) { return joining_at[j]; });
  tells_progress =
      backend.paced || std::ranges::any_of(program.waits, [](const Wait& wait) { return wait.via == Wait::kDirect; });
}

void RunPlan::index_guests() {
  const std::size_t size = program.size();
  const auto devices = static_cast<std::size_t>(program.num_devices);
  const auto place = [&](const Move& move, InstrIndex at) -> std::size_t {
    const bool by_guest = move.guest != Move::kHost && program.op_of(move.transfer) == Op::kEvict;
    if (!by_guest) return size + devices;
    return at == program.lane_begin[index(move.guest) + 1] ? size + index(move.guest) : at;
  };
  const auto& moves = program.moves;
  held = group_by(moves.size(), size + devices + 1, [&](std::size_t m) { return place(moves[m], moves[m].held_from); });
  released =
      group_by(moves.size(), size + devices + 1, [&](std::size_t m) { return place(moves[m], moves[m].held_until); });
}

/// Counts the microbatches of every update that end on each holder, then adds up those of holders that reduce together.
void RunPlan::count_summed() {
  summed.resize(program.holders.size());
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Op op = row(at).op;
    if (op != Op::kB && op != Op::kW) continue;
    std::vector<std::int64_t>& counts = summed[row(at).holder];
    const std::int64_t per_update = options.schedule.per_update(holder(at).stage);
    program.parts.for_each(program.instrs[at].action, [&](std::size_t microbatch, std::size_t slice, std::size_t) {
      const std::size_t update = microbatch / static_cast<std::size_t>(per_update);
      if (counts.size() <= update) counts.resize(update + 1, 0);
      if (slice == 0) ++counts[update];
    });
  }
  std::map<std::uint32_t, std::set<std::uint32_t>> together;
  for (const Collective& collective : program.collectives) {
    if (collective.kind != Collective::Kind::kReduceGrad) continue;
    for (const InstrIndex member : collective.members) {
      for (const InstrIndex other : collective.members) together[row(member).holder].insert(row(other).holder);
    }
  }
  const std::vector<std::vector<std::int64_t>> own = summed;
  for (const auto& [holder, group] : together) {
    std::vector<std::int64_t>& counts = summed[holder];
    for (const std::uint32_t other : group) {
      if (other == holder) continue;
      if (counts.size() < own[other].size()) counts.resize(own[other].size(), 0);
      for (std::size_t update = 0; update < own[other].size(); ++update) counts[update] += own[other][update];
    }
  }
}

std::vector<MessagePart> RunPlan::message(std::uint32_t transfer) const {
  const Transfer& of = program.transfers[transfer];
  const Action producer = program.work_of(of.producer);
  std::vector<MessagePart> parts;
  if (program.carries_weights(transfer)) return parts;
  program.parts.for_each(producer, [&](std::size_t microbatch, std::size_t slice, std::size_t part) {
    if (!names(program.work_of(of.consumer), microbatch, slice)) return;
    const StageMemory& memory = program.memory_of(producer.stage, part);
    parts.push_back({static_cast<std::int32_t>(microbatch), static_cast<std::int16_t>(slice),
                     program.op_of(transfer) == Op::kSendB ? memory.input_grad_bytes : memory.output_bytes});
  });
  return parts;
}

WeightRead RunPlan::weight_read(InstrIndex at, std::int32_t version) const {
  const Action& action = program.instrs[at].action;
  const std::int64_t per_update = options.schedule.per_update(action.stage);
  return {.op = action.op,
          .version = version,
          .forward_version = forward_versions.empty() ? version : forward_versions[at],
          .update = static_cast<std::int64_t>(action.microbatch) / per_update,
          .predicted = predicted_reads.empty() ? PredictedRead{} : predicted_reads[at]};
}

double RunPlan::loss_tokens(std::size_t microbatch) const {
  if (options.schedule.microbatch_sizes.empty()) return static_cast<double>(options.model.shape.tokens());
  const StageId last{program.num_stages - 1};
  const auto per_update = static_cast<std::size_t>(options.schedule.per_update(last));
  const std::size_t begin = microbatch / per_update * per_update;
  double tokens = 0;
  for (std::size_t k = begin; k < begin + per_update; ++k) {
    tokens += static_cast<double>(places[program.parts.part(k, 0)].microbatch.tokens());
  }
  return tokens / static_cast<double>(per_update);
}

std::vector<ByteRange> RunPlan::reduced_ranges(std::uint32_t collective, StageId stage) const {
  if (program.collectives[collective].kind == Collective::Kind::kSyncWeights) return {};
  const bool whole_network_in_one = program.num_stages < 2;
  const bool wants_tied = program.collectives[collective].kind == Collective::Kind::kReduceTied;
  const std::int64_t number_bytes = precision(options).gradient_bytes;
  const LayerSpec& head = options.model.network.layers.back();
  const std::string tied_name =
      head.tied && !whole_network_in_one ? last_embedding(options.model.network.layers)->name + ".weight" : "";
  std::vector<ByteRange> ranges;
  std::int64_t at = 0;
  for (const ParameterFacts& parameter : layout(stage, 0).parameters) {
    const std::int64_t end = at + parameter.count() * number_bytes;
    const bool tied = !tied_name.empty() && parameter.name == tied_name;
    if (tied == wants_tied) {
      if (!ranges.empty() && ranges.back().end == at) {
        ranges.back().end = end;
      } else {
        ranges.push_back({at, end});
      }
    }
    at = end;
  }
  return ranges;
}

}  // namespace plumb
