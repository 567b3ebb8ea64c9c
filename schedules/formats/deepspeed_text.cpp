#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/mistakes.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {
namespace {

/// What DeepSpeed calls an instruction, and what it is here; no op: it says nothing about the order of work.
struct Instruction {
  std::string_view name;
  std::optional<Op> op;
  bool has_buffer = false;
};

constexpr std::array kInstructions{
    Instruction{"LoadMicroBatch", std::nullopt, true},  Instruction{"ForwardPass", Op::kF, true},
    Instruction{"BackwardPass", Op::kB, true},          Instruction{"SendActivation", Op::kSendF, true},
    Instruction{"RecvActivation", Op::kRecvF, true},    Instruction{"SendGrad", Op::kSendB, true},
    Instruction{"RecvGrad", Op::kRecvB, true},          Instruction{"ReduceTiedGrads", std::nullopt, false},
    Instruction{"ReduceGrads", Op::kReduceGrad, false}, Instruction{"OptimizerStep", Op::kU, false}};

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// One device per stage; a buffer's k-th use by an instruction is its k-th microbatch in that buffer, so microbatches
/// are counted and the buffers only checked.
class DeepSpeedReader {
 public:
  DeepSpeedReader(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  Schedule read() {
    schedule_.name = std::filesystem::path(file_name_).stem().string();
    while (!text_.empty()) {
      ++line_;
      const std::size_t end = std::min(text_.find('\n'), text_.size());
      read_line(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
    }
    mistakes_.finish();
    if (schedule_.devices.empty()) throw Error(file_name_ + ": has no instructions, such as ForwardPass(buffer_id=0)");
    fill_in_sizes();
    return std::move(schedule_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_name_ + ":" + std::to_string(line_) + ": " + what);
  }

  void read_line(std::string_view line) {
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) {
      new_block_ = !named_;
      return;
    }
    if (line.starts_with("stage ")) {
      const auto expected = std::to_string(schedule_.devices.size());
      mistakes_.keep([&] {
        if (line.substr(6, line.find(':') - 6) != expected) fail("expected 'stage " + expected + ":'");
      });
      named_ = true;
      begin_stage();
      line.remove_prefix(std::min(line.find(':'), line.size() - 1) + 1);
    }
    for (std::size_t at = 0; at < line.size();) {
      if (is_word(line[at])) {
        const std::size_t next = std::min(line.find(',', at), line.size());
        mistakes_.keep([&] { at = read_instruction(line, at); });
        if (mistakes_.any()) at = next;
      } else if (std::string_view(" \t\r,[]").find(line[at]) != std::string_view::npos) {
        ++at;
      } else {
        mistakes_.note(file_name_ + ":" + std::to_string(line_) + ": character " + std::to_string(at + 1) +
                       ": expected instructions such as ForwardPass(buffer_id=0)");
        at = std::min(line.find(',', at), line.size());
      }
    }
  }

  void begin_stage() {
    schedule_.devices.emplace_back();
    counts_.clear();
    buffers_.clear();
    new_block_ = false;
  }

  std::size_t read_instruction(std::string_view line, std::size_t at) {
    const std::size_t begin = at;
    while (at < line.size() && is_word(line[at])) ++at;
    const std::string_view name = line.substr(begin, at - begin);
    const auto known = std::ranges::find(kInstructions, name, &Instruction::name);
    if (known == kInstructions.end()) {
      std::vector<std::string_view> names;
      for (const Instruction& instruction : kInstructions) names.push_back(instruction.name);
      try {
        throw_unknown("instruction", name, names);
      } catch (const Error& error) {
        fail(error.what());
      }
    }
    std::int64_t buffer = -1;
    if (at < line.size() && line[at] == '(') at = read_buffer(line, at, buffer);
    if (known->has_buffer != (buffer >= 0)) {
      fail(std::string(name) + (known->has_buffer ? ": expected a buffer, (buffer_id=0)" : ": expected no buffer"));
    }
    if (new_block_ || schedule_.devices.empty()) begin_stage();
    if (known->op) add(*known->op, buffer);
    return at;
  }

  /// "(buffer_id=3)" or "()"; returns the position after it.
  std::size_t read_buffer(std::string_view line, std::size_t at, std::int64_t& buffer) const {
    const std::size_t close = line.find(')', at);
    if (close == std::string_view::npos) fail("expected ')'");
    std::string_view inside = line.substr(at + 1, close - at - 1);
    if (inside.starts_with("buffer_id=")) inside.remove_prefix(10);
    const bool number = !inside.empty() && inside.size() <= 9 && std::ranges::all_of(inside, is_digit);
    if (!inside.empty() && !number) fail("character " + std::to_string(at + 1) + ": expected (buffer_id=0)");
    if (number) std::from_chars(inside.data(), inside.data() + inside.size(), buffer);
    return close + 1;
  }

  void add(Op op, std::int64_t buffer) {
    Action action;
    action.stage = StageId{static_cast<std::int32_t>(schedule_.devices.size()) - 1};
    action.op = op;
    const std::int32_t number = op == Op::kReduceGrad ? -1 : counts_[op]++;
    action.microbatch = MicrobatchId{number};
    if (buffer >= 0) {
      const auto [first, is_new] = buffers_.emplace(number, buffer);
      // What an earlier mistake left out was counted by nobody.
      if (!is_new && first->second != buffer && !mistakes_.any()) {
        fail("microbatch " + std::to_string(number) + " was in buffer " + std::to_string(first->second) +
             ", found buffer " + std::to_string(buffer));
      }
    }
    schedule_.devices.back().actions.push_back(action);
  }

  void fill_in_sizes() {
    const auto stages = static_cast<std::int32_t>(schedule_.devices.size());
    std::int64_t microbatches = 1;
    for (const Action& action : schedule_.devices.front().actions) {
      if (action.op == Op::kF)
        microbatches = std::max(microbatches, static_cast<std::int32_t>(action.microbatch) + std::int64_t{1});
    }
    schedule_.num_devices = schedule_.num_stages = stages;
    schedule_.num_microbatches = microbatches;
    schedule_.microbatches_per_update = {microbatches};
    schedule_.placement.resize(1);
    for (std::int32_t stage = 0; stage < stages; ++stage) schedule_.placement[0].push_back({DeviceId{stage}});
    schedule_.parameters = {{"p", std::int64_t{stages}}, {"m", microbatches}};
    const auto has_backward = [](const DeviceList& list) {
      return std::ranges::any_of(list.actions, [](const Action& action) { return is_backward(action.op); });
    };
    schedule_.forward_only = std::ranges::none_of(schedule_.devices, has_backward);
  }

  std::string_view text_;
  std::string file_name_;
  std::size_t line_ = 0;
  bool new_block_ = false;
  bool named_ = false;  ///< stages are named, so that empty lines mean nothing
  Schedule schedule_;
  Mistakes mistakes_;
  std::map<Op, std::int32_t> counts_;             ///< instructions of the stage so far
  std::map<std::int32_t, std::int64_t> buffers_;  ///< of the stage, by microbatch
};

}  // namespace

Schedule schedule_from_deepspeed(std::string_view text, std::string_view file_name) {
  return DeepSpeedReader(text, file_name).read();
}

}  // namespace plumb
