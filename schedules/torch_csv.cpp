#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/error.hpp"
#include "schedules/action_text.hpp"
#include "schedules/schedule_io.hpp"
#include "schedules/walk.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostDevices = 65536;
constexpr std::int32_t kMostStages = 1 << 20;

/// Ops that PyTorch's files name.
bool in_torch(Op op) {
  return op <= Op::kW || (op >= Op::kSendF && op <= Op::kRecvB) || (op >= Op::kReduceGrad && op <= Op::kReshard);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Reads one line per device.
class Reader {
 public:
  Reader(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  Schedule read() {
    schedule_.name = std::filesystem::path(file_name_).stem().string();
    while (!text_.empty()) {
      if (schedule_.devices.size() == kMostDevices) fail("expected at most " + std::to_string(kMostDevices) + " lines");
      schedule_.devices.emplace_back();
      read_line(next_line());
    }
    if (schedule_.devices.empty()) throw Error(file_name_ + ": is empty; expected one line of actions per device");
    if (old_letters()) translate_letters();
    fill_in_sizes();
    return std::move(schedule_);
  }

 private:
  std::size_t line() const { return schedule_.devices.size(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_name_ + ":" + std::to_string(line()) + ": " + what);
  }

  std::string_view next_line() {
    const std::size_t end = text_.find('\n');
    std::string_view found = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    if (!found.empty() && found.back() == '\r') found.remove_suffix(1);
    return found;
  }

  void read_line(std::string_view cells) {
    for (std::size_t number = 1;; ++number) {
      const std::size_t comma = cells.find(',');
      read_cell(trimmed(cells.substr(0, comma)), number);
      if (comma == std::string_view::npos) break;
      cells.remove_prefix(comma + 1);
    }
    if (schedule_.devices.back().actions.empty()) {
      fail("has no actions; expected those of device " + std::to_string(line() - 1));
    }
  }

  void read_cell(std::string_view cell, std::size_t number) {
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"') cell = trimmed(cell.substr(1, cell.size() - 2));
    if (cell.empty()) return;  // a bubble: no meaning for the order
    const auto where = [&] { return "cell " + std::to_string(number) + ": '" + std::string(cell) + "': "; };
    std::string new_letters;
    if (const std::size_t old = cell.find("BW"); old != std::string_view::npos && cell.front() != '(') {
      saw_old_letter_ = true;
      whole_backward_ = true;
      new_letters = std::string(cell).erase(old + 1, 1);
    }
    auto& actions = schedule_.devices.back().actions;
    const std::size_t first = actions.size();
    const auto expected = read_item(new_letters.empty() ? cell : std::string_view(new_letters), actions);
    if (!expected.empty()) fail(where() + "expected " + std::string(expected));
    for (std::size_t at = first; at < actions.size(); ++at) {
      const Action& action = actions[at];
      const bool plain = action.replica == ReplicaId{} && action.merged == 0 && action.slice == Action::kAllSlices &&
                         action.where == Action::kNowhere;
      if (!plain || !in_torch(action.op)) fail(where() + "is not an action of PyTorch's files, such as 2F0");
      if (static_cast<std::int32_t>(action.stage) >= kMostStages) fail(where() + "stage out of range");
      whole_.push_back(whole_backward_);
    }
    whole_backward_ = false;
    if (actions.size() == first + 2 && (actions[first].op != Op::kF || !is_backward(actions[first + 1].op))) {
      fail(where() + "expected a forward, then a backward");
    }
  }

  /// Until late 2024 B was the input gradient and BW the whole backward.
  bool old_letters() const {
    if (saw_old_letter_) return true;
    std::vector<std::pair<StageId, MicrobatchId>> backward;
    std::vector<std::pair<StageId, MicrobatchId>> weight;
    for (const DeviceList& list : schedule_.devices) {
      for (const Action& action : list.actions) {
        if (action.op == Op::kB) backward.emplace_back(action.stage, action.microbatch);
        if (action.op == Op::kW) weight.emplace_back(action.stage, action.microbatch);
      }
    }
    std::sort(backward.begin(), backward.end());
    return std::any_of(weight.begin(), weight.end(),
                       [&](const auto& one) { return std::binary_search(backward.begin(), backward.end(), one); });
  }

  void translate_letters() {
    auto whole = whole_.begin();
    for (DeviceList& list : schedule_.devices) {
      for (Action& action : list.actions) {
        if (!*whole++ && action.op == Op::kB) action.op = Op::kI;
      }
    }
    schedule_.parameters["letters"] = "B is I, BW is B (before 2025)";
  }

  void fill_in_sizes() {
    std::vector<std::int32_t> device_of;
    std::int64_t microbatches = 1;
    for (std::size_t device = 0; device < schedule_.devices.size(); ++device) {
      for (const Action& action : schedule_.devices[device].actions) {
        if (index(action.stage) >= device_of.size()) device_of.resize(index(action.stage) + 1, -1);
        std::int32_t& holder = device_of[index(action.stage)];
        if (holder < 0) holder = static_cast<std::int32_t>(device);
        if (holder != static_cast<std::int32_t>(device)) {
          throw Error(file_name_ + ": stage " + std::to_string(index(action.stage)) + " is on lines " +
                      std::to_string(holder + 1) + " and " + std::to_string(device + 1) +
                      "; expected one device per stage");
        }
        microbatches = std::max(microbatches, std::int64_t{static_cast<std::int32_t>(action.microbatch)} + 1);
      }
    }
    schedule_.placement.resize(1);
    for (std::size_t stage = 0; stage < device_of.size(); ++stage) {
      if (device_of[stage] < 0) throw Error(file_name_ + ": no line names stage " + std::to_string(stage));
      schedule_.placement[0].push_back({DeviceId{device_of[stage]}});
    }
    schedule_.num_devices = static_cast<std::int32_t>(schedule_.devices.size());
    schedule_.num_stages = static_cast<std::int32_t>(device_of.size());
    schedule_.num_microbatches = microbatches;
    schedule_.microbatches_per_update = {microbatches};
    schedule_.parameters["p"] = std::int64_t{schedule_.num_devices};
    schedule_.parameters["m"] = microbatches;
  }

  std::string_view text_;
  std::string file_name_;
  Schedule schedule_;
  bool saw_old_letter_ = false;
  bool whole_backward_ = false;  ///< the cell being read is a BW
  std::vector<bool> whole_;      ///< by action of the file
};

/// What the format cannot say.
void check_writable(const Schedule& schedule) {
  const auto refuse = [&](const std::string& what) {
    throw Error("schedule '" + schedule.name + "' cannot be written as PyTorch CSV: " + what);
  };
  if (schedule.placement.size() != 1) refuse("it has several replicas; expected one");
  for (const auto& devices : schedule.placement[0]) {
    if (devices.size() != 1) refuse("a stage has several devices; expected one");
  }
  if (schedule.per_update(StageId{0}) != schedule.num_microbatches) {
    refuse("it has " + std::to_string(schedule.num_microbatches / schedule.per_update(StageId{0})) +
           " updates; expected one");
  }
  if (schedule.slices) refuse("it has slices; expected whole microbatches");
  if (schedule.forward_only) refuse("its mode is forward; expected training");
}

}  // namespace

std::string schedule_to_torch_csv(const Schedule& schedule) {
  check_writable(schedule);
  std::string text;
  for (const DeviceList& list : schedule.devices) {
    std::vector<Action> actions;
    walk(list, [&](const Action& action) {
      if (is_send(action.op) || is_recv(action.op) || is_collective(action.op) || action.op == Op::kU) return;
      if (action.op > Op::kW || action.merged != 0) {
        throw Error("schedule '" + schedule.name + "' cannot be written as PyTorch CSV: it has no " +
                    to_string(action));
      }
      actions.push_back(action);
    });
    if (actions.empty()) {
      throw Error("schedule '" + schedule.name + "' cannot be written as PyTorch CSV: a device computes nothing");
    }
    for (std::size_t at = 0; at < actions.size();) {
      if (at > 0) text += ',';
      at = append_item(text, actions, at);
    }
    text += "\r\n";
  }
  return text;
}

Schedule schedule_from_torch_csv(std::string_view text, std::string_view file_name) {
  return Reader(text, file_name).read();
}

}  // namespace plumb
