#include "trainer/plan/post_validation.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "models/costs/reverses.hpp"
#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/waits.hpp"
#include "schedules/runnability/deadlock.hpp"
#include "trainer/plan/train_options.hpp"

namespace plumb {
namespace {

const Row& row_of(const Program& program, InstrIndex at) { return program.rows[program.instrs[at].row]; }

DeviceId device_at(const Program& program, InstrIndex at) { return program.holders[row_of(program, at).holder].device; }

[[noreturn]] void refuse(const std::string& what) { throw Error("post-validation: " + what); }

std::string text(const Program& program, InstrIndex at) { return to_string(program.instrs[at].action); }

/// Adds what `more` knows and `known` does not.
void learn(std::vector<std::uint32_t>& known, const std::vector<std::uint32_t>& more) {
  for (std::size_t stage = 0; stage < known.size(); ++stage) {
    if (known[stage] == ValidationPlan::kNobody) known[stage] = more[stage];
  }
}

}  // namespace

/// Decides as a step without pipeline would: no update if some norm is not finite, else clipped by the norms of all
/// stages or of the own one.
UpdateDecision decide(const GradientClip& clip, double gradient_scale,
                      std::span<const std::vector<double>> squared_by_stage, std::size_t own) {
  const auto finite = [](const std::vector<double>& squared) {
    return std::ranges::all_of(squared, [](double square) { return std::isfinite(square); });
  };
  if (!std::ranges::all_of(squared_by_stage, finite)) return {.applies = false, .factor = 1};
  if (clip.norm <= 0) return {};
  if (clip.scope == ClipScope::kStage) return {true, clip_factor(squared_by_stage[own], gradient_scale, clip.norm)};
  std::vector<double> all;
  for (const std::vector<double>& squared : squared_by_stage) all.insert(all.end(), squared.begin(), squared.end());
  return {true, clip_factor(all, gradient_scale, clip.norm)};
}

ValidationPlan::ValidationPlan(const Program& program, const TrainOptions& options) {
  find_windows(program);
  if (windows_.empty()) return;
  if (program.asynchronous)
    refuse("schedule '" + options.schedule.name + "' is asynchronous; expected updates with a flush");
  find_known(program);
  check_known(program);
  find_messages(program);
  for (const auto& [validation, window] : windows_) check_window(program, validation, window);
}

/// Finds for every V the U before it on its holder, and what lies between them: forwards with weights that may be taken
/// back.
void ValidationPlan::find_windows(const Program& program) {
  std::map<std::uint32_t, Window> open;  // by holder: its last update
  for (InstrIndex at = 0; at < program.size(); ++at) {
    const Row& row = row_of(program, at);
    const auto found = open.find(row.holder);
    if (row.op == Op::kU) {
      const auto number = static_cast<std::int32_t>(program.instrs[at].action.microbatch);
      open[row.holder] = {at, number, {}};
      updates_[number].push_back(at);
    } else if (row.op == Op::kV && found != open.end()) {
      ends_[{device_at(program, at), found->second.number}] = at + 1;
      windows_.emplace(at, std::move(found->second));
      open.erase(found);
    } else if (found != open.end() && row.op != Op::kReduceGrad) {
      found->second.forwards.push_back(at);
    }
  }
  if (!windows_.empty() && !open.empty()) {
    refuse(text(program, open.begin()->second.update) + " is never validated; expected a V of every update");
  }
}

/// Finds whose norms each U and V knows: its own, what its device knew before in the update, and what reaches it by
/// plain waits for instrs of the same update. The order of a run has everything that they wait for before them.
void ValidationPlan::find_known(const Program& program) {
  const auto stages = static_cast<std::size_t>(program.num_stages);
  std::map<std::pair<DeviceId, std::int32_t>, std::vector<std::uint32_t>> on_device;
  for (const InstrIndex at : run_order(program)) {
    const Row& row = row_of(program, at);
    if (row.op != Op::kU && row.op != Op::kV) continue;
    std::vector<std::uint32_t>& known = known_[at];
    known.assign(stages, kNobody);
    if (row.op == Op::kU) known[index(program.instrs[at].action.stage)] = row.holder;
    const auto number = static_cast<std::int32_t>(program.instrs[at].action.microbatch);
    std::vector<std::uint32_t>& here = on_device[{device_at(program, at), number}];
    if (!here.empty()) learn(known, here);
    for (const Wait& wait : waits_of(program, at)) {
      const auto knows = known_.find(wait.source);
      const bool same_update = program.instrs[wait.source].action.microbatch == program.instrs[at].action.microbatch;
      if (is_plain(wait) && same_update && knows != known_.end()) learn(known, knows->second);
    }
    here = known;
  }
}

void ValidationPlan::check_known(const Program& program) const {
  for (const auto& [at, known] : known_) {
    const auto unknown = std::ranges::find(known, kNobody);
    if (row_of(program, at).op != Op::kV || unknown == known.end()) continue;
    refuse(text(program, at) + " does not know the norm of stage " + std::to_string(unknown - known.begin()) +
           "; expected extra_edges that bring it from the updates of all stages");
  }
}

/// Lists the messages that forwards in a window make. They are sent again when the update is taken back.
void ValidationPlan::find_messages(const Program& program) {
  std::map<InstrIndex, std::int32_t> made_in;  // by forward in a window: its update
  for (const auto& [validation, window] : windows_) {
    for (const InstrIndex forward : window.forwards) made_in[forward] = window.number;
  }
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) {
    const auto found = made_in.find(program.transfers[t].producer);
    if (found == made_in.end() || program.is_move(t)) continue;
    messages_[{program.channels[program.transfers[t].channel].to, found->second}].push_back(t);
  }
}

