#include "sim/runtimes/megatron_messages.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

/// Whether its result, or what it takes, is a message.
bool is_pass(const Action& action) { return action.op == Op::kF || is_backward(action.op); }

/// Number of passes in the turn that begins with `passes`: two where a backward follows a forward.
std::size_t turn_length(std::span<const Action* const> passes) {
  return passes.size() > 1 && passes[0]->op == Op::kF && passes[1]->op != Op::kF ? 2 : 1;
}

class ExchangeWriter {
 public:
  ExchangeWriter(std::int32_t num_stages, std::vector<Action>& out) : num_stages_(num_stages), out_(out) {}

  /// Writes what `before` made and `next` takes, in Megatron-LM's order: with the previous stage, then with the next.
  void write(std::span<const Action* const> before, std::span<const Action* const> next) {
    add(before, Op::kSendB);
    add(next, Op::kRecvF);
    add(before, Op::kSendF);
    add(next, Op::kRecvB);
  }

 private:
  /// A message of that op for the passes that have one.
  void add(std::span<const Action* const> passes, Op op) {
    const bool activation = op == Op::kSendF || op == Op::kRecvF;
    const bool behind = op == Op::kSendF || op == Op::kRecvB;
    for (const Action* action : passes) {
      const auto stage = static_cast<std::int32_t>(action->stage);
      if ((action->op == Op::kF) != activation || (behind ? stage + 1 >= num_stages_ : stage == 0)) continue;
      Action message = *action;
      message.op = op;
      out_.push_back(message);
    }
  }

  std::int32_t num_stages_;
  std::vector<Action>& out_;
};

DeviceList with_exchanges(const DeviceList& list, std::int32_t num_stages) {
  std::vector<Action> actions;
  walk(list, [&](const Action& action) { actions.push_back(action); });
  std::vector<const Action*> passes;
  for (const Action& action : actions) {
    if (is_pass(action)) passes.push_back(&action);
  }
  DeviceList result = list;
  result.actions.clear();
  result.repeats.clear();
  ExchangeWriter writer(num_stages, result.actions);
  std::span<const Action* const> before;
  std::span<const Action* const> rest = passes;
  for (const Action& action : actions) {
    if (!rest.empty() && &action == rest.front()) {
      const auto turn = rest.first(turn_length(rest));
      writer.write(before, turn);
      before = turn;
      rest = rest.subspan(turn.size());
    }
    result.actions.push_back(action);
    if (rest.empty() && !before.empty() && &action == before.back()) writer.write(std::exchange(before, {}), {});
  }
  return result;
}

}  // namespace

Schedule with_exchanges_between_turns(Schedule schedule) {
  const bool has_messages = std::ranges::any_of(schedule.devices, [](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [](const Action& a) { return is_send(a.op) || is_recv(a.op); });
  });
  if (has_messages) return schedule;
  for (DeviceList& list : schedule.devices) list = with_exchanges(list, schedule.num_stages);
  return schedule;
}

}  // namespace plumb
