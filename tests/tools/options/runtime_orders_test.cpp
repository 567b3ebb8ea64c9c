#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "sim/runtimes/runtime_presets.hpp"

// What ranks send and receive, and which of it in one call: the presets against the rules of the systems' own sources.

TEST_SUITE_BEGIN("tools");

using namespace plumb;

namespace {

/// What one rank does: "F3" computes, "+F3" receives the input of F3, "F3+" sends its output; "F3+ +B0" in one call.
using RankCalls = std::vector<std::string>;

std::string name_of(bool forward, std::int64_t microbatch) {
  return (forward ? "F" : "B") + std::to_string(microbatch);
}

/// Calls to one peer that belong together.
std::string joined(const std::string& sent, const std::string& received) {
  return sent + (sent.empty() || received.empty() ? "" : " ") + received;
}

/// Calls of one rank as our program has them: sends of a unit and receives of the next one with the same peer are one.
class ProgramCalls {
 public:
  ProgramCalls(const Program& program, std::size_t device) : program_(program), device_(device) {}

  RankCalls read() {
    for (InstrIndex at = program_.lane_begin[device_]; at < program_.lane_begin[device_ + 1]; ++at) {
      add_place(at);
      if (program_.instrs[at].action.op != Op::kU) calls_.push_back(text_of(at));
    }
    add_place(program_.lane_begin[device_ + 1]);
    return std::move(calls_);
  }

 private:
  std::string text_of(InstrIndex at) const {
    const Action& action = program_.instrs[at].action;
    return name_of(action.op == Op::kF, static_cast<std::int64_t>(action.microbatch));
  }

  /// Between the unit before and the one at `place`.
  void add_place(InstrIndex place) {
    std::vector<std::pair<DeviceId, std::string>> sends;
    std::vector<std::pair<DeviceId, std::string>> receives;
    for (const Transfer& message : program_.transfers) {
      const Channel& channel = program_.channels[message.channel];
      if (index(channel.from) == device_ && message.issue + 1 == place)
        sends.emplace_back(channel.to, text_of(message.issue) + "+");
      if (index(channel.to) == device_ && message.post == place)
        receives.emplace_back(channel.from, "+" + text_of(place));
    }
    for (const auto& [peer, sent] : sends) {
      const auto same = std::ranges::find(receives, peer, &std::pair<DeviceId, std::string>::first);
      calls_.push_back(joined(sent, same == receives.end() ? "" : same->second));
      if (same != receives.end()) receives.erase(same);
    }
    for (const auto& [peer, received] : receives) calls_.push_back(received);
  }

  const Program& program_;
  std::size_t device_;
  RankCalls calls_;
};

RankCalls calls_of_preset(const char* runtime, int ranks, int rank, int microbatches) {
  const Schedule schedule = generate("1f1b", {.num_devices = ranks, .num_microbatches = microbatches});
  StageCosts costs = abstract_costs("F=1,B=2", "", {.num_stages = ranks});
  costs.comm.reset();
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(ranks));
  cluster.devices_per_node = ranks;
  cluster.finish();
  const RunRules rules{.runtime = runtime};
  const Program program = lower(schedule, costs, &cluster, rules.lowering(schedule));
  return ProgramCalls(program, static_cast<std::size_t>(rank)).read();
}

/// Megatron-LM, core/pipeline_parallel/schedules.py, forward_backward_pipelining_without_interleaving (main, 2026).
class MegatronRank {
 public:
  MegatronRank(int ranks, int rank, int microbatches)
      : first_(rank == 0),
        last_(rank == ranks - 1),
        warmup_(std::min(ranks - rank - 1, microbatches)),
        all_(microbatches) {}

  RankCalls calls() {
    for (int i = 0; i < warmup_; ++i) {
      call("", input(i));
      calls_.push_back(name_of(true, i));
      call(output(i), "");
    }
    if (warmup_ < all_) call("", input(warmup_));
    for (int i = 0; warmup_ + i < all_; ++i) {
      const int forward = warmup_ + i;
      calls_.push_back(name_of(true, forward));
      call(output(forward), gradient(i));
      calls_.push_back(name_of(false, i));
      call(input_gradient(i), forward + 1 < all_ ? input(forward + 1) : "");
    }
    for (int i = all_ - warmup_; i < all_; ++i) {
      call("", gradient(i));
      calls_.push_back(name_of(false, i));
      call(input_gradient(i), "");
    }
    return std::move(calls_);
  }

 private:
  std::string input(int i) const { return first_ ? "" : "+" + name_of(true, i); }
  std::string output(int i) const { return last_ ? "" : name_of(true, i) + "+"; }
  std::string gradient(int i) const { return last_ ? "" : "+" + name_of(false, i); }
  std::string input_gradient(int i) const { return first_ ? "" : name_of(false, i) + "+"; }
  void call(const std::string& sent, const std::string& received) {
    if (!(sent + received).empty()) calls_.push_back(joined(sent, received));
  }

  bool first_;
  bool last_;
  int warmup_;
  int all_;
  RankCalls calls_;
};

/// DeepSpeed, runtime/pipe/schedule.py, TrainSchedule (master, 2026): steps in which a rank exchanges with one
/// neighbour what it made in the step before for what it needs now. A rank's forwards are in steps of its own parity.
RankCalls deepspeed_calls(int ranks, int rank, int microbatches) {
  RankCalls calls;
  int before = -1;
  const auto valid = [&](int microbatch) { return microbatch >= 0 && microbatch < microbatches; };
  for (int step = 0; step < 2 * (microbatches + ranks - 1); ++step) {
    const bool forward = (step - rank) % 2 == 0;
    // Microbatch i is forward on rank r in step 2 i + r, and backward in step 2 (i + ranks) - 1 - r.
    const int twice = forward ? step - rank : step - 2 * ranks + 1 + rank;
    const int microbatch = twice < 0 ? -1 : twice / 2;
    const bool has_peer = forward ? rank > 0 : rank + 1 < ranks;
    const std::string sent = has_peer && valid(before) ? name_of(!forward, before) + "+" : "";
    const std::string received = has_peer && valid(microbatch) ? "+" + name_of(forward, microbatch) : "";
    if (!(sent + received).empty()) calls.push_back(joined(sent, received));
    if (valid(microbatch)) calls.push_back(name_of(forward, microbatch));
    before = microbatch;
  }
  return calls;
}

}  // namespace

// With fewer microbatches than ranks, both systems send the last warm-up's result in a call of its own; the presets
// receive the first gradient in the same one.

TEST_CASE("the preset megatron sends and receives in the order of Megatron-LM's calls, and fuses what they fuse") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const int microbatches : {8, 11, 16}) {
      for (int rank = 0; rank < ranks; ++rank) {
        CAPTURE(ranks);
        CAPTURE(microbatches);
        CAPTURE(rank);
        CHECK(calls_of_preset("megatron", ranks, rank, microbatches) ==
              MegatronRank(ranks, rank, microbatches).calls());
      }
    }
  }
}

TEST_CASE("the preset deepspeed exchanges with neighbours as the steps of DeepSpeed's TrainSchedule do") {
  for (const int ranks : {2, 3, 4, 8}) {
    for (const int microbatches : {8, 11, 16}) {
      for (int rank = 0; rank < ranks; ++rank) {
        CAPTURE(ranks);
        CAPTURE(microbatches);
        CAPTURE(rank);
        CHECK(calls_of_preset("deepspeed", ranks, rank, microbatches) == deepspeed_calls(ranks, rank, microbatches));
      }
    }
  }
}

TEST_SUITE_END();
