#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/document_limits.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"

namespace plumb {
namespace {

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
class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  Schedule read() {
    schedule_.name = std::filesystem::path(file_name_).stem().string();
    while (!text_.empty()) {
      if (std::ssize(schedule_.devices) == kMostDocumentDevices) {
        fail("expected at most " + std::to_string(kMostDocumentDevices) + " lines");
      }
      schedule_.devices.emplace_back();
      read_line(next_line());
    }
    if (mistakes_.size() == 1) throw Error(mistakes_.front());
    if (!mistakes_.empty()) throw Errors(mistakes_);
    if (schedule_.devices.empty()) throw Error(file_name_ + ": is empty; expected one line of actions per device");
    if (old_letters()) translate_letters();
    refuse_introspection_list();
    fill_in_sizes();
    return std::move(schedule_);
  }

 private:
  std::size_t line() const { return schedule_.devices.size(); }

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_name_ + ":" + std::to_string(line()) + ": " + what);
  }

  /// Notes a mistake, so that all of them are told at once.
  void note(const std::string& what) {
    constexpr std::size_t kMostCsvMistakes = 50;
    mistakes_.push_back(file_name_ + ":" + std::to_string(line()) + ": " + what);
    if (mistakes_.size() == kMostCsvMistakes) throw Errors(mistakes_);
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
    if (schedule_.devices.back().actions.empty() && mistakes_.empty()) {
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
    if (!expected.empty()) note(where() + "expected " + std::string(expected));
    for (std::size_t at = first; at < actions.size(); ++at) {
      const Action& action = actions[at];
      const bool plain = action.replica == ReplicaId{} && action.merged == 0 && action.slice == Action::kAllSlices &&
                         action.where == Action::kNowhere;
      if (!plain || !in_torch(action.op)) note(where() + "is not an action of PyTorch's files, such as 2F0");
      if (static_cast<std::int32_t>(action.stage) >= kMostDocumentStages) note(where() + "stage out of range");
      whole_.push_back(whole_backward_);
    }
    whole_backward_ = false;
    if (actions.size() == first + 2 && (actions[first].op != Op::kF || !is_backward(actions[first + 1].op))) {
      note(where() + "expected a forward, then a backward");
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

  /// PyTorch's introspection list of 1F1B (2025 to 2.14) numbers the last rank's forwards from 1.
  void refuse_introspection_list() const {
    const auto& actions = schedule_.devices.back().actions;
    std::int64_t least = std::int64_t{1} << 32;
    std::int64_t most = -1;
    bool backward_of_0 = false;
    for (const Action& action : actions) {
      const std::int64_t microbatch = static_cast<std::int32_t>(action.microbatch);
      if (action.op == Op::kF) least = std::min(least, microbatch), most = std::max(most, microbatch);
      backward_of_0 = backward_of_0 || (is_backward(action.op) && microbatch == 0);
    }
    if (least != 1 || !backward_of_0) return;
    fail("forwards are numbered 1 to " + std::to_string(most) + ", expected 0 to " + std::to_string(most - 1) +
         " (the list of 1F1B that PyTorch prints has this fault, the one that it runs does not)");
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
  std::vector<std::string> mistakes_;
  bool saw_old_letter_ = false;
  bool whole_backward_ = false;  ///< the cell being read is a BW
  std::vector<bool> whole_;      ///< by action of the file
};

[[noreturn]] void refuse_to_write(const Schedule& schedule, const std::string& what) {
  throw Error("schedule '" + schedule.name + "' cannot be written as PyTorch CSV: " + what);
}

/// False for a pair that is not a forward, then a backward.
bool is_torch_pair(const std::vector<Action>& actions, std::size_t at) {
  if (!actions[at].overlaps_next || at + 1 == actions.size()) return true;
  return actions[at].op == Op::kF && is_backward(actions[at + 1].op);
}

/// One line per device with the actions that are `wanted`. Updates, transfers and collectives may be left out; other
/// work may not.
template <class Wanted>
std::string written(const Schedule& schedule, Wanted wanted) {
  check_torch_writable(schedule);
  const auto refuse = [&](const std::string& what) { refuse_to_write(schedule, what); };
  std::string text;
  for (const DeviceList& list : schedule.devices) {
    std::vector<Action> actions;
    walk(list, [&](const Action& action) {
      if (!wanted(action)) return;
      if (action.where != Action::kNowhere) refuse("its transfers name no device, found " + to_string(action));
      actions.push_back(action);
    });
    if (actions.empty()) refuse("a device computes nothing");
    for (std::size_t at = 0; at < actions.size();) {
      if (!is_torch_pair(actions, at)) {
        refuse("PyTorch overlaps only a forward with a backward after it, found (" + to_string(actions[at]) + ";" +
               to_string(actions[at + 1]) + ")");
      }
      if (at > 0) text += ',';
      at = append_item(text, actions, at);
    }
    text += "\r\n";
  }
  return text;
}

/// What is not in the lists, and cannot be said to PyTorch's runtime.
void check_beside_lists(const Schedule& schedule) {
  const auto refuse = [&](const std::string& what) { refuse_to_write(schedule, what); };
  if (schedule.forward_only) refuse("its mode is forward; expected training");
  if (schedule.placement.size() != 1) refuse("it has several replicas; expected one");
  for (const auto& devices : schedule.placement[0]) {
    if (devices.size() != 1) refuse("a stage has several devices; expected one");
  }
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    if (schedule.is_synchronous(StageId{stage})) continue;
    refuse("it is asynchronous; expected that all passes of a step read the same weights");
  }
  if (schedule.per_update(StageId{0}) != schedule.num_microbatches) {
    refuse("it has " + std::to_string(schedule.num_microbatches / schedule.per_update(StageId{0})) +
           " updates; expected one");
  }
  if (schedule.slices) refuse("it has slices; expected whole microbatches");
  if (!schedule.microbatch_sizes.empty()) refuse("it has microbatches of several sizes; expected one size");
  if (!is_chain(schedule)) refuse("it has stages that are not a chain; expected that each feeds the next only");
  if (!schedule.extra_edges.empty()) refuse("it has waits between actions beside those for data; expected none");
  if (!schedule.start_together.empty()) refuse("it has passes of several devices that start together; expected none");
  if (schedule.policy) refuse("it has a run-time policy; expected lists in a fixed order");
  if (!schedule.recompute.empty()) {
    refuse("it has recomputation, which PyTorch leaves to the modules (torch.utils.checkpoint); expected none");
  }
}

/// What an action that PyTorch has not does.
std::string_view work_of(const Action& action) {
  if (action.merged > 0) return "one action for several microbatches";
  switch (action.op) {
    case Op::kR:
    case Op::kSendR:
    case Op::kRecvR:
      return "recomputation";
    case Op::kV:
      return "post-validation of updates";
    case Op::kX:
      return "work besides forwards and backwards";
    case Op::kSyncWeights:
      return "copies of weights that are synchronized";
    case Op::kEvict:
    case Op::kLoad:
      return "copies to and from another memory";
    default:
      return "another kind of action";
  }
}

}  // namespace

void check_torch_writable(const Schedule& schedule) {
  check_beside_lists(schedule);
  for (const DeviceList& list : schedule.devices) {
    for (const Action& action : list.actions) {
      const bool known = in_torch(action.op) || action.op == Op::kU;
      if (known && action.merged == 0) continue;
      refuse_to_write(schedule, "it has " + std::string(work_of(action)) + " (" + to_string(action) +
                                    "), for which PyTorch has no action");
    }
  }
}

std::string schedule_to_torch_csv(const Schedule& schedule) {
  return written(schedule, [](const Action& action) { return action.op <= Op::kW; });
}

std::string schedule_to_torch_comms_csv(const Schedule& schedule) {
  return written(schedule, [](const Action& action) { return in_torch(action.op); });
}

std::vector<std::vector<std::size_t>> torch_csv_cells(std::string_view text) {
  std::vector<std::vector<std::size_t>> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    auto& cells = lines.emplace_back();
    for (std::size_t number = 1;; ++number) {
      const std::size_t comma = line.find(',');
      const std::string_view cell = line.substr(0, comma);
      const bool empty = cell.find_first_not_of(" \t\r\"") == std::string_view::npos;
      const bool pair = cell.find('(') != std::string_view::npos;
      cells.insert(cells.end(), empty ? 0 : pair ? 2 : 1, number);
      if (comma == std::string_view::npos) break;
      line.remove_prefix(comma + 1);
    }
  }
  return lines;
}

Schedule schedule_from_torch_csv(std::string_view text, std::string_view file_name) {
  return CsvReader(text, file_name).read();
}

}  // namespace plumb
