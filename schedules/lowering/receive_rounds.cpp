#include "schedules/lowering/receive_rounds.hpp"

#include <cstddef>
#include <utility>

#include "schedules/program/waits.hpp"

namespace plumb::lowering {
namespace {

class ReceiveRounds {
 public:
  explicit ReceiveRounds(const Program& program)
      : program_(program),
        at_(program.lane_begin.begin(), program.lane_begin.end() - 1),
        next_send_(at_.size(), 0),
        posted_(program.transfers.size(), kNotPosted) {
    for (std::uint32_t i = 0; i < program.transfers.size(); ++i) {
      const std::size_t from = index(program.channels[program.transfers[i].channel].from);
      if (i == 0 || index(program.channels[program.transfers[i - 1].channel].from) != from) next_send_[from] = i;
    }
  }

  std::vector<InstrIndex> run() {
    for (bool progress = true; progress;) {
      progress = false;
      for (std::size_t device = 0; device < at_.size(); ++device) progress = visit(device) || progress;
    }
    return std::move(posted_);
  }

 private:
  static constexpr InstrIndex kNotPosted = 0xFFFFFFFFU;

  bool visit(std::size_t device) {
    const InstrIndex first = at_[device];
    if (first == program_.lane_begin[device + 1]) return false;
    const InstrIndex end = unit_end(program_, first);
    const auto is_posted = [&](const Wait& wait) { return !is_for_transfer(wait) || posted_[wait.via] != kNotPosted; };
    if (!all_waits(program_, first, end, is_posted)) return false;
    at_[device] = end;
    for (std::uint32_t& send = next_send_[device]; send < posted_.size(); ++send) {
      const Transfer& transfer = program_.transfers[send];
      const Channel& channel = program_.channels[transfer.channel];
      if (index(channel.from) != device || transfer.issue >= end) break;
      posted_[send] = at_[index(channel.to)];
    }
    return true;
  }

  const Program& program_;
  std::vector<InstrIndex> at_;            ///< by device: the step it takes next
  std::vector<std::uint32_t> next_send_;  ///< by device: its next message
  std::vector<InstrIndex> posted_;        ///< by transfer
};

}  // namespace

std::vector<InstrIndex> receive_rounds(const Program& program) { return ReceiveRounds(program).run(); }

}  // namespace plumb::lowering
