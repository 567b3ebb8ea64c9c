#include "sim/memory/memory.hpp"

#include <doctest/doctest.h>

#include <array>
#include <numeric>
#include <string>

#include "models/cluster/cluster.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/run_program.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

StageCosts two_stages() {
  StageMemory memory;
  memory.weight_bytes = 100;
  memory.gradient_bytes = 50;
  memory.optimizer_bytes = 200;
  memory.stash = {{"a", 10, StashTensor::MadeBy::kForward, LastUse::kInputGrad},
                  {"b", 20, StashTensor::MadeBy::kForward, LastUse::kWeightGrad},
                  {"c", 5, StashTensor::MadeBy::kInputGrad, LastUse::kWeightGrad}};
  memory.workspace_f_bytes = 1;
  memory.workspace_b_bytes = 2;
  memory.workspace_i_bytes = 3;
  memory.workspace_w_bytes = 4;
  memory.workspace_u_bytes = 6;
  StageCosts costs;
  StageTimes times;
  times.f = 10;
  times.b = 20;
  times.i = 10;
  times.w = 10;
  costs.times = {times, times};
  costs.memory = {memory, memory};
  costs.memory[0].output_bytes = costs.memory[1].input_bytes = 3;
  costs.memory[1].input_last_use = LastUse::kWeightGrad;
  costs.memory[0].output_grad_bytes = costs.memory[1].input_grad_bytes = 4;
  return costs;
}

Cluster two_devices() {
  Cluster cluster;
  cluster.devices.resize(2);
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 5, .bytes_per_s = 1e9};
  cluster.finish();
  return cluster;
}

Schedule schedule(std::string_view name, std::int32_t p, std::int64_t m, std::int32_t v = 1) {
  return generate(name, {.num_devices = p, .num_microbatches = m, .chunks = v, .options = {}});
}

std::int64_t sum(const std::vector<PeakTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const PeakTensor& tensor : tensors) {
    bytes += tensor.bytes * std::max<std::int64_t>(1, static_cast<std::int64_t>(tensor.microbatches.size()));
  }
  return bytes;
}

}  // namespace

TEST_CASE("§8.4: 1f1b of two stages without transfers peaks where the first backward starts on device 0") {
  const Program program = lower(schedule("1f1b", 2, 2), two_stages());
  const MemoryModel model(program);
  const MemoryPeak peak = model.peak(DeviceId{0});
  CHECK(peak.bytes == 416);  // 350 resident, two stashes of 30, a gradient of 4, workspace 2
  CHECK(peak.by_class == MemoryByClass{100, 0, 50, 200, 20, 40, 4, 2, 0});
  CHECK(peak.instr == 2);  // F0 F1 B0
  CHECK(peak.phase == MemoryPhase::kStart);
  CHECK(model.peak(DeviceId{1}).bytes == 389);  // 350, one stash of 30 and its input of 3, gradient 4, workspace 2
}

TEST_CASE("§8.4: with transfers the send buffers live until their wait and the receive slots from their post") {
  const Cluster cluster = two_devices();
  const Program program = lower(schedule("1f1b", 2, 2), two_stages(), &cluster);
  const MemoryPeak peak = MemoryModel(program).peak(DeviceId{0});
  CHECK(peak.bytes == 426);  // as above, with both outputs of 3 unsent-for and the slot of the second gradient posted
  CHECK(peak.by_class == MemoryByClass{100, 0, 50, 200, 20, 40, 14, 2, 0});
}

