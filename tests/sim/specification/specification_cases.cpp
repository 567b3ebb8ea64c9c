#include "tests/sim/specification/specification_cases.hpp"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/versions/delays.hpp"
#include "sim/run_program.hpp"
#include "sim/simulate.hpp"

namespace plumb::testing {
namespace {

using nlohmann::json;

std::int64_t drawn(std::mt19937_64& random, std::int64_t least, std::int64_t most) {
  return least + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most - least + 1));
}

StageTimes random_times(std::mt19937_64& random, bool with_given_pairs) {
  const auto time = [&] { return drawn(random, 0, 9); };
  StageTimes times;
  times.f = time();
  times.i = time();
  times.w = time();
  times.b = times.i + times.w + drawn(random, 0, 1);
  times.r = time();
  const auto comm = [&](Ticks pass) {
    const Ticks shown = drawn(random, 0, pass);
    return CommTime{.all = shown + drawn(random, 0, 2), .shown = shown};
  };
  times.f_comm = comm(times.f);
  times.r = std::max(times.r, times.f_comm.shown);
  times.b_comm = comm(times.b);
  times.i_comm = comm(times.i);
  times.w_comm = comm(times.w);
  times.u = time();
  times.x = time();
  times.evict = drawn(random, 1, 9);  // 0 is no given time, and the second simulator has no links for copies (§7.2)
  times.load = drawn(random, 1, 9);
  times.all_reduce = drawn(random, 0, 2) * 3;
  for (Ticks& pair : times.pairs.ticks) pair = with_given_pairs ? drawn(random, 0, 12) : 0;
  return times;
}

