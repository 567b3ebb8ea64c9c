#include "schedules/formats/zero_bubble_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/mistakes.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "schedules/checks/validate.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kTableStages = std::int64_t{1} << 20;
constexpr std::size_t kTableRanks = 65536;
constexpr std::int64_t kTableMicrobatch = (std::int64_t{1} << 31) - 2;

/// A cell of the table: (type, microbatch, chunk).
struct TableCell {
  Op op{};
  std::int32_t microbatch = 0;
  std::int32_t chunk = 0;
};

/// Letters of the zero-bubble fork, and what they are here.
constexpr std::array<std::pair<std::string_view, Op>, 4> kTableTypes{
    {{"F", Op::kF}, {"B", Op::kI}, {"W", Op::kW}, {"BW", Op::kB}}};

/// Reads the literals of the Python module, nothing else of the language.
class TableReader {
 public:
  TableReader(std::string_view text, std::string_view file_name) : text_(text), file_name_(file_name) {}

  Schedule read() {
    while (skip_blanks()) read_assignment();
    mistakes_.finish();
    if (rows_.empty()) throw Error(file_name_ + ": expected SCHEDULE = [...] with one list per rank");
    return placed();
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(file_name_ + ":" + std::to_string(line_) + ": " + what);
  }
  [[noreturn]] void fail_cell(const std::string& what) const {
    fail("rank " + std::to_string(rows_.size() - 1) + ", cell " + std::to_string(rows_.back().size() + 1) + ": " +
         what);
  }

