#include "schedules/document/part_table.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {
namespace {

using Lengths = std::span<const std::int64_t>;

/// The parts of one microbatch, in order of slices.
std::vector<Part> parts_of(std::int64_t size, std::int64_t largest, Lengths lengths, bool along_sequence) {
  std::int64_t whole = 0;
  for (const std::int64_t length : lengths) whole += length;
  std::vector<Part> parts;
  std::int64_t begin = 0;
  for (const std::int64_t length : lengths) {
    parts.push_back({size, largest, begin, begin + length, whole, along_sequence});
    begin += length;
  }
  return parts;
}

void check_rows(const Schedule& schedule, std::size_t rows, const char* field) {
  if (rows <= 1 || rows == static_cast<std::size_t>(schedule.num_microbatches)) return;
  throw Error("schedule '" + schedule.name + "': " + field + " has " + std::to_string(rows) +
              " entries; expected one for each of the " + std::to_string(schedule.num_microbatches) + " microbatches");
}

}  // namespace

PartTable::PartTable(const Schedule& schedule) {
  const std::vector<std::int64_t>& sizes = schedule.microbatch_sizes;
  if (!schedule.slices && sizes.empty()) return;
  const std::size_t rows = schedule.slices ? schedule.slices->lengths.size() : 0;
  if (!sizes.empty() && sizes.size() != static_cast<std::size_t>(schedule.num_microbatches)) {
    throw Error("schedule '" + schedule.name + "': microbatch_sizes has " + std::to_string(sizes.size()) +
                " entries; expected one for each of the " + std::to_string(schedule.num_microbatches) +
                " microbatches");
  }
  check_rows(schedule, rows, "slices.lengths");
  causal_ = schedule.slices && schedule.slices->axis == Slices::Axis::kSequence;
  const std::int64_t largest = sizes.empty() ? 1 : *std::max_element(sizes.begin(), sizes.end());
  parts_.clear();
  begin_ = {0};
  std::map<std::vector<Part>, std::uint32_t> known;
  const std::vector<std::int64_t> uncut{1};
  const std::size_t count = sizes.empty() && rows <= 1 ? 1 : static_cast<std::size_t>(schedule.num_microbatches);
  for (std::size_t microbatch = 0; microbatch < count; ++microbatch) {
    const Lengths lengths = rows == 0 ? Lengths(uncut) : Lengths(schedule.slices->lengths[rows == 1 ? 0 : microbatch]);
    const std::int64_t size = sizes.empty() ? 1 : sizes[microbatch];
    std::vector<Part> parts = parts_of(size, largest, lengths, causal_);
    const auto [entry, is_new] = known.try_emplace(parts, static_cast<std::uint32_t>(known.size()));
    kind_of_.push_back(entry->second);
    if (!is_new) continue;
    parts_.insert(parts_.end(), parts.begin(), parts.end());
    begin_.push_back(static_cast<std::uint32_t>(parts_.size()));
  }
  if (known.size() == 1) kind_of_.clear();
}

std::size_t PartTable::most_slices() const {
  std::size_t most = 1;
  for (std::size_t kind = 0; kind < kinds(); ++kind)
    most = std::max<std::size_t>(most, begin_[kind + 1] - begin_[kind]);
  return most;
}

}  // namespace plumb