TEST_CASE("§8.3: the changes of a forward stand in the order that the composition of the peak depends on") {
  const Program program = lower(schedule("1f1b", 2, 2), two_stages());
  const std::vector<MemoryChange> changes = MemoryModel(program).changes(DeviceId{1});
  const InstrIndex f0 = program.lane_begin[1];
  using enum MemoryPhase;
  using C = MemoryClass;
  using K = BufferKind;
  const std::vector<MemoryChange> forward{{f0, kBefore, C::kTransfer, K::kInput, f0, 3},
                                          {f0, kStart, C::kTransfer, K::kInput, f0, -3},
                                          {f0, kStart, C::kKeptForWeightGrad, K::kInput, f0, 3},
                                          {f0, kStart, C::kKeptForInputGrad, K::kStashForInputGrad, f0, 10},
                                          {f0, kStart, C::kKeptForWeightGrad, K::kStashForWeightGrad, f0, 20},
                                          {f0, kStart, C::kWorkspace, K::kWorkspace, f0, 1},
                                          {f0, kEnd, C::kWorkspace, K::kWorkspace, f0, -1}};
  REQUIRE(changes.size() > forward.size());
  CHECK(std::vector(changes.begin(), changes.begin() + 7) == forward);
}

TEST_CASE("the composition of a peak names tensors and microbatches and adds up to it") {
  const Program program = lower(schedule("1f1b", 2, 2), two_stages());
  const MemoryModel model(program);
  const std::vector<PeakTensor> tensors = model.composition(DeviceId{0}, model.peak(DeviceId{0}));
  const auto find = [&](std::string_view name) {
    for (const PeakTensor& tensor : tensors) {
      if (tensor.name == name) return tensor;
    }
    FAIL("no tensor " << name);
    return PeakTensor{};
  };
  CHECK(find("b") == PeakTensor{MemoryClass::kKeptForWeightGrad, StageId{0}, "b", 20, {0, 1}});
  CHECK(find("output_grad") == PeakTensor{MemoryClass::kTransfer, StageId{0}, "output_grad", 4, {0}});
  CHECK(find("weights") == PeakTensor{MemoryClass::kWeights, StageId{0}, "weights", 100, {}});
  CHECK(sum(tensors) == 416);
}

namespace {

/// Every buffer that comes goes, no class is ever less than nothing, and the tensors of the peak add up to it.
void check_that_all_goes(const MemoryModel& model, DeviceId device) {
  MemoryByClass left{};
  for (const MemoryChange& change : model.changes(device)) {
    left[static_cast<std::size_t>(change.cls)] += change.bytes;
    CHECK(left[static_cast<std::size_t>(change.cls)] >= 0);
  }
  CHECK(left == MemoryByClass{});
  const MemoryPeak peak = model.peak(device);
  CHECK(std::accumulate(peak.by_class.begin(), peak.by_class.end(), std::int64_t{0}) == peak.bytes);
  CHECK(sum(model.composition(device, peak)) == peak.bytes);
}

}  // namespace

TEST_CASE("every buffer that comes goes, and compositions add up, for all schedules with and without transfers") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    if (schedule(spec.name, 4, 12, 0).vocabulary) continue;  // values of other sizes: the next test
    for (const bool transfers : {false, true}) {
      CAPTURE(transfers);
      const Schedule made = schedule(spec.name, 4, 12, 0);
      StageCosts costs = two_stages();
      const auto stages = static_cast<std::size_t>(made.num_stages);
      costs.times.assign(stages, costs.times[0]);
      StageMemory first = costs.memory[0];
      StageMemory last = costs.memory[1];
      if (stages == 1) {  // nothing comes in
        last.input_bytes = first.input_bytes;
        last.input_grad_bytes = first.input_grad_bytes;
      }
      StageMemory middle = last;
      middle.output_bytes = first.output_bytes;
      middle.output_grad_bytes = first.output_grad_bytes;
      costs.memory.assign(stages, middle);
      costs.memory.front() = first;
      costs.memory.back() = last;
      Cluster cluster = two_devices();
      cluster.devices.resize(4);
      const Program program = lower(made, costs, transfers ? &cluster : nullptr);
      const MemoryModel model(program);
      for (std::int32_t d = 0; d < 4; ++d) {
        CAPTURE(d);
        check_that_all_goes(model, DeviceId{d});
      }
    }
  }
}

