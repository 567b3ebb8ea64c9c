#include "schedules/document/action_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

constexpr std::string_view kOverlap = "OVERLAP";
constexpr std::string_view kTorchOverlap = "OVERLAP_F_B";  // PyTorch's word for a forward, then a backward
constexpr std::int64_t kMostMerged = 127;

bool is_transfer(Op op) { return is_send(op) || is_recv(op); }
/// F B I W R and the transfers may name several microbatches and a slice.
bool is_divisible(Op op) { return op <= Op::kR || is_transfer(op); }

void append_number(std::string& out, std::int64_t number) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

bool is_forward_then_backward(const Action& first, const Action& second) {
  return first.op == Op::kF && is_backward(second.op);
}

/// Reads an action from left to right; every step returns false where the text does not go on as it should.
class ActionReader {
 public:
  explicit ActionReader(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  std::string_view read(Action& action) {
    std::int64_t stage = 0;
    std::int64_t replica = 0;
    if (!number(stage, std::numeric_limits<std::int32_t>::max())) return "a stage number, as in 0F1";
    if (take(':')) {
      replica = stage;
      if (replica > std::numeric_limits<std::int16_t>::max()) return "a replica of at most 32767 before ':'";
      if (!number(stage, std::numeric_limits<std::int32_t>::max())) return "a stage number after ':'";
    }
    action = {};
    action.stage = StageId{static_cast<std::int32_t>(stage)};
    action.replica = ReplicaId{static_cast<std::int16_t>(replica)};
    if (!op(action.op)) return "an op such as F, B, I, W or U after the stage";
    if (const auto expected = numbers(action); !expected.empty()) return expected;
    if (const auto expected = place(action); !expected.empty()) return expected;
    return at_ == end_ ? std::string_view{} : "the end of the action";
  }

 private:
  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool number(std::int64_t& value, std::int64_t most) {
    if (at_ == end_ || *at_ < '0' || *at_ > '9') return false;
    value = 0;
    for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
      value = value * 10 + (*at_ - '0');
      if (value > most) return false;
    }
    return true;
  }

  bool op(Op& op) {
    const char* begin = at_;
    while (at_ != end_ && ((*at_ >= 'A' && *at_ <= 'Z') || *at_ == '_')) ++at_;
    const std::string_view name(begin, static_cast<std::size_t>(at_ - begin));
    const auto found = std::find(kOpNames.begin(), kOpNames.end(), name);
    op = static_cast<Op>(found - kOpNames.begin());
    return found != kOpNames.end();
  }

  /// [microbatch { "+" microbatch }] ["." slice]
  std::string_view numbers(Action& action) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    std::int64_t value = -1;
    const bool numbered = at_ != end_ && *at_ >= '0' && *at_ <= '9';
    if (is_collective(action.op) && numbered) return "no number: a collective names no microbatch";
    if (!numbered && !is_collective(action.op) && !is_move(action.op)) return "a number after the op, as in 0F1";
    if (numbered && !number(value, kMost)) return "a number of at most 2147483647";
    action.microbatch = MicrobatchId{static_cast<std::int32_t>(value)};
    while (numbered && is_divisible(action.op) && take('+')) {
      std::int64_t next = 0;
      if (!number(next, kMost) || next != ++value) return "the next microbatch after '+', as in 0F4+5";
      if (action.merged == kMostMerged) return "at most 128 microbatches in one action";
      action.merged = static_cast<std::uint8_t>((action.merged + 1) & kMostMerged);
    }
    if (numbered && (is_divisible(action.op) || is_move(action.op)) && take('.')) {
      if (!number(value, std::numeric_limits<std::int16_t>::max())) return "a slice of at most 32767 after '.'";
      action.slice = static_cast<std::int16_t>(value);
    }
    return {};
  }

  /// [">" device] of a transfer, or of weights that an edge carries, ["@" ( device | "host" )] of a move
  std::string_view place(Action& action) {
    std::int64_t device = 0;
    if (is_move(action.op) && take('@')) {
      if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)) == "host") {
        at_ = end_;
        action.where = Action::kHost;
        return {};
      }
    } else if ((!is_transfer(action.op) && action.op != Op::kUnshard) || !take('>')) {
      return {};
    }
    if (!number(device, std::numeric_limits<std::int16_t>::max())) return "a device of at most 32767, or @host";
    action.where = static_cast<std::int16_t>(device);
    return {};
  }

  const char* at_;
  const char* end_;
};

}  // namespace

void append_text(std::string& out, const Action& action) {
  if (action.replica != ReplicaId{}) {
    append_number(out, static_cast<std::int16_t>(action.replica));
    out += ':';
  }
  append_number(out, static_cast<std::int32_t>(action.stage));
  out += kOpNames[static_cast<std::size_t>(action.op)];
  const std::int64_t first = static_cast<std::int32_t>(action.microbatch);
  if (!is_collective(action.op) && first >= 0) append_number(out, first);
  for (int i = 1; i <= action.merged; ++i) {
    out += '+';
    append_number(out, first + i);
  }
  if (action.slice != Action::kAllSlices) {
    out += '.';
    append_number(out, action.slice);
  }
  if (action.where == Action::kNowhere) return;
  out += is_move(action.op) ? '@' : '>';
  if (action.where == Action::kHost) {
    out += "host";
  } else {
    append_number(out, action.where);
  }
}

std::size_t append_item(std::string& out, std::span<const Action> actions, std::size_t at) {
  const bool pair = actions[at].overlaps_next != 0 && at + 1 < actions.size();
  if (pair) out += '(';
  append_text(out, actions[at]);
  if (!pair) return at + 1;
  out += ';';
  append_text(out, actions[at + 1]);
  out += ')';
  out += is_forward_then_backward(actions[at], actions[at + 1]) ? kTorchOverlap : kOverlap;
  return at + 2;
}

std::string_view read_action(std::string_view text, Action& action) { return ActionReader(text).read(action); }

std::string_view read_item(std::string_view text, std::vector<Action>& actions) {
  Action action;
  if (text.empty() || text.front() != '(') {
    const auto expected = read_action(text, action);
    if (expected.empty()) actions.push_back(action);
    return expected;
  }
  const std::size_t middle = text.find(';');
  const std::size_t end = text.find(')');
  const std::string_view word = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  if (middle > end || (word != kOverlap && word != kTorchOverlap)) {
    return "an overlapped pair such as (0F1;0B0)OVERLAP_F_B or (0F1;1F0)OVERLAP";
  }
  Action second;
  const auto first_expected = read_action(text.substr(1, middle - 1), action);
  if (!first_expected.empty()) return first_expected;
  const auto second_expected = read_action(text.substr(middle + 1, end - middle - 1), second);
  if (!second_expected.empty()) return second_expected;
  if (word == kTorchOverlap && !is_forward_then_backward(action, second)) {
    return "a forward, then a backward; other pairs are written with OVERLAP";
  }
  action.overlaps_next = 1;
  actions.push_back(action);
  actions.push_back(second);
  return {};
}

std::string to_string(const Action& action) {
  std::string text;
  append_text(text, action);
  return text;
}

Action parse_action(std::string_view text, std::string_view where) {
  Action action;
  const auto expected = read_action(text, action);
  if (!expected.empty()) {
    throw Error(std::string(where) + ": action '" + std::string(text) + "': expected " + std::string(expected));
  }
  return action;
}

}  // namespace plumb
