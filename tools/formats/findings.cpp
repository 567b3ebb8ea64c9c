#include "tools/formats/findings.hpp"

#include <algorithm>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/checks/check_runs.hpp"
#include "schedules/checks/validation_size.hpp"
#include "schedules/document/schedule_io.hpp"
#include "sim/passes/fold.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

/// Longer documents are checked with fewer iterations of their repeats.
constexpr std::int64_t kMostChecked = std::int64_t{1} << 26U;
/// So are these, where the whole program would have to be written out; their lists are looked at in full.
constexpr std::int64_t kMostWritten = std::int64_t{1} << 22U;

/// Where violations stand: in a PyTorch CSV its line and cell, otherwise device and position.
class Places {
 public:
  explicit Places(const std::string& where) : where_(printable(where)) {
    const bool is_csv = where.ends_with(".csv") && file_exists(where);
    if (is_csv) cells_ = torch_csv_cells(read_text_file(where, kScheduleFile));
  }

  std::string line(const Violation& violation) const {
    const std::size_t device = index(violation.device);
    if (device >= cells_.size() || violation.action.empty()) return where_ + ": " + to_string(violation);
    const auto& cells = cells_[device];
    const std::string cell =
        violation.position < cells.size() ? "cell " + std::to_string(cells[violation.position]) : "end";
    return where_ + ":" + std::to_string(device + 1) + ": " + cell + ": " + violation.action + ": " + violation.reason;
  }

 private:
  std::string where_;
  std::vector<std::vector<std::size_t>> cells_;  ///< by line; empty when it is no CSV
};

/// Writing takes what the format takes for each action. JSON keeps repeats.
void check_written_size(const std::string& where, const ScheduleFormat& format, const Schedule& schedule) {
  if (format.bytes_each == 0) return;
  const std::int64_t actions = action_count(schedule);
  const WorkSize size = work_size(static_cast<double>(actions), format.bytes_each, format.seconds_each);
  check_work_size(printable(where) + ": " + std::to_string(actions) + " actions to write as " +
                      std::string(format.name) + ", which has no repeats",
                  size);
  note_long_work("writing", size);
}

}  // namespace

std::vector<Violation> check_schedule(const Schedule& schedule) {
  std::int64_t left = kMostChecked;  // subtracting cannot overflow, adding up sizes could
  for (const DeviceList& list : schedule.devices) left -= std::min(left, expanded_size(list));
  const std::int64_t kept = std::max<std::int64_t>(256, 8 * std::int64_t{schedule.num_devices});
  const auto folded = kMostChecked - left > kMostWritten ? fold(schedule, kept, 1) : std::nullopt;
  if (!folded) {
    check_validation_size(schedule);
    note_long_work("checking", validation_size(schedule));
    return validate(schedule);
  }
  if (left == 0) return validate(folded->schedule);
  std::vector<Violation> found = check_document(schedule);
  if (!found.empty()) return found;
  found = check_runs(folded->schedule);
  for (Violation& one : found) one.reason += " (found with fewer iterations of the repeats)";
  return found;
}

std::string findings_text(const std::string& where, const std::vector<Violation>& violations) {
  constexpr std::size_t kMostShown = 100;
  const Places places(where);
  std::string text = printable(where) + ": invalid, " + std::to_string(violations.size()) +
                     (violations.size() == 1 ? " finding\n" : " findings\n");
  for (std::size_t i = 0; i < violations.size() && i < kMostShown; ++i) text += places.line(violations[i]) + '\n';
  if (violations.size() > kMostShown) text += "... and " + std::to_string(violations.size() - kMostShown) + " more\n";
  return text;
}

void note_findings(const std::string& where, const std::vector<Violation>& violations) {
  std::string text = findings_text(where, violations);
  text.pop_back();
  note(text);
}

std::optional<std::string> written_schedule(const std::string& where, const ScheduleFormat& format, Schedule schedule) {
  check_written_size(where, format, schedule);
  if (const auto violations = check_schedule(schedule); !violations.empty()) {
    note_findings(where, violations);
    return std::nullopt;
  }
  if (schedule.policy && format.name != "json") {
    throw Error(where + ": has a run-time policy instead of lists, which cannot be written as " +
                std::string(format.name) +
                "; expected json, or the lists of one run, which simulate --save-order writes");
  }
  if (format.lower != nullptr) {
    schedule = format.lower(schedule);
    if (const auto violations = validate(schedule); !violations.empty()) {
      note_findings(where + " as " + std::string(format.name), violations);
      return std::nullopt;
    }
  }
  return format.write(schedule);
}

}  // namespace plumb
