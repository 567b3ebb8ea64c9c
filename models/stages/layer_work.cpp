#include "models/stages/layer_work.hpp"

#include <algorithm>

#include "models/costs/time_limits.hpp"
#include "models/layers/describe_layer.hpp"
#include "models/stages/network_costs.hpp"

namespace plumb {
namespace {

constexpr double kFlopsPerByte = 10;
/// A unit is a FLOP; more where a layer has more FLOPs than clocks count.
constexpr double kMostFlopsOfLayer = 5e11;

/// Time of layers whose passes are limited by arithmetic or by memory.
class WorkTimer {
 public:
  WorkTimer(const Network& network, const MicrobatchShape& shape) : shape_(shape) {
    const double mean = model_flops(network, shape) / static_cast<double>(network.layers.size());
    flops_per_unit_ = std::max(1.0, mean / kMostFlopsOfLayer);
  }

  std::int64_t time_of(const LayerSpec& layer) const {
    if (layer.kind == LayerKind::kProfiled) {
      return layer.profiled.f_ns + layer.profiled.i_ns + layer.profiled.w_ns;
    }
    const LayerFacts facts = describe(layer, shape_, {});
    if (layer.kind != LayerKind::kResidual) {
      return pass_time(facts.forward) + pass_time(facts.input_grad) + pass_time(facts.weight_grad);
    }
    // Every layer of the body is a kernel of its own; what is left is the addition.
    std::int64_t sum = 0;
    std::int64_t forward_bytes = facts.forward.bytes_moved;
    std::int64_t backward_bytes = facts.input_grad.bytes_moved;
    for (const std::vector<LayerSpec>* branch : {&layer.body, &layer.shortcut}) {
      for (const LayerSpec& inner : *branch) {
        const LayerFacts part = describe(inner, shape_, {});
        sum += time_of(inner);
        forward_bytes -= part.forward.bytes_moved;
        backward_bytes -= part.input_grad.bytes_moved;
      }
    }
    return sum + pass_time({.bytes_moved = forward_bytes}) + pass_time({.bytes_moved = backward_bytes});
  }

 private:
  std::int64_t pass_time(const PassFacts& pass) const {
    const double work = std::max(pass.flops, kFlopsPerByte * static_cast<double>(pass.bytes_moved));
    return checked_ticks(work / flops_per_unit_, "the work of a layer", kMostLayerTime);
  }

  MicrobatchShape shape_;
  double flops_per_unit_ = 1;
};

}  // namespace

std::vector<std::int64_t> relative_layer_times(const Network& network, const MicrobatchShape& shape) {
  const WorkTimer timer(network, shape);
  std::vector<std::int64_t> times;
  for (const LayerSpec& layer : network.layers) times.push_back(timer.time_of(layer));
  return times;
}

}  // namespace plumb
