#include "sim/comparison/alignment.hpp"

#include <algorithm>
#include <tuple>

namespace plumb {
namespace {

/// A span by what it is, so that two timelines can be matched in one pass.
struct Entry {
  const Span* span = nullptr;
  std::uint32_t occurrence = 0;  ///< number among the equal ones of its device

  auto key() const {
    const Action& a = span->action;
    return std::tuple(span->lane, a.op, span->device, a.replica, a.stage, a.microbatch, a.slice, a.where,
                      static_cast<int>(a.merged), occurrence);
  }
};

/// Returns the spans that take part in the comparison, in order of key: all but transfers, and those of devices of
/// which `other` knows nothing.
std::vector<Entry> entries_of(const Timeline& timeline, const Timeline& other) {
  std::vector<Entry> entries;
  entries.reserve(timeline.spans.size());
  for (const Span& span : timeline.spans) {
    if (span.lane != Lane::kTransfer && is_known(other, span.device)) entries.push_back({&span, 0});
  }
  std::ranges::stable_sort(entries, {}, &Entry::key);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    Entry before = entries[i - 1];
    before.occurrence = 0;
    if (before.key() == entries[i].key()) entries[i].occurrence = entries[i - 1].occurrence + 1;
  }
  return entries;
}

/// Whether a span counts when the other side lacks it. Many runtimes leave the update to the program, so that their
/// traces have no U: where one side has none at all, those of the other one say nothing about the schedule.
class CountedSpans {
 public:
  CountedSpans(const std::vector<Entry>& predicted, const std::vector<Entry>& measured)
      : updates_(std::ranges::any_of(predicted, is_update) == std::ranges::any_of(measured, is_update)) {}

  bool operator()(const Entry& entry) const {
    return entry.span->lane == Lane::kCompute && (updates_ || !is_update(entry));
  }

 private:
  static bool is_update(const Entry& entry) {
    return entry.span->action.op == Op::kU || entry.span->action.op == Op::kV;
  }

  bool updates_;
};

}  // namespace

bool is_known(const Timeline& timeline, DeviceId device) {
  return index(device) >= timeline.devices.size() || timeline.devices[index(device)].known;
}

Alignment align(const Timeline& predicted_run, const Timeline& measured_run) {
  const std::vector<Entry> predicted = entries_of(predicted_run, measured_run);
  const std::vector<Entry> measured = entries_of(measured_run, predicted_run);
  Alignment alignment;
  const CountedSpans counts(predicted, measured);
  auto p = predicted.begin();
  auto m = measured.begin();
  while (p != predicted.end() || m != measured.end()) {
    if (m == measured.end() || (p != predicted.end() && p->key() < m->key())) {
      if (counts(*p)) alignment.only_predicted.push_back(p->span);
      ++p;
    } else if (p == predicted.end() || m->key() < p->key()) {
      if (counts(*m)) alignment.only_measured.push_back(m->span);
      ++m;
    } else {
      alignment.matches.push_back({(p++)->span, (m++)->span});
    }
  }
  return alignment;
}

}  // namespace plumb
