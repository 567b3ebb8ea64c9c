#include "models/sources/measured_messages.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "models/ground/time_at_size.hpp"
#include "models/sources/measured_json.hpp"

namespace plumb {
namespace {

constexpr double kNsPerUs = 1e3;
constexpr std::int64_t kMostTableBytes = std::int64_t{1} << 50U;

std::string size_name(std::int64_t bytes) {
  return bytes == 0 ? std::string("an unknown size") : std::to_string(bytes) + " bytes";
}

/// Returns what was measured; where it was not, the other.
std::int64_t expected_or(const Measured& measured, const Measured& other) {
  return (measured.count > 0 ? measured : other).expected_ns();
}

MessageTimes times_of(const MeasuredMessages& size) {
  return {.send_ns = expected_or(size.send, size.send_posted),
          .send_posted_ns = expected_or(size.send_posted, size.send),
          .receive_ns = size.receive.expected_ns(),
          .message_ns = size.message.expected_ns(),
          .capacity = size.capacity};
}

/// Splits a line of a table at its commas, without the spaces around.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    const std::size_t begin = cell.find_first_not_of(" \t\r");
    const std::size_t end = cell.find_last_not_of(" \t\r");
    cells.push_back(begin == std::string_view::npos ? std::string_view() : cell.substr(begin, end - begin + 1));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// Reads a table line by line.
class PingPongReader {
 public:
  explicit PingPongReader(std::string_view file_name) : file_(file_name) {}

  void read(std::string_view line) {
    ++line_;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    const std::vector<std::string_view> cells = cells_of(line);
    if (columns_ == 0) {
      read_header(cells);
      return;
    }
    if (cells.size() != columns_) {
      fail("has " + std::to_string(cells.size()) + " cells, expected " + std::to_string(columns_) +
           " as in the header");
    }
    PingPong row;
    row.bytes = std::llround(number(cells[*bytes_], static_cast<double>(kMostTableBytes)));
    row.time.median_ns = time(cells[*median_]);
    row.time.p10_ns = p10_ ? std::min(time(cells[*p10_]), row.time.median_ns) : row.time.median_ns;
    row.time.p90_ns = p90_ ? std::max(time(cells[*p90_]), row.time.median_ns) : row.time.median_ns;
    row.time.count = 1;
    rows_.push_back(row);
  }

  /// Returns one row of every size.
  std::vector<PingPong> sizes() {
    if (rows_.empty()) fail("has no rows, expected a size and its time in each");
    std::ranges::sort(rows_, [](const PingPong& one, const PingPong& other) {
      return std::pair(one.bytes, one.time.median_ns) < std::pair(other.bytes, other.time.median_ns);
    });
    std::vector<PingPong> sizes;
    for (auto begin = rows_.begin(); begin != rows_.end();) {
      const auto end = std::find_if(begin, rows_.end(), [&](const PingPong& row) { return row.bytes != begin->bytes; });
      PingPong& size = sizes.emplace_back(*(begin + (end - begin - 1) / 2));
      size.time.count = end - begin;
      begin = end;
    }
    return sizes;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(std::string(file_) + ":" + std::to_string(line_) + ": " + what);
  }

  void read_header(const std::vector<std::string_view>& cells) {
    columns_ = cells.size();
    const auto column = [&](std::string_view name) -> std::optional<std::size_t> {
      const auto at = std::ranges::find(cells, name);
      if (at == cells.end()) return std::nullopt;
      return static_cast<std::size_t>(at - cells.begin());
    };
    bytes_ = column("bytes");
    median_ = column("median_us");
    p10_ = column("p10_us");
    p90_ = column("p90_us");
    if (!bytes_ || !median_) fail("expected a header with the columns bytes and median_us");
  }

  double number(std::string_view cell, double most) const {
    double value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error == std::errc{} && end == cell.data() + cell.size() && value >= 0 && value <= most) return value;
    fail("expected a number that is not below 0, found '" + std::string(cell) + "'");
  }

  std::int64_t time(std::string_view cell) const {
    return std::llround(kNsPerUs * number(cell, static_cast<double>(kMostProfileNs) / kNsPerUs));
  }

