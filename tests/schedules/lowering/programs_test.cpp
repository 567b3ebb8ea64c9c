// What lowering makes of the schedules of the catalogue: everything that a program says, a line for each schedule in
// tests/golden/programs.txt. Where lowering is changed on purpose, the lines say which schedules it concerns.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/text_sum.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

/// Numbers and texts, one after the other.
class Listing {
 public:
  template <class... Values>
  void add(Values... values) {
    ((text_ += std::to_string(values) + " "), ...);
    text_ += "\n";
  }
  void add_text(const std::string& text) { text_ += text + "\n"; }
  void add_memory(const StageMemory& memory) {
    add(memory.weight_bytes, memory.input_bytes, memory.output_bytes, memory.output_grad_bytes, memory.input_grad_bytes,
        memory.workspace_f_bytes, memory.workspace_b_bytes);
    for (const StashTensor& tensor : memory.stash) add(tensor.bytes);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void list_work(const Program& program, Listing& out) {
  out.add(program.base.ticks_per_ns, program.num_devices, program.num_stages, program.num_microbatches,
          program.forward_only ? 1 : 0, program.asynchronous ? 1 : 0, program.has_teacher ? 1 : 0);
  for (const Instr& instr : program.instrs) out.add(instr.row, instr.first_wait);
  for (const Wait& wait : program.waits) out.add(wait.source, wait.via);
  for (std::size_t row = 0; row < program.rows.size(); ++row) {
    const Row& of = program.rows[row];
    out.add(of.holder, static_cast<int>(of.op), of.recompute ? 1 : 0, of.overlapped ? 1 : 0,
            static_cast<int>(of.microbatches), of.sum, of.taught, program.durations[row]);
  }
  for (const std::uint8_t together : program.together) out.add(static_cast<int>(together));
  for (const Ticks part : program.folded_recompute) out.add(part);
  for (const std::uint8_t count : program.beside.given) out.add(static_cast<int>(count));
  for (const std::uint8_t count : program.beside.taken) out.add(static_cast<int>(count));
  for (const Holder& holder : program.holders) {
    out.add(index(holder.replica), index(holder.stage), index(holder.device), holder.weights_start_away ? 1 : 0,
            static_cast<int>(holder.gradient_blocks), holder.correction_buffers);
  }
}

void list_messages(const Program& program, Listing& out) {
  for (const Transfer& transfer : program.transfers) {
    out.add(transfer.producer, transfer.consumer, transfer.issue, transfer.post, transfer.sent, transfer.channel,
            transfer.bytes);
  }
  for (const Channel& channel : program.channels) {
    out.add(index(channel.from), index(channel.to), channel.route.latency_ns, channel.route.bytes_per_s,
            channel.route.half_duplex ? 1 : 0);
    for (const std::int32_t link : channel.route.shared) out.add(link);
  }
  for (const SharedLink& link : program.shared_links) out.add_text(link.name + " " + std::to_string(link.bytes_per_s));
  out.add(program.waits_by_rank ? 1 : 0, program.send_buffers.asked, program.send_buffers.used,
          program.send_buffers.waits_moved, program.send_buffers.receives_moved);
  for (const Move& move : program.moves) {
    out.add(move.transfer, move.weights ? 1 : 0, move.input_only ? 1 : 0, move.bytes,
            static_cast<std::int32_t>(move.guest), move.held_from, move.held_until);
  }
  for (const Collective& collective : program.collectives) {
    out.add(static_cast<int>(collective.kind), collective.bytes, collective.duration);
    for (const InstrIndex member : collective.members) out.add(member);
  }
}

void list_sizes(const Program& program, Listing& out) {
  for (const std::int32_t version : program.version_read) out.add(version);
  for (const KeptVersion& kept : program.kept_versions) {
    out.add(kept.holder, kept.version, kept.replaced_by, kept.last_reader, kept.for_rollback ? 1 : 0);
  }
  for (const StageMemory& memory : program.memory) out.add_memory(memory);
  for (const StageMemory& memory : program.part_memory) out.add_memory(memory);
  for (const StageMemory& memory : program.sums) out.add_memory(memory);
  for (const SegmentPlace& place : program.segments) out.add(place.takes ? 1 : 0, place.passes ? 1 : 0);
  out.add(program.memory_units_per_one, program.comm.value_or(-1));
  for (const Ticks host : program.runtime.host) out.add(host);
  for (const CallTicks& call : program.runtime.calls) out.add(call.send, call.send_posted, call.receive);
}

std::string listing_of(const Schedule& schedule, const StageCosts& costs, const Cluster* cluster,
                       const LowerOptions& options) {
  try {
    const Program program = lower(schedule, costs, cluster, options);
    Listing out;
    out.add_text(program_to_text(program));
    list_work(program, out);
    list_messages(program, out);
    list_sizes(program, out);
    return out.text();
  } catch (const Error& error) {
    return error.what();
  }
}

Cluster nodes_of_two(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices.front().speed = 0.75;
  cluster.devices_per_node = 2;
  cluster.intra_node = {.latency_ns = 100, .bytes_per_s = 1e9};
  cluster.inter_node = {.latency_ns = 300, .bytes_per_s = 5e8, .shared = true};
  cluster.host_link = {.latency_ns = 50, .bytes_per_s = 4e8, .devices_per_link = 2};
  cluster.finish();
  return cluster;
}

StageCosts costs_of_every_kind(const Schedule& schedule) {
  StageCosts costs = abstract_costs("F=4,I=5,W=3,R=4,U=2,X=1,EVICT=3,LOAD=2,AR=7,FB=10", "F=6,I=-2,W=-4",
                                    {.num_stages = schedule.num_stages, .recompute = !schedule.recompute.empty()});
  for (StageMemory& memory : costs.memory) {
    memory.weight_bytes = 1000;
    memory.gradient_bytes = 500;
    memory.input_bytes = memory.output_bytes = 64;
    memory.output_grad_bytes = memory.input_grad_bytes = 32;
  }
  costs.memory.front().input_bytes = costs.memory.front().input_grad_bytes = 0;
  costs.memory.back().output_bytes = costs.memory.back().output_grad_bytes = 0;
  return costs;
}

std::string sum_of(const Schedule& schedule) {
  TextSum sum;
  const Cluster cluster = nodes_of_two(schedule.num_devices);
  StageCosts costs = costs_of_every_kind(schedule);
  for (const ReceivePlacement receives :
       {ReceivePlacement::kAhead, ReceivePlacement::kLate, ReceivePlacement::kOnSend}) {
    sum.add(listing_of(schedule, costs, &cluster, {.receives = receives}));
  }
  sum.add(listing_of(schedule, costs, &cluster, {.send_buffers = 1, .global_norm = true}));
  sum.add(listing_of(schedule, costs, nullptr, {}));
  costs.from_network = true;
  sum.add(listing_of(schedule, costs, &cluster, {.send_buffers = 3}));
  costs.tied = {{StageId{0}, StageId{schedule.num_stages - 1}, 100}};
  costs.runtime = {.f_ns = 1, .b_ns = 2, .i_ns = 3, .w_ns = 4, .calls = {}};
  costs.runtime.calls = {{.send_ns = 5, .send_posted_ns = 6, .receive_ns = 7}};
  costs.from_network = false;
  costs.comm = 9;
  sum.add(listing_of(schedule, costs, &cluster, {.messages = true}));
  costs.memory.clear();
  sum.add(listing_of(schedule, costs, nullptr, {}));
  return sum.text();
}

}  // namespace

TEST_CASE("the programs of the catalogue are the same, in every word, with every kind of costs and placement") {
  std::string text;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    for (const std::int32_t p : {2, 4}) {
      const Schedule schedule =
          generate(spec.name, {.num_devices = p, .num_microbatches = 12, .updates = p == 2 ? 2 : 0});
      text += std::string(spec.name) + " on " + std::to_string(p) + ": " + sum_of(schedule) + "\n";
    }
  }
  CHECK(text == golden("programs.txt", text));
}

}  // namespace plumb::testing

TEST_SUITE_END();
