#include "trainer/checkpoint/saved_identity.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

#include "trainer/plan/run_identity.hpp"

namespace plumb {
namespace {

/// Updates of a synchronous document do not depend on how many follow them; what else does, such as a learning rate
/// that falls until the end, is part of the identity.
bool goes_on_longer(const JsonValue& state, const TrainingRun& run) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return !run.plan().program.asynchronous && state.at("pass").integer(0, kMost) < run.passes();
}

/// Then a checkpoint holds nothing but float32 weights and optimizer state, whatever passes compute with.
bool nothing_under_way(const JsonValue& state) {
  for (const char* list : {"stashes", "values", "send_buffers", "messages", "evicted"}) {
    if (state.at(list).size() > 0) return false;
  }
  for (const JsonValue& holder : state.at("holders").elements()) {
    if (holder.at("old_versions").size() > 0) return false;
  }
  return true;
}

/// Where the part of a list begins in which two texts differ first.
std::size_t differing_part(std::string_view one, std::string_view other) {
  constexpr std::string_view kBetween = ", ";
  const auto end = one.begin() + static_cast<std::ptrdiff_t>(std::min(one.size(), other.size()));
  const auto same = static_cast<std::size_t>(std::mismatch(one.begin(), end, other.begin()).first - one.begin());
  const std::size_t before = one.substr(0, same).rfind(kBetween);
  return before == std::string_view::npos ? 0 : before + kBetween.size();
}

}  // namespace

void check_saved_identity(const JsonValue& state, const TrainingRun& run) {
  const JsonValue saved = state.at("run");
  for (const auto& [name, value] : run_identity(run.plan(), run.passes())) {
    const std::string_view was = saved.at(name).text();
    if (name == "steps" && goes_on_longer(state, run)) continue;
    if (name == "numbers" && nothing_under_way(state) && was != "float64" && value != "float64") continue;
    if (was == value) continue;
    const std::size_t part = differing_part(was, value);
    saved.at(name).fail("the checkpoint was saved with '" + std::string(was.substr(part)) + "', this run has '" +
                        value.substr(part) + "'");
  }
}

}  // namespace plumb