  std::string_view file_;
  std::size_t line_ = 0;
  std::size_t columns_ = 0;
  std::optional<std::size_t> bytes_;
  std::optional<std::size_t> median_;
  std::optional<std::size_t> p10_;
  std::optional<std::size_t> p90_;
  std::vector<PingPong> rows_;
};

std::int64_t ping_pong_ns(std::span<const PingPong> table, std::int64_t bytes) {
  const auto [low, high] = around_size(table, bytes);
  return time_at_size({low->bytes, low->time.median_ns}, {high->bytes, high->time.median_ns}, bytes);
}

/// `measured`, `more_ns` longer.
Measured longer(Measured measured, std::int64_t more_ns) {
  const auto add = [&](std::int64_t ns) { return std::clamp<std::int64_t>(ns + more_ns, 0, kMostProfileNs); };
  measured.median_ns = add(measured.median_ns);
  measured.p10_ns = add(measured.p10_ns);
  measured.p90_ns = add(measured.p90_ns);
  if (measured.mean_ns > 0) measured.mean_ns = std::max<std::int64_t>(1, add(measured.mean_ns));
  return measured;
}

}  // namespace

MessageTimes message_times(std::span<const MeasuredMessages> sizes, std::int64_t bytes) {
  if (sizes.empty()) return {};
  const auto same = std::ranges::find(sizes, bytes, &MeasuredMessages::bytes);
  if (same != sizes.end()) return times_of(*same);
  if (sizes.size() == 1 || sizes.front().bytes == 0) {
    throw Error("the profile knows messages of " + size_name(sizes.front().bytes) +
                (sizes.size() > 1 ? " as well" : "") + ", not of " + size_name(bytes) +
                "; expected two sizes that are known (plumbline trace --message-bytes --messages)");
  }
  const auto around = around_size(sizes, bytes);
  const auto low = around.first;  // no structured binding: clang 14 does not capture them
  const auto high = around.second;
  const MessageTimes one = times_of(*low);
  const MessageTimes other = times_of(*high);
  const auto at = [&](std::int64_t MessageTimes::*time) {
    return time_at_size({low->bytes, one.*time}, {high->bytes, other.*time}, bytes);
  };
  MessageTimes times{.send_ns = at(&MessageTimes::send_ns),
                     .send_posted_ns = at(&MessageTimes::send_posted_ns),
                     .receive_ns = at(&MessageTimes::receive_ns),
                     .message_ns = at(&MessageTimes::message_ns)};
  // How many go at full speed is no time: that of the nearer size.
  times.capacity = (std::abs(bytes - low->bytes) < std::abs(bytes - high->bytes) ? one : other).capacity;
  return times;
}

std::vector<PingPong> ping_pong_from_csv(std::string_view text, std::string_view file_name) {
  PingPongReader reader(file_name);
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    reader.read(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return reader.sizes();
}

std::vector<MeasuredMessages> with_ping_pong(const MeasuredMessages& own, std::span<const PingPong> table,
                                             bool calls_move_bytes) {
  if (own.bytes == 0)
    throw Error("--messages: the size of the run's own messages is not known, expected --message-bytes");
  const bool other_size =
      std::ranges::any_of(table, [&](const PingPong& row) { return row.bytes != own.bytes && row.bytes != 0; });
  if (table.size() < 2 || own.bytes < table.front().bytes || own.bytes > table.back().bytes || !other_size) {
    throw Error("--messages: the table has messages of " + size_name(table.front().bytes) + " to " +
                size_name(table.back().bytes) + ", expected two sizes around the run's " + size_name(own.bytes));
  }
  const std::int64_t own_ns = ping_pong_ns(table, own.bytes);
  std::vector<MeasuredMessages> sizes{own};
  for (const PingPong& other : table) {
    if (other.bytes == own.bytes || other.bytes == 0) continue;
    const std::int64_t more_ns = other.time.median_ns - own_ns;
    MeasuredMessages& size = sizes.emplace_back(own);
    size.bytes = other.bytes;
    size.message = longer(own.message, more_ns);
    if (calls_move_bytes && own.send_posted.count > 0) size.send_posted = longer(own.send_posted, more_ns);
  }
  std::ranges::sort(sizes, {}, &MeasuredMessages::bytes);
  return sizes;
}

}  // namespace plumb