/// Refuses windows whose forwards cannot be run again: other passes, dropped stashes or inputs, several holders, a
/// reader of a forward in the same window, an input that does not come again.
void ValidationPlan::check_window(const Program& program, InstrIndex validation, const Window& window) const {
  const DeviceId device = device_at(program, validation);
  const std::span<const std::uint32_t> again = messages_to(device, window.number);
  for (const InstrIndex at : window.forwards) {
    const std::string where =
        text(program, at) + " stands between " + text(program, window.update) + " and " + text(program, validation);
    if (row_of(program, at).op != Op::kF) refuse(where + "; expected only forwards there");
    if (row_of(program, at).recompute) refuse(where + " and drops its stash; expected no recompute of it");
    const StageId stage = program.instrs[at].action.stage;
    if (reverses(program.memory[index(stage)])) refuse(where + " and keeps no input; expected a stage that does");
    if (program.holders.size() != static_cast<std::size_t>(program.num_stages)) {
      refuse(where + "; expected one holder of every stage");
    }
    for (InstrIndex next = at + 1; next < validation; ++next) {
      const Action& reader = program.instrs[next].action;
      const Action& maker = program.instrs[at].action;
      const bool reads = index(reader.stage) == index(maker.stage) + 1 && reader.microbatch == maker.microbatch;
      if (reader.op == Op::kF && reads) refuse(where + ", as its reader does; expected one of them");
    }
    if (program.instrs[at].action.stage == StageId{0}) continue;
    bool comes_again = false;
    for (const Wait& wait : waits_of(program, at)) {
      comes_again = comes_again || (is_for_transfer(wait) && std::ranges::find(again, wait.via) != again.end());
    }
    if (!comes_again) refuse(where + "; expected its input from a forward between an update and its validation");
  }
}

std::span<const std::uint32_t> ValidationPlan::messages_to(DeviceId device, std::int32_t number) const {
  const auto found = messages_.find({device, number});
  return found == messages_.end() ? std::span<const std::uint32_t>() : found->second;
}

InstrIndex ValidationPlan::end_of_validation(DeviceId device, std::int32_t number) const {
  const auto found = ends_.find({device, number});
  return found == ends_.end() ? 0 : found->second;
}

std::vector<std::byte> to_bytes(const GradientNorms& norms) {
  std::vector<double> numbers{norms.scale};
  numbers.insert(numbers.end(), norms.squared.begin(), norms.squared.end());
  const std::span<const std::byte> bytes = std::as_bytes(std::span<const double>(numbers));
  return {bytes.begin(), bytes.end()};
}

GradientNorms norms_from(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  std::memcpy(numbers.data(), bytes.data(), bytes.size());
  return {numbers.at(0), {numbers.begin() + 1, numbers.end()}};
}

}  // namespace plumb
