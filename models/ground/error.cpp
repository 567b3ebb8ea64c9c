#include "models/ground/error.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace plumb {
namespace {

/// A line with more names than that is no help; it shows the nearest few of them.
constexpr std::size_t kMostListed = 40;
constexpr std::size_t kExamples = 5;

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

/// `text` on one line that a terminal shows as it is.
std::string shown(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  constexpr unsigned char kDelete = 0x7f;
  std::string line;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte != kDelete) {
      line += c;
    } else if (c == '\n') {
      line += "\\n";
    } else {
      line += {'\\', 'x', kHex[byte >> 4U], kHex[byte & 15U]};
    }
  }
  return line;
}

}  // namespace

Error::Error(std::string_view message) : std::runtime_error(shown(message)) {}

std::string nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  std::string best;
  std::size_t best_distance = 0;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (3 * distance > std::max(name.size(), candidate.size())) continue;
    if (best.empty() || distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

void throw_unknown(std::string_view what, std::string_view name, std::span<const std::string_view> candidates) {
  std::string message = "unknown " + std::string(what) + " '" + std::string(name) + "'";
  const std::string nearest = nearest_name(name, candidates);
  if (!nearest.empty()) throw Error(message + " (did you mean '" + nearest + "'?)");
  if (candidates.empty()) throw Error(message + "; expected none");
  std::vector<std::string_view> listed(candidates.begin(), candidates.end());
  if (listed.size() <= kMostListed) {
    message += "; expected one of:";
  } else {
    message += "; expected one of " + std::to_string(listed.size()) + ", such as:";
    const auto distance = [name](std::string_view candidate) { return edit_distance(name, candidate); };
    std::ranges::stable_sort(listed, {}, distance);
    listed.resize(kExamples);
  }
  for (const std::string_view candidate : listed) message += " " + std::string(candidate);
  throw Error(message);
}

}  // namespace plumb
