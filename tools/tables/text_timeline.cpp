#include "tools/tables/text_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "schedules/document/schedule_io.hpp"
#include "tools/tables/character_row.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::size_t kMostBandRows = 24;  ///< of a drawing in several bands

/// An action, or two at once, as it is drawn.
struct Box {
  Ticks start = 0;
  Ticks end = 0;
  std::string label;
  Op op = Op::kF;
};

/// Whether some device holds another stage than that of its own number, so that labels must name it.
bool names_stages(const Timeline& timeline) {
  return std::ranges::any_of(timeline.spans, [](const Span& span) {
    return span.lane == Lane::kCompute &&
           (index(span.action.stage) != index(span.device) || span.action.replica != ReplicaId{});
  });
}

std::string label_of(const Action& action, bool with_stage) {
  std::string text = to_string(action);
  return with_stage ? text : text.substr(text.find_first_not_of("0123456789"));
}

/// Compute spans that take time, by device; an overlapped pair is one box.
std::vector<std::vector<Box>> boxes_of(const Timeline& timeline, std::size_t drawn) {
  const bool with_stage = names_stages(timeline);
  std::vector<std::vector<Box>> devices(drawn);
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kCompute || span.end <= span.start || index(span.device) >= drawn) continue;
    std::vector<Box>& boxes = devices[index(span.device)];
    const std::string label = label_of(span.action, with_stage);
    if (!boxes.empty() && boxes.back().start == span.start) {
      boxes.back().label += "&" + label;
      boxes.back().end = std::max(boxes.back().end, span.end);
    } else {
      boxes.push_back({span.start, span.end, label, span.action.op});
    }
  }
  return devices;
}

/// Where every moment is drawn.
struct TimeColumns {
  std::vector<Ticks> times;          ///< at which something begins or ends
  std::vector<std::size_t> columns;  ///< of each of them
  std::size_t cell = 0;              ///< characters per cell, the gap included; 0: boxes have no cells

  std::size_t column(Ticks time) const {
    return columns[static_cast<std::size_t>(std::ranges::lower_bound(times, time) - times.begin())];
  }
};

std::vector<Ticks> moments_of(const std::vector<std::vector<Box>>& devices, Ticks makespan) {
  std::vector<Ticks> times{0, makespan};
  for (const auto& boxes : devices) {
    for (const Box& box : boxes) times.insert(times.end(), {box.start, box.end});
  }
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  return times;
}

/// Cells as long as the common step of all moments, wide enough for every label.
TimeColumns cell_columns(const std::vector<std::vector<Box>>& devices, const std::vector<Ticks>& times) {
  Ticks step = 0;
  for (const Ticks time : times) step = std::gcd(step, time);
  TimeColumns scale{.times = times, .columns = {}, .cell = 1};
  for (const auto& boxes : devices) {
    for (const Box& box : boxes) {
      const bool pair = box.label.find('&') != std::string::npos;  // its second label is in the second cell
      const std::size_t cells = pair && box.end - box.start > step ? 2 : 1;
      scale.cell = std::max(scale.cell, (box.label.size() + cells) / cells);
    }
  }
  for (const Ticks time : times) scale.columns.push_back(static_cast<std::size_t>(time / step) * scale.cell);
  return scale;
}

/// Columns in proportion to time, so that the shortest box has room for the longest label; boxes that take less than a
/// quarter of the longest one are stretched instead.
TimeColumns stretched_columns(const std::vector<std::vector<Box>>& devices, const std::vector<Ticks>& times) {
  Ticks longest = 0;
  std::size_t widest = 0;
  std::vector<std::pair<Ticks, const Box*>> by_end;
  for (const auto& boxes : devices) {
    for (const Box& box : boxes) {
      longest = std::max(longest, box.end - box.start);
      widest = std::max(widest, box.label.size() + 1);
      by_end.emplace_back(box.end, &box);
    }
  }
  Ticks shortest = longest;
  for (const auto& [end, box] : by_end) {
    if ((box->end - box->start) * 4 >= longest) shortest = std::min(shortest, box->end - box->start);
  }
  std::ranges::stable_sort(by_end, {}, [](const auto& each) { return each.first; });
  const double per_tick = static_cast<double>(widest) / static_cast<double>(std::max<Ticks>(1, shortest));
  TimeColumns scale{.times = times, .columns = {}, .cell = 0};
  double place = 0;
  auto next = by_end.begin();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i > 0) place += static_cast<double>(times[i] - times[i - 1]) * per_tick;
    auto column = static_cast<std::size_t>(std::llround(place));
    for (; next != by_end.end() && next->first == times[i]; ++next) {
      const auto begin = std::ranges::lower_bound(times, next->second->start) - times.begin();
      column = std::max(column, scale.columns[static_cast<std::size_t>(begin)] + next->second->label.size() + 1);
    }
    place = std::max(place, static_cast<double>(column));
    scale.columns.push_back(column);
  }
  return scale;
}

/// The label, and `=` for as long as the box lasts but for a gap at its end; in cells, with a gap after each of them.
std::string box_text(const Box& box, const TimeColumns& scale) {
  const std::size_t width = scale.column(box.end) - scale.column(box.start);
  std::string text = box.label;
  while (scale.cell > 0 && text.size() % scale.cell != 0) text += ' ';
  while (text.size() < width) text += scale.cell > 0 && text.size() % scale.cell == scale.cell - 1 ? ' ' : '=';
  text[width - 1] = ' ';
  return text;
}

CharacterRow draw_row(std::span<const Box> boxes, const TimeColumns& scale, std::size_t width) {
  CharacterRow row(width);
  for (const Box& box : boxes) {
    const std::size_t begin = scale.column(box.start);
    if (begin + box.label.size() > width) break;
    row.write(begin, box_text(box, scale), box.op);
  }
  return row;
}

