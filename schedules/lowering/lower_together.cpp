#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower_state.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/rules/start_together.hpp"

namespace plumb::lowering {
namespace {

constexpr std::uint32_t kMostOwnWaits = 254;

using Member = std::pair<CommonStart, InstrIndex>;

/// All instrs that start together with others, those of one start in a row.
std::vector<Member> members_of(const State& state) {
  const CommonStarts starts(state.schedule);
  std::vector<Member> members;
  for (InstrIndex at = 0; at < state.program.size(); ++at) {
    if (const auto start = starts.of(state.program.instrs[at].action)) members.emplace_back(*start, at);
  }
  std::ranges::sort(members);
  return members;
}

/// Gives every member the waits of the others, and waits for the units before them.
class CommonWaitWriter {
 public:
  explicit CommonWaitWriter(State& state) : state_(state), program_(state.program), members_(members_of(state)) {}

  void write() {
    program_.together.assign(program_.size(), 0);
    starts_of_.assign(program_.size(), 0);
    for (std::size_t begin = 0; begin < members_.size();) begin = note_start(begin);
    std::vector<Wait> waits;
    waits.reserve(program_.waits.size());
    std::vector<std::uint32_t> first(program_.instrs.size());
    for (std::size_t lane = 0; lane + 1 < program_.lane_begin.size(); ++lane) {
      for (InstrIndex at = program_.lane_begin[lane]; at < program_.lane_begin[lane + 1]; ++at) {
        first[at] = static_cast<std::uint32_t>(waits.size());
        add_own(waits, at);
        if (program_.together[at] != 0) add_common(waits, first[at], at, lane);
      }
    }
    first.back() = static_cast<std::uint32_t>(waits.size());
    for (std::size_t at = 0; at < first.size(); ++at) program_.instrs[at].first_wait = first[at];
    program_.waits = std::move(waits);
  }

 private:
  /// Where the members of the next start begin.
  std::size_t note_start(std::size_t begin) {
    const CommonStart& start = members_[begin].first;
    std::size_t end = begin;
    for (; end < members_.size() && members_[end].first == start; ++end) {
      const InstrIndex at = members_[end].second;
      const std::size_t own = waits_of(program_, at).size();
      if (own > kMostOwnWaits) {
        throw CannotRun(to_string(program_.instrs[at].action) + " starts together with others and waits for " +
                        std::to_string(own) + " actions itself; expected at most " + std::to_string(kMostOwnWaits));
      }
      program_.together[at] = static_cast<std::uint8_t>(own + 1);
      starts_of_[at] = static_cast<std::uint32_t>(begin);
    }
    const std::size_t expected = state_.schedule.start_together[static_cast<std::size_t>(start.group)].size();
    if (end - begin != expected) {
      throw CannotRun(to_string(program_.instrs[members_[begin].second].action) + " starts together with " +
                      std::to_string(end - begin - 1) + " others; expected " + std::to_string(expected - 1));
    }
    return end;
  }

  void add_own(std::vector<Wait>& waits, InstrIndex at) const {
    const auto own = waits_of(program_, at);
    waits.insert(waits.end(), own.begin(), own.end());
  }

  void add_common(std::vector<Wait>& waits, std::uint32_t first, InstrIndex at, std::size_t lane) const {
    const auto add = [&](const Wait& wait) {
      const bool earlier = wait.source >= program_.lane_begin[lane] && wait.source < at;
      if (earlier && wait.via == Wait::kDirect) return;
      const auto same = [&](const Wait& known) { return known.source == wait.source && known.via == wait.via; };
      if (std::none_of(waits.begin() + first, waits.end(), same)) waits.push_back(wait);
    };
    for (std::size_t i = starts_of_[at]; i < members_.size() && members_[i].first == members_[starts_of_[at]].first;
         ++i) {
      const InstrIndex other = members_[i].second;
      if (other == at) continue;
      for (const Wait& wait : waits_of(program_, other)) add(wait);
      const bool is_first = std::ranges::find(program_.lane_begin, other) != program_.lane_begin.end();
      if (!is_first) add({unit_begin(program_, other - 1), Wait::kDirect});
    }
  }

  State& state_;
  Program& program_;
  std::vector<Member> members_;
  std::vector<std::uint32_t> starts_of_;  ///< by instr that is a member: the first of its start, in `members_`
};

}  // namespace

void add_common_starts(State& state) {
  if (state.schedule.start_together.empty()) return;
  CommonWaitWriter(state).write();
  Program& program = state.program;
  for (std::size_t t = 0; t < program.transfers.size() - program.moves.size(); ++t) {
    Transfer& transfer = program.transfers[t];
    const InstrIndex end = program.lane_begin[index(program.channels[transfer.channel].from) + 1];
    while (transfer.sent < end && starts_together(program, transfer.sent))
      transfer.sent = unit_end(program, transfer.sent);
  }
}

}  // namespace plumb::lowering
