#include "tools/studies/public/public_memory.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tools/studies/public/markdown_text.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr std::size_t kWorstMemoryRows = 8;

double memory_error(const MeasuredMemory& memory, std::size_t k) {
  return memory.predicted_gib[k] / memory.jobs[k].row.memory_gib - 1;
}

std::string reserved_range(const MemoryScore& score) {
  if (score.reserved_rows == 0) return "-";
  return signed_percent(score.least_reserved) + " to " + signed_percent(score.most_reserved);
}

std::vector<std::string> memory_cells(const MeasuredMemory& memory, const MemoryScore& score) {
  const std::size_t worst = score.jobs[score.allocated.worst];
  return {score.name,
          std::to_string(score.allocated.rows),
          fixed_text(100 * score.allocated.mape, 1) + " %",
          fixed_text(100 * std::abs(memory_error(memory, worst)), 1) + " %",
          signed_percent(score.allocated.bias),
          reserved_range(score),
          memory.jobs[worst].row.id};
}

std::string memory_table(const MeasuredMemory& memory, const std::string& title, bool by_schedule) {
  std::string text =
      markdown_row({title, "rows", "mean error", "largest", "bias", "held above allocated", "worst row"});
  text += "|---|---:|---:|---:|---:|---:|---|\n";
  for (const MemoryScore& score : memory_scores(memory, by_schedule)) text += markdown_row(memory_cells(memory, score));
  return text + "\n";
}

}  // namespace

std::string memory_text(const MeasuredMemory& memory) {
  TextTable table({{"memory"},
                   {"rows", '>'},
                   {"mean error", '>'},
                   {"largest", '>'},
                   {"bias", '>'},
                   {"held above allocated", '>'},
                   {"worst row"}});
  for (const MemoryScore& score : memory_scores(memory)) table.add_row(memory_cells(memory, score));
  return table.to_string();
}

std::string memory_markdown(const MeasuredMemory& memory) {
  std::vector<std::size_t> order(memory.jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::abs(memory_error(memory, a)) > std::abs(memory_error(memory, b));
  });
  order.resize(std::min(order.size(), kWorstMemoryRows));
  std::string text =
      memory_table(memory, "memory: data set", false) + memory_table(memory, "memory: by schedule", true);
  text += "| memory: worst rows | measured | predicted | error |\n|---|---:|---:|---:|\n";
  for (const std::size_t k : order) {
    const MeasuredStep& row = memory.jobs[k].row;
    text += markdown_row({row.id, fixed_text(row.memory_gib, 2) + " GiB",
                          fixed_text(memory.predicted_gib[k], 2) + " GiB", signed_percent(memory_error(memory, k))});
  }
  return text + "\n";
}

std::string memory_csv(const MeasuredMemory& memory) {
  std::string text = "row_id,group,schedule,measured_gib,reserved_gib,predicted_gib,error\n";
  for (std::size_t k = 0; k < memory.jobs.size(); ++k) {
    const MeasuredStep& row = memory.jobs[k].row;
    text += row.id + ",\"" + memory_group(row) + "\",\"" + row.schedule + "\"," + fixed_text(row.memory_gib, 3) + "," +
            (row.reserved_gib > 0 ? fixed_text(row.reserved_gib, 3) : "") + "," +
            fixed_text(memory.predicted_gib[k], 3) + "," + fixed_text(memory_error(memory, k), 4) + "\n";
  }
  return text;
}

}  // namespace plumb