TEST_CASE("values of stages that branch and meet go wherever the stages stand") {
  for (const char* placement : {"[[[0],[1],[2],[0]]]", "[[[0],[1],[2],[1]]]", "[[[0],[0],[1],[2]]]",
                                "[[[0],[0],[0],[1]]]", "[[[0],[1],[1],[2]]]", "[[[0],[1],[2],[3]]]"}) {
    CAPTURE(placement);
    std::array<std::string, 4> lists;
    std::array<std::string, 4> back;
    const std::string holders = placement;
    for (std::size_t s = 0; s < 4; ++s) {
      const auto device = static_cast<std::size_t>(holders[3 + 4 * s] - '0');
      lists[device] += " " + std::to_string(s) + "F0";
      back[device] = " " + std::to_string(s) + "B0" + back[device];
    }
    std::string text = "num_stages: 4\nstage_edges: [[0,1],[0,2],[1,3],[2,3]]\nplacement: " + holders + "\n";
    for (std::size_t d = 0; d < 4 && !lists[d].empty(); ++d)
      text += "d" + std::to_string(d) + ":" + lists[d] + back[d] + "\n";
    const Schedule made = schedule_from_text(text, "meet.txt");
    StageCosts costs = two_stages();
    StageMemory alike = costs.memory[0];
    alike.input_bytes = alike.output_bytes = alike.output_grad_bytes = alike.input_grad_bytes = 1000;
    costs.times.assign(4, costs.times[0]);
    costs.memory.assign(4, alike);
    costs.memory.front().input_bytes = costs.memory.front().input_grad_bytes = 0;
    costs.memory.back().output_bytes = costs.memory.back().output_grad_bytes = 0;
    Cluster cluster = two_devices();
    cluster.devices.resize(4);
    for (const Cluster* links : {static_cast<const Cluster*>(&cluster), static_cast<const Cluster*>(nullptr)}) {
      CAPTURE((links != nullptr));
      const Program program = lower(made, costs, links);
      const MemoryModel model(program);
      for (std::int32_t d = 0; d < made.num_devices; ++d) check_that_all_goes(model, DeviceId{d});
    }
  }
}

TEST_CASE("what the shares of a divided vocabulary send for one value is added up, and every buffer goes") {
  constexpr std::int64_t kValue = 1000;
  for (const char* name : {"1f1b-vocab", "1f1b-interlaced"}) {
    CAPTURE(name);
    const Schedule made = schedule(name, 4, 12);
    StageCosts costs = two_stages();
    StageMemory layers;
    layers.input_bytes = layers.output_bytes = layers.output_grad_bytes = layers.input_grad_bytes = kValue;
    layers.input_last_use = LastUse::kWeightGrad;
    const auto stages = static_cast<std::size_t>(made.num_stages);
    costs.times.assign(stages, costs.times[0]);
    costs.memory.assign(stages, layers);
    for (const StageId share : made.vocabulary->input) {
      costs.memory[static_cast<std::size_t>(share)] = {.output_bytes = kValue, .output_grad_bytes = kValue};
    }
    for (const StageId share : made.vocabulary->output) {
      StageMemory& head = costs.memory[static_cast<std::size_t>(share)];
      head.output_bytes = head.output_grad_bytes = 0;
    }
    if (made.vocabulary->loss) costs.memory[static_cast<std::size_t>(*made.vocabulary->loss)] = {};
    Cluster cluster = two_devices();
    cluster.devices.resize(4);
    const Program program = lower(made, costs, &cluster);
    const MemoryModel model(program);
    for (std::int32_t d = 0; d < 4; ++d) {
      CAPTURE(d);
      check_that_all_goes(model, DeviceId{d});
      // Of an input in flight one value is kept, of a head's input another; messages under way are those of the shares
      // of at most three microbatches.
      CHECK(model.peak(DeviceId{d}).bytes <= (6 + 3 + 3 * 4) * kValue);
    }
  }
}

