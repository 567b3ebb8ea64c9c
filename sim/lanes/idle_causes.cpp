#include "sim/lanes/idle_causes.hpp"

#include <algorithm>

#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

Ticks& part(CauseTimes& causes, IdleCause cause) { return causes[static_cast<std::size_t>(cause)]; }

/// The cause with the largest part; of equal ones that of the message or collective, which stood at the end.
IdleCause main_cause(const CauseTimes& gap) {
  const auto first_other = gap.begin() + static_cast<std::ptrdiff_t>(IdleCause::kCompute) + 1;
  const auto largest = std::max_element(first_other, gap.end());
  if (gap[static_cast<std::size_t>(IdleCause::kCompute)] > *largest) return IdleCause::kCompute;
  return static_cast<IdleCause>(largest - gap.begin());
}

}  // namespace

IdleCauses::IdleCauses(const ProgramIndex& indexed, const RunTimes& times, const SimOptions& options)
    : program_(indexed.program()), times_(times), rules_(rules_of(options.transfers)) {
  if (program_.transfers.empty()) return;
  sent_ = &indexed.sent();
  if (rules_.blocks_lane) issued_ = &indexed.issued();
}

IdleCause IdleCauses::add_gap(InstrIndex previous, InstrIndex first, InstrIndex end, Ticks from,
                              CauseTimes& causes) const {
  CauseTimes gap{};
  Ticks at = from;
  if (!program_.transfers.empty()) {
    if (rules_.blocks_lane) add_own_messages(previous, first, at, gap);
    add_send_waits(first, end, at, gap);
  }
  at = add_value_waits(first, end, at, gap);
  if (!times_.ready.empty()) part(gap, IdleCause::kOverhead) += times_.start[first] - at;
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) causes[c] += gap[c];
  return main_cause(gap);
}

void IdleCauses::add_own_messages(InstrIndex first, InstrIndex end, Ticks& at, CauseTimes& gap) const {
  for (InstrIndex i = first; i != end; ++i) {
    for (const std::uint32_t t : issued_->of(i)) {
      if (program_.is_move(t)) continue;
      add_message(t, at, gap);
      at = std::max(at, times_.transfers[t].available);
    }
  }
}

void IdleCauses::add_send_waits(InstrIndex first, InstrIndex end, Ticks& at, CauseTimes& gap) const {
  for (InstrIndex i = first; i != end; ++i) {
    for (const std::uint32_t t : sent_->of(i)) {
      const Transfer& transfer = program_.transfers[t];
      const Route& route = program_.channels[transfer.channel].route;
      const Ticks sent = times_.sent(t);
      if (program_.is_move(t)) {
        part(gap, IdleCause::kMemory) += std::max<Ticks>(0, sent - at);
      } else {
        add_to(gap,
               split_send_wait(at, sent, times_.transfers[t].done, sending_time(transfer.bytes, route, program_.base)));
      }
      at = std::max(at, sent);
    }
  }
}

Ticks IdleCauses::add_value_waits(InstrIndex first, InstrIndex end, Ticks at, CauseTimes& gap) const {
  const Wait* last = nullptr;
  Ticks latest = at;
  for (const Wait& wait : waits_of(program_, first, end)) {
    const Ticks over = over_at(program_, times_, wait);
    if (over > latest) {
      latest = over;
      last = &wait;
    }
  }
  if (last != nullptr) add_wait(*last, at, gap);
  return latest;
}

void IdleCauses::add_message(std::uint32_t t, Ticks at, CauseTimes& gap) const {
  const Transfer& transfer = program_.transfers[t];
  const Route& route = program_.channels[transfer.channel].route;
  const Ticks produced = times_.end[transfer.producer];
  WaitSplit split =
      split_receive_wait(at, times_.transfers[t], produced, sending_time(transfer.bytes, route, program_.base),
                         latency_time(route, program_.base));
  if (!times_.called.empty()) {
    const Ticks offered = times_.end[rules_.in_issue_order ? transfer.issue : transfer.producer];
    const Ticks late = std::clamp<Ticks>(times_.called[t] - std::max(at, offered), 0, split.queue);
    split.queue -= late;
    part(gap, IdleCause::kOverhead) += late;
  }
  add_to(gap, split);
}

void IdleCauses::add_wait(const Wait& wait, Ticks at, CauseTimes& gap) const {
  const Ticks waited = over_at(program_, times_, wait) - at;
  if (is_for_transfer(wait)) {
    if (program_.is_move(wait.via)) {
      part(gap, IdleCause::kMemory) += waited;
      return;
    }
    add_message(wait.via, at, gap);
    return;
  }
  const bool collective = is_for_collective(wait);
  const Ticks least = collective ? program_.collectives[collective_of(wait)].duration : latency_of(program_, wait);
  const Ticks other = std::min(waited, least);
  part(gap, collective ? IdleCause::kCollective : IdleCause::kTransferLatency) += other;
  part(gap, IdleCause::kCompute) += waited - other;
}

}  // namespace plumb