StageMemory random_bytes(std::mt19937_64& random) {
  const auto bytes = [&] { return drawn(random, 0, 40); };
  StageMemory memory;
  memory.weight_bytes = bytes();
  memory.gradient_bytes = bytes();
  memory.optimizer_bytes = bytes();
  memory.stash = {{"a", bytes(), StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                  {"b", bytes(), StashTensor::MadeBy::kForward, LastUse::kWeightGrad},
                  {"c", bytes(), StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad}};
  memory.input_bytes = bytes();
  memory.input_last_use = static_cast<LastUse>(drawn(random, 0, 2));
  memory.output_bytes = bytes();
  memory.output_grad_bytes = memory.output_bytes;
  memory.input_grad_bytes = memory.input_bytes;
  memory.workspace_f_bytes = bytes();
  memory.workspace_b_bytes = bytes();
  memory.workspace_i_bytes = bytes();
  memory.workspace_w_bytes = bytes();
  memory.workspace_u_bytes = bytes();
  memory.logit_bytes = bytes();
  return memory;
}

/// In a graph all values have one size, those that no edge brings or takes have none.
void match_graph(const Schedule& schedule, std::vector<StageMemory>& memory) {
  if (memory.empty()) return;
  const std::int64_t size = memory.front().output_bytes;
  for (StageMemory& stage : memory) {
    stage.input_bytes = stage.input_grad_bytes = stage.output_bytes = stage.output_grad_bytes = 0;
  }
  for (const auto& [from, to] : *schedule.stage_edges) {
    memory[index(from)].output_bytes = memory[index(from)].output_grad_bytes = size;
    memory[index(to)].input_bytes = memory[index(to)].input_grad_bytes = size;
  }
}

/// What a stage receives is what the one before it sends.
void match_sizes(const Schedule& schedule, std::vector<StageMemory>& memory) {
  if (schedule.stage_edges) return match_graph(schedule, memory);
  for (std::size_t stage = 0; stage < memory.size(); ++stage) {
    if (stage == 0) memory[stage].input_bytes = memory[stage].input_grad_bytes = 0;
    if (stage + 1 == memory.size()) memory[stage].output_bytes = memory[stage].output_grad_bytes = 0;
    if (stage + 1 < memory.size()) memory[stage].logit_bytes = 0;
    if (stage == 0) continue;
    memory[stage].input_bytes = memory[stage].input_grad_bytes = memory[stage - 1].output_bytes;
  }
}

/// Units of a stash, some of it made by I.
StageMemory random_units(std::mt19937_64& random) {
  StageMemory memory;
  const bool made_by_i = drawn(random, 0, 1) == 1;
  const auto size = [&] { return drawn(random, 0, 6); };
  if (!made_by_i) memory.stash.push_back({"i", size(), StashTensor::MadeBy::kForward, LastUse::kInputGrad});
  memory.stash.push_back({"w", size(), StashTensor::MadeBy::kForward, LastUse::kWeightGrad});
  if (made_by_i) memory.stash.push_back({"m", size(), StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad});
  return memory;
}

/// Nothing in half of the cases; calls that cost nothing, or the same in both cases, are met, too.
RuntimeCosts random_runtime(std::mt19937_64& random) {
  const auto time = [&] { return drawn(random, 0, 4); };
  RuntimeCosts runtime;
  if (drawn(random, 0, 1) == 0) return runtime;
  runtime = {.f_ns = time(), .b_ns = time(), .i_ns = time(), .w_ns = time(), .calls = {}};
  if (drawn(random, 0, 2) == 0) return runtime;
  for (std::int64_t bytes = drawn(random, 1, 4), left = drawn(random, 1, 3); left > 0; --left) {
    runtime.calls.push_back({.bytes = bytes, .send_ns = time(), .send_posted_ns = time(), .receive_ns = time()});
    bytes += drawn(random, 1, 40);
  }
  return runtime;
}

json runtime_json(const RuntimeCosts& r, std::int64_t ticks_per_ns) {
  json calls = json::array();
  for (const CallCosts& call : r.calls) {
    calls.push_back({{"bytes", call.bytes},
                     {"send", call.send_ns},
                     {"send_posted", call.send_posted_ns},
                     {"receive", call.receive_ns}});
  }
  return {{"f", r.f_ns * ticks_per_ns},
          {"b", r.b_ns * ticks_per_ns},
          {"i", r.i_ns * ticks_per_ns},
          {"w", r.w_ns * ticks_per_ns},
          {"calls", std::move(calls)}};
}

Cluster random_cluster(std::int32_t devices, std::mt19937_64& random) {
  Cluster cluster;
  cluster.name = "random";
  cluster.devices_per_node = static_cast<std::int32_t>(drawn(random, 1, 2));
  cluster.devices.resize(static_cast<std::size_t>(devices + devices % 2));
  for (DeviceSpec& device : cluster.devices) device.speed = drawn(random, 0, 3) == 0 ? 0.5 : 1;
  cluster.intra_node = {.latency_ns = drawn(random, 0, 3),
                        .bytes_per_s = static_cast<double>(drawn(random, 0, 1)) * 7e9};
  cluster.inter_node = {.latency_ns = drawn(random, 0, 9),
                        .bytes_per_s = static_cast<double>(drawn(random, 1, 9)) * 1e9};
  cluster.finish();
  return cluster;
}

json times_json(const StageTimes& t) {
  json pairs = json::object();
  for (std::size_t i = 0; i < kPairNames.size(); ++i) pairs[std::string(kPairNames[i])] = t.pairs.ticks[i];
  json times = {{"f", t.f},      {"b", t.b}, {"i", t.i},         {"w", t.w},       {"r", t.r},
                {"u", t.u},      {"x", t.x}, {"evict", t.evict}, {"load", t.load}, {"all_reduce", t.all_reduce},
                {"pairs", pairs}};
  for (const auto& [pass, comm] :
       {std::pair{"f", t.f_comm}, std::pair{"b", t.b_comm}, std::pair{"i", t.i_comm}, std::pair{"w", t.w_comm}}) {
    times[std::string(pass) + "_comm"] = comm.all;
    times[std::string(pass) + "_shown"] = comm.shown;
  }
  return times;
}

json memory_json(const StageMemory& m) {
  constexpr std::string_view kReaders = "FIW";
  const auto reader = [&](LastUse use) { return std::string(1, kReaders[static_cast<std::size_t>(use)]); };
  json stash = json::array();
  for (const StashTensor& tensor : m.stash) {
    stash.push_back(
        {tensor.bytes, tensor.made_by == StashTensor::MadeBy::kForward ? "F" : "I", reader(tensor.last_use)});
  }
  return {{"weight", m.weight_bytes},         {"gradient", m.gradient_bytes},
          {"optimizer", m.optimizer_bytes},   {"stash", stash},
          {"input", m.input_bytes},           {"input_last", reader(m.input_last_use)},
          {"output", m.output_bytes},         {"output_grad", m.output_grad_bytes},
          {"input_grad", m.input_grad_bytes}, {"ws_f", m.workspace_f_bytes},
          {"ws_b", m.workspace_b_bytes},      {"ws_i", m.workspace_i_bytes},
          {"ws_w", m.workspace_w_bytes},      {"ws_u", m.workspace_u_bytes},
          {"logits", m.logit_bytes}};
}

json input_json(const SpecificationCase& one) {
  static constexpr std::array<const char*, 3> kReceives{"ahead", "late", "on-send"};
  json out = {{"document", json::parse(schedule_to_json(one.schedule))},
              {"ticks_per_ns", one.costs.base.ticks_per_ns},
              {"memory_units", one.costs.memory_units_per_one},
              {"mode", kTransferModeNames[static_cast<std::size_t>(one.options.transfers)]},
              {"receives", kReceives[static_cast<std::size_t>(one.lowering.receives)]},
              {"send_buffers", one.lowering.send_buffers}};
  for (const StageTimes& times : one.costs.times) out["times"].push_back(times_json(times));
  out["memory"] = nullptr;
  for (const StageMemory& memory : one.costs.memory) out["memory"].push_back(memory_json(memory));
  out["runtime"] = runtime_json(one.costs.runtime, one.costs.base.ticks_per_ns);
  out["comm"] = one.costs.comm ? json(*one.costs.comm) : json(nullptr);
  out["routes"] = nullptr;
  for (std::int32_t a = 0; a < one.schedule.num_devices; ++a) {
    out["speeds"].push_back(one.cluster ? one.cluster->devices[static_cast<std::size_t>(a)].speed : 1.0);
    json row = json::array();
    for (std::int32_t b = 0; one.cluster && b < one.schedule.num_devices; ++b) {
      const Route route = a == b ? Route{} : one.cluster->route(DeviceId{a}, DeviceId{b});
      row.push_back({route.latency_ns, whole_bytes_per_s(route.bytes_per_s)});
    }
    if (one.cluster) out["routes"].push_back(row);
  }
  return out;
}

json device_json(const DeviceSummary& device) {
  return {{"busy", device.busy},
          {"useful", device.useful},
          {"first", device.first_start},
          {"last", device.last_end},
          {"causes", device.idle_causes},
          {"peak_activations", device.peak_activations},
          {"peak_memory", device.peak_memory_bytes},
          {"peak_by_class", device.peak_memory_by_class}};
}

json delays_json(const Schedule& schedule, const Program& program) {
  json all = json::array();
  for (const StageDelays& of : stage_delays(schedule, program)) {
    json counts = json::array();
    for (const DelayCounts* one : {&of.distance, &of.forward, &of.backward, &of.recompute}) {
      counts.push_back(json::array());
      for (const auto& [value, times] : *one) counts.back().push_back({value, times});
    }
    all.push_back({index(of.replica), index(of.stage), index(of.device), counts, of.versions});
  }
  return all;
}

json answer_json(const Schedule& schedule, const Program& program, const SimOptions& options) {
  json out;
  out["delays"] = delays_json(schedule, program);
  for (InstrIndex at = 0; at < program.size(); ++at) out["steps"].push_back(to_string(program.instrs[at].action));
  out["versions"] = program.version_read;
  out["buffers"] = {program.send_buffers.used, program.send_buffers.waits_moved, program.send_buffers.receives_moved};
  std::optional<RunTimes> times;
  try {
    times = run_program(ProgramIndex(program), options);
  } catch (const Error&) {
    out["hangs"] = true;
    return out;
  }
  const Timeline timeline = simulate(program, options);
  out["hangs"] = false;
  out["start"] = times->start;
  out["end"] = times->end;
  out["messages"] = json::array();
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    const TransferTimes& moments = times->transfers[t];
    out["messages"].push_back({moments.start, moments.done, moments.available, times->sent(t)});
  }
  out["ticks_per_ns"] = timeline.base.ticks_per_ns;
  out["makespan"] = timeline.makespan;
  out["step_time"] = timeline.step_time;
  out["longest"] = timeline.longest_device_span;
  out["updates"] = timeline.updates;
  out["bubble_fraction"] = timeline.bubble_fraction;
  out["bubble_rate"] = timeline.bubble_rate;
  out["utilization"] = timeline.utilization;
  for (const DeviceSummary& device : timeline.devices) out["devices"].push_back(device_json(device));
  out["waited_for"] = json::array();
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute && span.idle_before != 0) {
      out["waited_for"].push_back(
          {index(span.device), span.start, kIdleCauseNames[static_cast<std::size_t>(span.waited_for)]});
    }
  }
  return out;
}

}  // namespace