  /// False at the end of the text.
  bool skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) return true;
      if (c == '\n') ++line_;
      ++at_;
    }
    return false;
  }

  bool accept(char c) {
    if (!skip_blanks() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c, const char* of) {
    if (!accept(c)) fail("expected '" + std::string(1, c) + "' of " + of);
  }

  /// `[item, item, ...]`; a comma may come after the last one.
  template <class Item>
  void read_list(const char* of, Item item) {
    expect('[', of);
    while (!accept(']')) {
      item();
      if (accept(',')) continue;
      expect(']', of);
      return;
    }
  }

  std::string_view word() {
    const std::size_t begin = at_;
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    while (at_ < text_.size() && is_letter(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  std::int64_t number(std::int64_t most, const std::string& what) {
    skip_blanks();
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc{} || value < 0 || value > most) {
      fail("expected " + what + ", a number from 0 to " + std::to_string(most));
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    return value;
  }

  void read_assignment() {
    const std::string_view name = word();
    const bool table = name == "SCHEDULE" && rows_.empty();
    if (!table && (name != "STAGES" || !stages_.empty())) {
      fail("expected SCHEDULE = [...] or STAGES = [...], each once");
    }
    expect('=', table ? "SCHEDULE" : "STAGES");
    if (table) {
      read_list("the table", [&] { read_rank(); });
    } else {
      read_list("the stages", [&] {
        stages_.emplace_back();
        read_list("the stages of a rank", [&] { stages_.back().push_back(number(kTableStages - 1, "a stage")); });
      });
    }
  }

  void read_rank() {
    if (rows_.size() == kTableRanks) fail("expected at most " + std::to_string(kTableRanks) + " ranks");
    rows_.emplace_back();
    read_list("a rank", [&] { rows_.back().push_back(cell_or_mistake()); });
    if (rows_.back().empty()) fail("rank " + std::to_string(rows_.size() - 1) + " does nothing; expected its actions");
  }

  /// After a mistake the text goes on behind the cell.
  TableCell cell_or_mistake() {
    TableCell cell;
    if (mistakes_.keep([&] { cell = read_cell(); })) return cell;
    const std::size_t close = text_.find(')', at_);
    if (close == std::string_view::npos) mistakes_.finish();
    line_ += static_cast<std::size_t>(std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 text_.begin() + static_cast<std::ptrdiff_t>(close), '\n'));
    at_ = close + 1;
    return {};
  }

  TableCell read_cell() {
    constexpr const char* kExpected = "expected (type, microbatch, chunk), such as (\"F\", 0, 0)";
    if (!accept('(')) fail_cell(kExpected);
    skip_blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '"' && quote != '\'') fail_cell(kExpected);
    ++at_;
    const std::string_view letters = word();
    const auto type = std::ranges::find(kTableTypes, letters, &std::pair<std::string_view, Op>::first);
    if (type == kTableTypes.end() || at_ == text_.size() || text_[at_] != quote) {
      fail_cell("expected the type F, B, W or BW");
    }
    ++at_;
    TableCell cell{.op = type->second};
    if (!accept(',')) fail_cell(kExpected);
    cell.microbatch = static_cast<std::int32_t>(number(kTableMicrobatch, "a microbatch"));
    if (!accept(',')) fail_cell(kExpected);
    cell.chunk = static_cast<std::int32_t>(number(kTableStages - 1, "a chunk"));
    if (!accept(')')) fail_cell(kExpected);
    return cell;
  }

  /// Chunks of a rank: every rank must name all of them, so that a table is as large as what it stands for.
  std::int32_t chunks() const {
    std::vector<std::set<std::int32_t>> named;
    std::int32_t most = 0;
    for (const auto& row : rows_) {
      auto& here = named.emplace_back();
      for (const TableCell& cell : row) here.insert(cell.chunk);
      most = std::max(most, *here.rbegin());
    }
    for (std::size_t rank = 0; rank < named.size(); ++rank) {
      if (std::ssize(named[rank]) == most + 1) continue;
      throw Error(file_name_ + ": rank " + std::to_string(rank) + " names " + std::to_string(named[rank].size()) +
                  " chunks; expected all of 0 to " + std::to_string(most));
    }
    return most + 1;
  }

  Schedule placed() {
    const auto ranks = static_cast<std::int32_t>(rows_.size());
    const std::int32_t chunks = this->chunks();
    if (std::int64_t{chunks} * ranks > kTableStages) {
      throw Error(file_name_ + ": " + std::to_string(chunks) + " chunks on " + std::to_string(ranks) +
                  " ranks; expected at most " + std::to_string(kTableStages) + " stages");
    }
    if (!stages_.empty()) return by_stages(ranks, chunks);
    const auto straight = [&](std::int32_t chunk, std::int32_t rank) { return StageId{chunk * ranks + rank}; };
    Schedule loop = with_stages(chunks, straight);
    if (chunks == 1 || ranks == 1) return loop;
    Schedule vee =
        with_stages(chunks, [&](std::int32_t chunk, std::int32_t rank) { return v_stage(ranks, chunk, rank); });
    const bool loop_runs = validate(loop).empty();
    const bool vee_runs = validate(vee).empty();
    if (loop_runs && vee_runs) {
      throw Error(file_name_ +
                  ": chunks may go round the ranks or down and up; expected the stages of every rank's chunks too, "
                  "STAGES = [[0, ...], ...]");
    }
    return vee_runs ? vee : loop;
  }

  Schedule by_stages(std::int32_t ranks, std::int32_t chunks) {
    std::set<std::int64_t> named;
    for (const auto& row : stages_) {
      if (std::ssize(row) == chunks) named.insert(row.begin(), row.end());
    }
    const auto all = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(chunks);
    if (stages_.size() != rows_.size() || named.size() != all || *named.rbegin() + 1 != std::int64_t{chunks} * ranks) {
      throw Error(file_name_ + ": STAGES: expected " + std::to_string(chunks) + " for each of " +
                  std::to_string(ranks) + " ranks, all from 0 to " + std::to_string(all - 1) + " once");
    }
    return with_stages(chunks, [&](std::int32_t chunk, std::int32_t rank) {
      const auto& row = stages_[static_cast<std::size_t>(rank)];
      return StageId{static_cast<std::int32_t>(row[static_cast<std::size_t>(chunk)])};
    });
  }

  template <class StageOf>
  Schedule with_stages(std::int32_t chunks, StageOf stage_of) const {
    Schedule schedule;
    schedule.name = std::filesystem::path(file_name_).stem().string();
    schedule.num_devices = static_cast<std::int32_t>(rows_.size());
    schedule.num_stages = chunks * schedule.num_devices;
    schedule.placement.resize(1);
    schedule.placement[0].resize(static_cast<std::size_t>(schedule.num_stages));
    std::int64_t microbatches = 0;
    for (std::int32_t rank = 0; rank < schedule.num_devices; ++rank) {
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
        schedule.placement[0][index(stage_of(chunk, rank))] = {DeviceId{rank}};
      }
      DeviceList& list = schedule.devices.emplace_back();
      for (const TableCell& cell : rows_[static_cast<std::size_t>(rank)]) {
        Action action;
        action.stage = stage_of(cell.chunk, rank);
        action.op = cell.op;
        action.microbatch = MicrobatchId{cell.microbatch};
        list.actions.push_back(action);
        microbatches = std::max(microbatches, std::int64_t{cell.microbatch} + 1);
      }
    }
    schedule.num_microbatches = microbatches;
    schedule.microbatches_per_update = {microbatches};
    schedule.parameters = {{"p", std::int64_t{schedule.num_devices}}, {"m", microbatches}};
    if (chunks > 1) schedule.parameters["v"] = std::int64_t{chunks};
    return schedule;
  }

  std::string_view text_;
  std::string file_name_;
  std::size_t at_ = 0;
  Mistakes mistakes_;
  std::size_t line_ = 1;
  std::vector<std::vector<TableCell>> rows_;       ///< by rank
  std::vector<std::vector<std::int64_t>> stages_;  ///< by rank and chunk; empty: not given
};

}  // namespace

Schedule schedule_from_zero_bubble_table(std::string_view text, std::string_view file_name) {
  return TableReader(text, file_name).read();
}

}  // namespace plumb
