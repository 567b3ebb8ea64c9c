#include "tools/tables/text_timeline.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::string_view kPlain = "\033[0m";

std::string_view colour_of(Op op) {
  switch (op) {
    case Op::kF:
      return "\033[30;46m";
    case Op::kB:
      return "\033[30;42m";
    case Op::kI:
      return "\033[30;42m";
    case Op::kW:
      return "\033[30;43m";
    case Op::kR:
      return "\033[30;47m";
    case Op::kU:
      return "\033[30;45m";
    default:
      return "\033[30;100m";
  }
}

/// One row of characters with the op that each belongs to; kNone is idle.
class CharacterRow {
 public:
  explicit CharacterRow(std::size_t width) : text_(width, ' '), ops_(width, kNone) {}

  void fill(std::size_t begin, std::string_view text, Op op) {
    for (std::size_t i = 0; i < text.size() && begin + i < text_.size(); ++i) {
      text_[begin + i] = text[i];
      ops_[begin + i] = static_cast<int>(op);
    }
  }

  std::string to_string(bool colour) const {
    if (!colour) return text_;
    std::string out;
    int current = kNone;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      if (ops_[i] != current) {
        out += ops_[i] == kNone ? kPlain : colour_of(static_cast<Op>(ops_[i]));
        current = ops_[i];
      }
      out += text_[i];
    }
    if (current != kNone) out += kPlain;
    return out;
  }

 private:
  static constexpr int kNone = -1;

  std::string text_;
  std::vector<int> ops_;
};

/// Compute spans that take time, by device.
std::vector<std::vector<Span>> compute_spans(const Timeline& timeline) {
  std::vector<std::vector<Span>> by_device(timeline.devices.size());
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute && span.end > span.start) by_device[index(span.device)].push_back(span);
  }
  return by_device;
}

std::string label(const Action& action, bool with_stage) {
  std::string text = with_stage ? std::to_string(index(action.stage)) : "";
  text += kOpNames[static_cast<std::size_t>(action.op)];
  if (!is_collective(action.op)) text += std::to_string(static_cast<std::int32_t>(action.microbatch));
  if (action.slice != Action::kAllSlices) text += "." + std::to_string(action.slice);
  return text;
}

bool holds_several_stages(const std::vector<std::vector<Span>>& devices) {
  return std::any_of(devices.begin(), devices.end(), [](const std::vector<Span>& spans) {
    return std::any_of(spans.begin(), spans.end(), [&](const Span& span) {
      return span.action.stage != spans.front().action.stage || span.action.replica != spans.front().action.replica;
    });
  });
}

struct Grid {
  Ticks step = 0;
  std::size_t cell = 0;  ///< characters per step, the gap included
};

Grid find_grid(const std::vector<std::vector<Span>>& devices, bool with_stage) {
  Grid grid;
  for (const auto& spans : devices) {
    for (const Span& span : spans) {
      grid.step = std::gcd(grid.step, std::gcd(span.start, span.end));
      grid.cell = std::max(grid.cell, label(span.action, with_stage).size() + 1);
    }
  }
  return grid;
}

bool fits_in_cells(const Timeline& timeline, const Grid& grid, std::size_t columns) {
  return grid.step > 0 && static_cast<std::size_t>(timeline.makespan / grid.step) <= columns / grid.cell;
}

CharacterRow draw_cells(std::span<const Span> spans, const Grid& grid, std::size_t width, bool with_stage) {
  CharacterRow row(width);
  Ticks previous = -1;
  for (const Span& span : spans) {
    auto begin = static_cast<std::size_t>(span.start / grid.step) * grid.cell;
    const auto end = static_cast<std::size_t>(span.end / grid.step) * grid.cell;
    if (span.start == previous && begin + grid.cell < end) begin += grid.cell;
    previous = span.start;
    row.fill(begin, label(span.action, with_stage), span.action.op);
    for (std::size_t at = begin + grid.cell; at < end; at += grid.cell) {
      row.fill(at, std::string(grid.cell - 1, '='), span.action.op);
    }
  }
  return row;
}

CharacterRow draw_shares(std::span<const Span> spans, Ticks makespan, std::size_t width) {
  CharacterRow row(width);
  const double column = static_cast<double>(makespan) / static_cast<double>(width);
  std::size_t next = 0;
  for (std::size_t i = 0; i < width; ++i) {
    const double from = column * static_cast<double>(i);
    const double to = from + column;
    while (next < spans.size() && static_cast<double>(spans[next].end) <= from) ++next;
    double most = 0;
    double all = 0;
    Op op{};
    for (std::size_t s = next; s < spans.size() && static_cast<double>(spans[s].start) < to; ++s) {
      const double share =
          std::min(to, static_cast<double>(spans[s].end)) - std::max(from, static_cast<double>(spans[s].start));
      all += share;
      if (share > most) op = spans[s].action.op;
      most = std::max(most, share);
    }
    if (all * 2 >= column) row.fill(i, kOpNames[static_cast<std::size_t>(op)].substr(0, 1), op);
  }
  return row;
}

/// "0" at the left, the makespan at the right, below the rows.
std::string axis(std::size_t margin, std::size_t width, const Timeline& timeline) {
  const std::string end = time_text(to_ns(timeline.makespan, timeline.base));
  const std::size_t used = display_width(end) + 1;
  return std::string(margin, ' ') + "0" + std::string(width > used ? width - used : 1, ' ') + end + '\n';
}

std::string device_name(std::size_t device, std::size_t digits) {
  const std::string number = std::to_string(device);
  return "d" + number + std::string(digits - number.size(), ' ') + " | ";
}

}  // namespace

bool is_drawn_in_cells(const Timeline& timeline, int columns) {
  const auto devices = compute_spans(timeline);
  const Grid grid = find_grid(devices, holds_several_stages(devices));
  const std::size_t digits = std::to_string(devices.size() - 1).size();
  return fits_in_cells(timeline, grid, static_cast<std::size_t>(columns) - device_name(0, digits).size() - 2);
}

std::string text_timeline(const Timeline& timeline, const TextTimelineOptions& options) {
  const auto devices = compute_spans(timeline);
  if (devices.empty() || timeline.makespan <= 0) return "";
  const std::size_t drawn = std::min(devices.size(), static_cast<std::size_t>(options.most_devices));
  const std::size_t digits = std::to_string(drawn - 1).size();
  const std::size_t margin = device_name(0, digits).size();
  const std::size_t available = static_cast<std::size_t>(options.columns) - margin - 2;
  const bool with_stage = holds_several_stages(devices);
  const Grid grid = find_grid(devices, with_stage);
  const bool fits = fits_in_cells(timeline, grid, available);
  const std::size_t width = fits ? static_cast<std::size_t>(timeline.makespan / grid.step) * grid.cell : available;
  std::string text;
  for (std::size_t d = 0; d < drawn; ++d) {
    const CharacterRow row =
        fits ? draw_cells(devices[d], grid, width, with_stage) : draw_shares(devices[d], timeline.makespan, width);
    text += device_name(d, digits) + row.to_string(options.colour) + (fits ? "|\n" : " |\n");
  }
  if (drawn < devices.size()) text += "... and " + std::to_string(devices.size() - drawn) + " more devices\n";
  return text + axis(margin, width, timeline);
}

}  // namespace plumb