SpecificationCase random_case(Schedule schedule, std::mt19937_64& random) {
  SpecificationCase one;
  const bool with_pairs = drawn(random, 0, 3) == 0;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    one.costs.times.push_back(random_times(random, with_pairs));
  }
  const bool with_memory = drawn(random, 0, 3) != 0;
  if (drawn(random, 0, 2) == 0) {
    one.costs.comm = drawn(random, 0, 2) * 2;
    one.costs.memory_units_per_one = with_memory ? drawn(random, 0, 1) * 4 : 0;
  } else {
    one.cluster = random_cluster(schedule.num_devices, random);
  }
  for (std::int32_t stage = 0; with_memory && stage < schedule.num_stages; ++stage) {
    one.costs.memory.push_back(one.costs.memory_units_per_one != 0 ? random_units(random) : random_bytes(random));
  }
  match_sizes(schedule, one.costs.memory);
  one.costs.runtime = random_runtime(random);
  one.options.transfers = static_cast<TransferMode>(drawn(random, 0, 5));
  one.lowering.receives = static_cast<ReceivePlacement>(drawn(random, 0, 2));
  one.lowering.send_buffers = static_cast<std::int32_t>(drawn(random, 1, 3));
  one.schedule = std::move(schedule);
  return one;
}

std::optional<AnsweredCase> answered_case(const SpecificationCase& one) {
  std::optional<Program> program;
  try {
    program = lower(one.schedule, one.costs, one.cluster ? &*one.cluster : nullptr, one.lowering);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  json out = input_json(one);
  out["answer"] = answer_json(one.schedule, *program, one.options);
  for (const Holder& holder : program->holders) out["corrections"].push_back(holder.correction_buffers);
  return AnsweredCase{.json = out.dump(), .hangs = out["answer"]["hangs"]};
}

}  // namespace plumb::testing
