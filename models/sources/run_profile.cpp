#include "models/sources/run_profile.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// A trace does not say how large messages are: as many bytes as a message alone takes nanoseconds.
constexpr double kBytesPerSecond = 1e9;
/// An I that takes less than this share of the W of its stage did nothing.
constexpr double kNothing = 0.05;

double expected(const Measured& measured) { return static_cast<double>(measured.expected_ns()); }

/// Time of operators, by pass.
struct Operators {
  double f = 0;
  double b = 0;
  double i = 0;
  double w = 0;
  double u = 0;

  void add(const Operators& other, double share) {
    f += share * other.f;
    b += share * other.b;
    i += share * other.i;
    w += share * other.w;
    u += share * other.u;
  }
};

/// `inside` of the passes; of one that the run did not have, that of the other kind of backward. What a B does once an
/// I and a W do both, each a part of it: its time is taken to lie between theirs.
Operators inside_of(const RunProfile& profile) {
  const MeasuredPasses& inside = profile.inside;
  const Measured& split = inside.i.count > 0 ? inside.i : inside.b;
  const Measured& weight = inside.w.count > 0 ? inside.w : split;
  return {.f = expected(inside.f),
          .b = inside.b.count > 0 ? expected(inside.b) : (expected(split) + expected(weight)) / 2,
          .i = expected(split),
          .w = expected(weight)};
}

double without(const Measured& measured, double inside) { return std::max(0.0, expected(measured) - inside); }

/// Reads the stages of the run as times of operators.
class RunStages {
 public:
  explicit RunStages(const RunProfile& profile) : inside_(inside_of(profile)), given_share_(profile.input_grad_share) {
    for (std::size_t s = 0; s < profile.stages.size(); ++s) add(profile.stages[s]);
    split_backwards();
  }

  const Operators& inside() const { return inside_; }
  bool were_fused() const { return share_i_ < 0; }

  /// Returns the part [begin, end) of the model, in stages of the run.
  Operators between(double begin, double end) const {
    Operators sum;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      const auto at = static_cast<double>(s);
      const double overlap = std::min(end, at + 1) - std::max(begin, at);
      if (overlap > 0) sum.add(stages_[s], overlap);
    }
    return sum;
  }

 private:
  void add(const MeasuredPasses& stage) {
    Operators operators{.f = without(stage.f, inside_.f), .u = expected(stage.u)};
    const bool works = stage.i.count > 0 && stage.w.count > 0 && !skips_input_grad(stage);
    if (works) {
      operators.i = without(stage.i, inside_.i);
      operators.w = without(stage.w, inside_.w);
    }
    operators.b = stage.b.count > 0 ? without(stage.b, inside_.b)
                  : works           ? operators.i + operators.w
                                    : without(stage.w, inside_.b);
    if (!works) unsplit_.push_back(stages_.size());
    stages_.push_back(operators);
  }

  /// Splits what was not split as the other stages are on average; where none is, as the network says, or one to one.
  void split_backwards() {
    Operators sum;
    for (const Operators& stage : stages_) sum.add(stage, 1);
    const double both = sum.i + sum.w;
    if (both > 0) share_i_ = sum.i / both;
    const double share = both > 0 ? share_i_ : given_share_ > 0 ? given_share_ : 0.5;
    for (const std::size_t s : unsplit_) {
      stages_[s].i = share * stages_[s].b;
      stages_[s].w = stages_[s].b - stages_[s].i;
    }
  }

  Operators inside_;
  double given_share_;
  std::vector<Operators> stages_;
  std::vector<std::size_t> unsplit_;
  double share_i_ = -1;
};

StageTimes times_of(const Operators& operators, const Operators& inside) {
  StageTimes times;
  times.f = std::llround(operators.f + inside.f);
  times.b = std::llround(operators.b + inside.b);
  times.i = std::llround(operators.i + inside.i);
  times.w = std::llround(operators.w + inside.w);
  times.r = times.f;
  times.u = std::llround(operators.u);
  return times;
}

RuntimeCosts runtime_of(const RunProfile& profile) {
  const auto& [f, b, i, w, u] = profile.host;
  const auto or_else = [](const Measured& one, const Measured& other, const Measured& third) {
    return (one.count > 0 ? one : other.count > 0 ? other : third).expected_ns();
  };
  RuntimeCosts costs;
  costs.f_ns = or_else(f, b, i);
  costs.b_ns = or_else(b, i, f);
  costs.i_ns = or_else(i, b, f);
  costs.w_ns = or_else(w, i, b);
  const MessageTimes calls = message_times(profile.messages, profile.message_bytes);
  costs.calls = {{.send_ns = calls.send_ns, .send_posted_ns = calls.send_posted_ns, .receive_ns = calls.receive_ns}};
  return costs;
}

std::string split_note(double input_grad_share) {
  if (input_grad_share <= 0) return "I and W are each half of the run's B";
  return "I is " + std::to_string(std::llround(100 * input_grad_share)) +
         " % of the run's B, by the operations of its network";
}

}  // namespace

RunCosts run_profile_costs(const RunProfile& profile, std::int32_t num_stages) {
  const RunStages stages(profile);
  const auto of_run = static_cast<double>(profile.stages.size());
  RunCosts result;
  for (std::int32_t stage = 0; stage < num_stages; ++stage) {
    const double begin = of_run * stage / num_stages;
    const double end = of_run * (stage + 1) / num_stages;
    result.costs.times.push_back(times_of(stages.between(begin, end), stages.inside()));
  }
  result.costs.runtime = runtime_of(profile);
  result.costs.message_bytes = message_times(profile.messages, profile.message_bytes).message_ns;
  if (static_cast<std::size_t>(num_stages) != profile.stages.size()) {
    result.notes.push_back("the run's " + std::to_string(profile.stages.size()) + " stages cut into " +
                           std::to_string(num_stages) + " equal parts");
  }
  if (stages.were_fused()) result.notes.push_back(split_note(profile.input_grad_share));
  return result;
}

Cluster run_profile_cluster(const RunProfile& profile, std::int32_t num_devices) {
  Cluster cluster;
  cluster.name = "traced";
  cluster.source = profile.machine;
  cluster.devices.resize(static_cast<std::size_t>(num_devices));
  cluster.devices_per_node = num_devices;
  cluster.intra_node.bytes_per_s = kBytesPerSecond;
  const double capacity = message_times(profile.messages, profile.message_bytes).capacity;
  cluster.intra_node.shared = capacity > 0;
  cluster.intra_node.shared_bytes_per_s = capacity * kBytesPerSecond;
  cluster.finish();
  return cluster;
}

bool skips_input_grad(const MeasuredPasses& stage) {
  return stage.i.count > 0 && expected(stage.i) < kNothing * expected(stage.w);
}

void add_message_sizes(RunProfile& profile, const std::vector<MeasuredMessages>& sizes) {
  std::vector<MeasuredMessages>& all = profile.messages;
  all.insert(all.end(), sizes.begin(), sizes.end());
  std::ranges::stable_sort(all, {}, &MeasuredMessages::bytes);  // of one size, what was known before comes first
  const auto is_same = [](const MeasuredMessages& a, const MeasuredMessages& b) { return a.bytes == b.bytes; };
  all.erase(std::unique(all.begin(), all.end(), is_same), all.end());
}

void skip_input_grads(StageCosts& costs, std::span<const StageId> stages) {
  if (costs.times.empty()) return;
  for (const StageId stage : stages) {
    StageTimes& times = costs.times[index(stage)];
    times.i = 0;
    times.i_comm = {};
    times.w = times.b;
    times.w_comm = times.b_comm;
  }
}

}  // namespace plumb
