#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/run_time_rule.hpp"
#include "schedules/program/list_times.hpp"

namespace plumb {
namespace {

/// Of one iteration on one device.
constexpr std::int64_t kMostPieces = 4096;

/// The frozen layers of one iteration as one device runs them: all layers in order, each in `parts` pieces.
using FrozenWork = std::vector<ExtraWork>;

Schedule backbone(const ScheduleParams& params) {
  Schedule schedule = looped_schedule("diffusionpipe", params, 1, 1);
  const std::int64_t m = params.num_microbatches;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const StageId stage{d};
    const std::int64_t warmup = std::min<std::int64_t>(params.num_devices - 1 - d, m);
    ListBuilder list;
    for (std::int64_t k = 0; k < warmup; ++k) list.add(stage, Op::kF, k);
    for (std::int64_t k = 0; k < m; ++k) {
      if (warmup + k < m) list.add(stage, Op::kF, warmup + k);
      list.add(stage, Op::kB, k);
    }
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

/// Ticks of the backbone, and of every piece on every device.
struct FillTimes {
  ListTimes spans;
  std::vector<std::vector<double>> pieces;  ///< by device
};

FillTimes fill_times(const ScheduleParams& params, const Schedule& schedule, const FrozenWork& work) {
  const ChainTimes times = chain_times(params, params.num_devices);
  const auto duration = [&](const Action& action) {
    return (action.op == Op::kF ? times.forward : times.backward)[index(action.stage)];
  };
  FillTimes fill{list_times(schedule, duration, times.transfer), {}};
  const std::optional<StageCosts> costs = params.costs ? std::optional(params.costs(params.num_devices)) : std::nullopt;
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    std::vector<double>& pieces = fill.pieces.emplace_back();
    for (const ExtraWork& piece : work) {
      pieces.push_back(costs ? static_cast<double>(extra_time(piece, *costs, StageId{d})) : piece.units);
    }
  }
  return fill;
}

/// Where the pieces stand: `before[i]` of them before action i of the device's list, the last entry after all.
std::vector<std::int64_t> pieces_in_gaps(const std::vector<ListTimes::Span>& spans, Ticks makespan,
                                         const std::vector<double>& pieces) {
  constexpr double kRounding = 1e-9;
  std::vector<std::int64_t> before(spans.size() + 1, 0);
  std::size_t next = 0;
  Ticks free = 0;
  for (std::size_t i = 0; i <= spans.size(); ++i) {
    const Ticks until = i < spans.size() ? spans[i].start : makespan;
    auto gap = static_cast<double>(until - free) * (1 + kRounding);
    for (; next < pieces.size() && pieces[next] <= gap; ++next, ++before[i]) gap -= pieces[next];
    if (i < spans.size()) free = spans[i].end;
  }
  before.back() += static_cast<std::int64_t>(pieces.size() - next);  // found no bubble
  return before;
}

/// A layer of the network that a frozen layer is like, and one past the last: "A-B".
std::pair<std::int64_t, std::int64_t> like_layers(const std::string& text) {
  const std::size_t dash = text.find('-');
  std::int64_t ends[2] = {-1, -1};
  const auto read = [](std::string_view digits, std::int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  const std::string_view all = text;
  const bool ok = dash != std::string::npos && read(all.substr(0, dash), ends[0]) &&
                  read(all.substr(dash + 1), ends[1]) && 0 <= ends[0] && ends[0] < ends[1] && ends[1] <= kMostPieces;
  require(ok, "diffusionpipe", "option like '" + text + "': expected layers of the network, FIRST-END, as in 1-5");
  return {ends[0], ends[1]};
}

FrozenWork frozen_work(const ScheduleParams& params) {
  const auto like = params.options.find("like");
  const bool known = like != params.options.end();
  const auto [first, end] = known ? like_layers(like->second) : std::pair<std::int64_t, std::int64_t>{0, 0};
  require(!known || params.options.count("layers") == 0, "diffusionpipe",
          "options layers and like: expected one of them");
  const std::int64_t layers = known ? end - first : whole_number("diffusionpipe", params, "layers", 4);
  const std::int64_t parts = whole_number("diffusionpipe", params, "parts", 4);
  const std::int64_t work = whole_number("diffusionpipe", params, "work", params.num_microbatches);
  require(layers <= kMostPieces && parts <= kMostPieces / layers, "diffusionpipe",
          "layers (" + std::to_string(layers) + ") times parts (" + std::to_string(parts) + ") must be at most 4096");
  FrozenWork pieces;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    ExtraWork piece;
    piece.kind = known ? ExtraWork::Kind::kLayers : ExtraWork::Kind::kPass;
    piece.units = static_cast<double>(work) / static_cast<double>(params.num_devices * parts);
    if (known) std::tie(piece.first_layer, piece.end_layer) = std::pair(first + layer, first + layer + 1);
    pieces.insert(pieces.end(), static_cast<std::size_t>(parts), piece);
  }
  return pieces;
}

}  // namespace

/// The trained backbone runs as 1F1B; its bubbles are filled with the frozen layers (encoders) of the next iteration,
/// which only run forward. Layers stand in order, cut into `parts` parts of the batch where a bubble is too short for
/// all of one; what finds no bubble runs before the next iteration. Bubbles are found with the given costs (without:
/// B = 2 F, X = F), so that the step takes no longer than 1F1B while the frozen work fits.
/// `layers=N` frozen layers (default 4), each of `work=N` units of X for a whole batch (default m: one for a
/// microbatch); where costs come from a network, X is a forward of the device's own stage, or with `like=FIRST-END`
/// each frozen layer is as one of these layers of the network. The paper spreads a layer over the devices that idle
/// together; here every device takes 1 / p of the batch through all layers, which fills the same idle time (it is equal
/// on all devices) and passes no values between devices. One backbone; two would be `chimera`. The first iteration's
/// own frozen part is not part of the schedule. Device d keeps min(p - d, m) activations. Any p and m. (Tian et al.,
/// DiffusionPipe, arXiv 2405.01248)
///
///   p = 2, m = 2, layers = 1, parts = 4
///   d0: 0F0 0F1 0X0 0X1 0B0 0X2 0X3 0B1 0U0
///   d1: 1X0 1X1 1F0 1B0 1F1 1B1 1X2 1X3 1U0
Schedule diffusionpipe(const ScheduleParams& params) {
  require_one_chunk("diffusionpipe", params);
  require_playable("diffusionpipe", params.num_microbatches * params.num_devices);
  const FrozenWork work = frozen_work(params);
  const std::int64_t updates = updates_or(params, 1);
  const std::int64_t num_pieces = std::ssize(work);
  require(num_pieces <= (std::int64_t{1} << 20) / updates, "diffusionpipe",
          "layers times parts times updates (" + std::to_string(num_pieces) + " x " + std::to_string(updates) +
              ") must be at most 1048576");
  const Schedule step = backbone(params);
  const FillTimes times = fill_times(params, step, work);
  Schedule schedule = looped_schedule("diffusionpipe", params, 1, updates);
  for (std::int64_t i = 0; i < num_pieces * updates; ++i) {
    schedule.extras["X" + std::to_string(i)] = work[static_cast<std::size_t>(i % num_pieces)];
  }
  for (std::int32_t d = 0; d < params.num_devices; ++d) {
    const auto& spans = times.spans.devices[static_cast<std::size_t>(d)];
    const auto before = pieces_in_gaps(spans, times.spans.makespan, times.pieces[static_cast<std::size_t>(d)]);
    ListBuilder list;
    for (std::int64_t update = 0; update < updates; ++update) {
      std::int64_t next = update * num_pieces;
      for (std::size_t i = 0; i <= spans.size(); ++i) {
        for (std::int64_t k = 0; k < before[i]; ++k) list.add(StageId{d}, Op::kX, next++);
        if (i == spans.size()) continue;
        const auto microbatch = static_cast<std::int64_t>(spans[i].action.microbatch);
        list.add(StageId{d}, spans[i].action.op, update * params.num_microbatches + microbatch);
      }
      list.add(StageId{d}, Op::kU, update);
    }
    schedule.devices.push_back(list.take());
  }
  return schedule;
}

}  // namespace plumb