TEST_CASE("§8.2: copies of a stage on one device hold its frozen weights once, and versions are of the others") {
  StageCosts costs = two_stages();
  for (StageMemory& memory : costs.memory) memory.frozen_bytes = 90;
  const Program jobs = lower(schedule("mlora", 2, 3), costs);
  const MemoryModel model(jobs);
  const auto resident = model.resident(DeviceId{1});
  CHECK(resident[static_cast<std::size_t>(MemoryClass::kWeights)] == 100 + 2 * 10);
  CHECK(resident[static_cast<std::size_t>(MemoryClass::kOptimizer)] == 3 * 200);
  const MemoryPeak peak = model.peak(DeviceId{1});
  CHECK(sum(model.composition(DeviceId{1}, peak)) == peak.bytes);

  // PipeDream, p = 2: the first device keeps one version beside the newest.
  const Program pipedream = lower(schedule("pipedream", 2, 1), costs);
  const MemoryPeak stashed = MemoryModel(pipedream).peak(DeviceId{0});
  CHECK(stashed.by_class[static_cast<std::size_t>(MemoryClass::kWeightVersions)] == 10);
}

TEST_CASE("§8.2: the memory curve starts with what is resident and has a point per change of a class") {
  const Program program = lower(schedule("1f1b", 2, 1), two_stages());
  RunTimes times;  // d0: F 0-10, B 50-70, U 70-70; d1: F 10-20, B 20-40 ...
  times.start = {0, 50, 70, 10, 20, 40};
  times.end = {10, 70, 70, 20, 40, 40};
  REQUIRE(program.size() == 6);
  std::vector<MemoryPoint> points;
  MemoryModel(program).append_curve(DeviceId{0}, times, points);
  const auto bytes_at = [&](MemoryClass cls, Ticks time) {
    std::int64_t bytes = 0;
    for (const MemoryPoint& point : points) {
      if (point.cls() == cls && point.time() <= time) bytes = point.bytes();
    }
    return bytes;
  };
  CHECK(bytes_at(MemoryClass::kWeights, 0) == 100);
  CHECK(bytes_at(MemoryClass::kKeptForWeightGrad, 0) == 20);
  CHECK(bytes_at(MemoryClass::kWorkspace, 9) == 1);
  CHECK(bytes_at(MemoryClass::kTransfer, 10) == 4);  // the receive slot of the gradient
  CHECK(bytes_at(MemoryClass::kWorkspace, 10) == 0);
  CHECK(bytes_at(MemoryClass::kWorkspace, 50) == 2);
  CHECK(bytes_at(MemoryClass::kKeptForWeightGrad, 70) == 0);
  for (std::size_t i = 1; i < points.size(); ++i) CHECK(points[i - 1].time() <= points[i].time());
}

TEST_CASE("§8.4: an output whose send is not over is in memory at every moment, however long messages take") {
  int waiting = 0;
  for (const double bytes_per_s : {1e9, 1e8, 2e7}) {
    Cluster cluster = two_devices();
    cluster.intra_node.bytes_per_s = bytes_per_s;
    cluster.finish();
    for (const char* name : {"1f1b", "gpipe", "zb-h1"}) {
      for (const TransferMode mode : {TransferMode::kBuffered, TransferMode::kFifo, TransferMode::kRendezvous}) {
        CAPTURE(name);
        CAPTURE(bytes_per_s);
        const Program program = lower(schedule(name, 2, 4), two_stages(), &cluster);
        const ProgramIndex indexed(program);
        const RunTimes times = run_program(indexed, {.transfers = mode});
        for (const std::int32_t device : {0, 1}) {
          std::vector<MemoryPoint> points;
          MemoryModel(program).append_curve(DeviceId{device}, times, points);
          std::int64_t held = 0;
          for (std::size_t at = 0; at < points.size(); ++at) {
            if (points[at].cls() == MemoryClass::kTransfer) held = points[at].bytes();
            const Ticks now = points[at].time();
            if (at + 1 < points.size() && points[at + 1].time() == now) continue;
            std::int64_t unsent = 0;
            for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
              const Transfer& transfer = program.transfers[t];
              const bool here = program.channels[transfer.channel].from == DeviceId{device};
              if (here && times.end[transfer.producer] <= now && now < times.sent(t)) unsent += transfer.bytes;
            }
            CHECK(held >= unsent);
            waiting += unsent > 0 ? 1 : 0;
          }
        }
      }
    }
  }
  CHECK(waiting > 20);
}

TEST_SUITE_END();
