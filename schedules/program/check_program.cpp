#include "schedules/program/check_program.hpp"

#include <cstddef>

#include "schedules/document/schedule_io.hpp"
#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

class Checker {
 public:
  explicit Checker(const Program& program) : program_(program) {}

  std::vector<std::string> run() {
    if (!check_lanes()) return std::move(found_);
    for (std::size_t device = 0; device + 1 < program_.lane_begin.size(); ++device) {
      for (InstrIndex at = begin(device); at < begin(device + 1); ++at) check_instr(device, at);
    }
    for (std::size_t i = 0; i < program_.transfers.size(); ++i) check_transfer(program_.transfers[i], i);
    check_channel_order();
    for (const KeptVersion& kept : program_.kept_versions) check_kept(kept);
    return std::move(found_);
  }

 private:
  InstrIndex begin(std::size_t device) const { return program_.lane_begin[device]; }

  void expect(bool ok, const std::string& what) {
    if (!ok) found_.push_back(what);
  }

  /// Sizes and offsets; without them nothing else can be looked at.
  bool check_lanes() {
    const auto& lanes = program_.lane_begin;
    bool ok = lanes.size() == static_cast<std::size_t>(program_.num_devices) + 1 && lanes.front() == 0 &&
              lanes.back() == program_.size() && program_.instrs.size() == program_.size() + 1;
    for (std::size_t device = 1; ok && device < lanes.size(); ++device) ok = lanes[device - 1] <= lanes[device];
    expect(ok, "lanes: offsets do not cover the instrs");
    for (std::size_t at = 0; ok && at < program_.size(); ++at) {
      ok = program_.instrs[at].row < program_.rows.size() &&
           program_.instrs[at].first_wait <= program_.instrs[at + 1].first_wait;
    }
    ok = ok && program_.rows.size() == program_.durations.size() && !program_.instrs.empty() &&
         program_.instrs.back().first_wait == program_.waits.size();
    expect(ok, "instrs: rows or waits out of range");
    return ok;
  }

  std::string name(InstrIndex at) const { return to_string(program_.instrs[at].action); }

  void check_instr(std::size_t device, InstrIndex at) {
    const Instr& instr = program_.instrs[at];
    const Holder& holder = program_.holders[program_.rows[instr.row].holder];
    expect(
        index(holder.device) == device && holder.stage == instr.action.stage && holder.replica == instr.action.replica,
        name(at) + ": its row belongs to another holder");
    expect(!instr.action.overlaps_next || at + 1 < begin(device + 1),
           name(at) + ": the other half of its pair is missing");
    expect((instr.action.overlaps_next != 0) == program_.rows[instr.row].overlapped,
           name(at) + ": its row says otherwise whether it is the first of a pair");
    for (const Wait& wait : waits_of(program_, at)) check_wait(wait, device, at);
  }

  /// Its own, or that of one with which it starts together.
  bool is_for(const Transfer& transfer, InstrIndex at) const {
    return transfer.consumer == at || (starts_together(program_, at) && starts_together(program_, transfer.consumer));
  }

  void check_wait(const Wait& wait, std::size_t device, InstrIndex at) {
    const bool in_lane = wait.source >= begin(device) && wait.source < begin(device + 1);
    expect(wait.source < program_.size() && (!in_lane || wait.source < at),
           name(at) + ": waits for something later in its own lane");
    if (is_plain(wait)) return;
    if (is_for_collective(wait)) {
      return expect(collective_of(wait) < program_.collectives.size(), name(at) + ": no such collective");
    }
    const bool ok = wait.via < program_.transfers.size() && is_for(program_.transfers[wait.via], at) &&
                    program_.transfers[wait.via].producer == wait.source;
    expect(ok, name(at) + ": waits for a transfer that is not its own");
  }

  void check_transfer(const Transfer& transfer, std::size_t number) {
    const std::string where = "transfer " + std::to_string(number) + ": ";
    if (transfer.channel >= program_.channels.size()) return expect(false, where + "no such channel");
    const Channel& channel = program_.channels[transfer.channel];
    const InstrIndex from = begin(index(channel.from));
    const InstrIndex from_end = begin(index(channel.from) + 1);
    const InstrIndex to = begin(index(channel.to));
    const InstrIndex to_end = begin(index(channel.to) + 1);
    expect(from <= transfer.producer && transfer.producer <= transfer.issue && transfer.issue < from_end,
           where + "issued outside the sender's lane or before its value exists");
    expect(transfer.issue < transfer.sent && transfer.sent <= from_end, where + "waited for before it is issued");
    expect(to <= transfer.post && transfer.post <= transfer.consumer && transfer.consumer < to_end,
           where + "posted outside the receiver's lane or after its consumer");
  }

  void check_channel_order() {
    std::vector<const Transfer*> last(program_.channels.size(), nullptr);
    for (std::size_t i = 0; i < program_.transfers.size(); ++i) {
      const Transfer& transfer = program_.transfers[i];
      if (transfer.channel >= last.size()) continue;
      const Transfer* before = last[transfer.channel];
      expect(before == nullptr || (before->issue <= transfer.issue && before->post <= transfer.post),
             "transfer " + std::to_string(i) + ": not in the order of its channel");
      last[transfer.channel] = &transfer;
    }
  }

  void check_kept(const KeptVersion& kept) {
    const bool in_lanes = kept.replaced_by < kept.last_reader && kept.last_reader < program_.size();
    const bool reads = in_lanes && (kept.for_rollback ? program_.instrs[kept.last_reader].action.op == Op::kV
                                                      : program_.version_read[kept.last_reader] == kept.version);
    const bool ok = reads && program_.instrs[kept.replaced_by].action.op == Op::kU;
    expect(ok, "kept version " + std::to_string(kept.version) + " of holder " + std::to_string(kept.holder) +
                   ": not from its update to a reader");
  }

  const Program& program_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> check_program(const Program& program) { return Checker(program).run(); }

}  // namespace plumb