/// The scale of a drawing in `columns` characters: cells where all of them fit, or where they are as short as the
/// boxes; otherwise no cells.
TimeColumns time_columns_of(const std::vector<std::vector<Box>>& devices, Ticks makespan, std::size_t columns) {
  const std::vector<Ticks> times = moments_of(devices, makespan);
  TimeColumns cells = cell_columns(devices, times);
  const TimeColumns stretched = stretched_columns(devices, times);
  const bool as_short = cells.columns.back() <= stretched.columns.back() + stretched.columns.back() / 4;
  return cells.columns.back() <= columns || as_short ? cells : stretched;
}

/// What of a drawing stands in the same rows: moments and their columns.
struct Band {
  std::size_t first = 0;  ///< index of the moment at the left
  std::size_t last = 0;   ///< of that at the right
};

/// The drawing in bands of at most `width` columns. They end where something begins or ends, not within a label. One
/// band where more rows than `most_rows` would be drawn, or a box is wider than a band.
std::vector<Band> bands_of(const std::vector<std::vector<Box>>& devices, const TimeColumns& scale, std::size_t width,
                           std::size_t most_rows) {
  const std::size_t end = scale.times.size() - 1;
  std::vector<bool> in_label(end + 1);
  for (const auto& boxes : devices) {
    for (const Box& box : boxes) {
      const std::size_t begin = scale.column(box.start);
      for (auto at = std::ranges::upper_bound(scale.times, box.start) - scale.times.begin();
           static_cast<std::size_t>(at) < end && scale.columns[static_cast<std::size_t>(at)] < begin + box.label.size();
           ++at) {
        in_label[static_cast<std::size_t>(at)] = true;
      }
    }
  }
  std::vector<Band> bands;
  for (std::size_t first = 0; first < end;) {
    std::size_t last = first;
    for (std::size_t at = first + 1; at <= end && scale.columns[at] <= scale.columns[first] + width; ++at) {
      if (!in_label[at]) last = at;
    }
    bands.push_back({first, last});
    if (last == first || bands.size() * devices.size() > most_rows) return {{0, end}};
    first = last;
  }
  return bands;
}

/// The time at the left and that at the right, below the rows; where they were cut, what would show the rest.
std::string axis(const std::string& margin, const Timeline& timeline, const TimeColumns& scale, const Band& band,
                 const TextTimelineOptions& options) {
  const auto text_of = [&](std::size_t moment) {
    return time_text(to_ns(scale.times[moment], timeline.base), options.times);
  };
  const std::string begin = band.first == 0 ? "0" : text_of(band.first);
  const std::string end = text_of(band.last);
  const std::size_t needed = scale.columns[band.last] - scale.columns[band.first];
  const std::size_t width = static_cast<std::size_t>(options.columns) - margin.size() - 2;
  if (needed <= width) {
    const std::size_t used = display_width(end) + display_width(begin);
    return margin + begin + std::string(needed > used ? needed - used : 1, ' ') + end + '\n';
  }
  std::size_t last = 0;
  while (scale.columns[last + 1] < width) ++last;
  return margin + "0" + std::string(4, ' ') + "cut at " + text_of(last) + " of " + end + "; all of it takes " +
         std::to_string(margin.size() + needed + 2) + " columns\n";
}

std::string device_name(std::size_t device, std::size_t digits) {
  const std::string number = std::to_string(device);
  return "d" + number + std::string(digits - number.size(), ' ') + " | ";
}

}  // namespace

bool is_drawn_in_cells(const Timeline& timeline, int columns) {
  const auto devices = boxes_of(timeline, timeline.devices.size());
  const TimeColumns cells = cell_columns(devices, moments_of(devices, timeline.makespan));
  const std::size_t digits = std::to_string(devices.size() - 1).size();
  return cells.columns.back() + device_name(0, digits).size() + 2 <= static_cast<std::size_t>(columns);
}

std::string text_timeline(const Timeline& timeline, const TextTimelineOptions& options) {
  if (timeline.devices.empty() || timeline.makespan <= 0) return "";
  const std::size_t drawn = std::min(timeline.devices.size(), static_cast<std::size_t>(options.most_devices));
  const auto devices = boxes_of(timeline, drawn);
  const std::size_t digits = std::to_string(drawn - 1).size();
  const std::string margin(device_name(0, digits).size(), ' ');
  const std::size_t available = static_cast<std::size_t>(options.columns) - margin.size() - 2;
  const TimeColumns scale = time_columns_of(devices, timeline.makespan, available);
  std::string text;
  for (const Band& band : bands_of(devices, scale, available, kMostBandRows)) {
    const std::size_t begin = scale.columns[band.first];
    const bool cut = scale.columns[band.last] - begin > available;
    const std::size_t end = cut ? begin + available - 1 : scale.columns[band.last];
    if (!text.empty()) text += "\n";
    for (std::size_t d = 0; d < drawn; ++d) {
      std::string row = device_name(d, digits) + draw_row(devices[d], scale, end).to_string(options.colour, begin, end);
      const bool whole = band.last + 1 == scale.times.size();
      if (!whole) row.erase(row.find_last_not_of(' ') + 1);
      text += row + (cut ? "...\n" : whole ? "|\n" : "\n");
    }
    if (drawn < timeline.devices.size()) {
      text += "... and " + std::to_string(timeline.devices.size() - drawn) + " more devices\n";
    }
    text += axis(margin, timeline, scale, band, options);
  }
  return text;
}

}  // namespace plumb
