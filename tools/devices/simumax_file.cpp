#include "tools/devices/simumax_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/ground/json_reader.hpp"
#include "models/jobs/job_kernels.hpp"
#include "tools/devices/sustained_rates.hpp"

namespace plumb {
namespace {

constexpr double kTera = 1e12;
constexpr double kTheirGigabyte = 1024.0 * 1024 * 1024;
constexpr double kMicro = 1e-6;
constexpr double kMostFactor = 4;

/// "b=1, m=4096, k=8192, layout=TN" by name.
class ShapeKey {
 public:
  explicit ShapeKey(const JsonValue::Member& member) : member_(&member) {
    std::string_view rest = member.key;
    while (!rest.empty()) {
      const std::string_view part = rest.substr(0, rest.find(", "));
      const std::size_t equals = part.find('=');
      if (equals == std::string_view::npos) member.value.fail_expected("a key of the form name=value, name=value");
      values_[part.substr(0, equals)] = part.substr(equals + 1);
      rest.remove_prefix(std::min(rest.size(), part.size() + 2));
    }
  }

  std::string_view text(std::string_view name) const {
    const auto found = values_.find(name);
    if (found == values_.end()) member_->value.fail("expected " + std::string(name) + "= in the key");
    return found->second;
  }

  std::int64_t size(std::string_view name) const {
    const std::string_view digits = text(name);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (error != std::errc{} || end != digits.data() + digits.size() || value < 1 || value > kMost) {
      member_->value.fail("expected a whole number above 0 for " + std::string(name) + "= in the key");
    }
    return value;
  }

 private:
  const JsonValue::Member* member_;
  std::map<std::string_view, std::string_view> values_;
};

double flops_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t count) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * static_cast<double>(count);
}

/// The measured entries of an operator, with its peak; nothing where it has none.
template <class Add>
void each_measured(const JsonValue& operators, std::string_view name, Add&& add) {
  const auto found = operators.find(name);
  if (!found) return;
  const auto table = found->find("accurate_efficient_factor");
  if (!table || !table->is_object()) return;
  const double peak = found->at("tflops").number(1e-3, 1e6) * kTera;
  for (const JsonValue::Member& member : table->members()) {
    add(ShapeKey(member), peak * member.value.number(1e-6, kMostFactor), member.value);
  }
}

/// Products of one pass that were measured with sums of several types: 32 bits count.
class Products {
 public:
  void add(const ProductShape& shape, double rate, bool wide) {
    const auto key = std::make_tuple(shape.pass, shape.m, shape.n, shape.k, shape.count);
    const auto known = places_.find(key);
    const TimedProduct timed{shape, flops_of(shape.m, shape.n, shape.k, shape.count) / rate};
    if (known == places_.end()) {
      places_[key] = timed_.size();
      timed_.push_back(timed);
    } else if (wide) {
      timed_[known->second] = timed;
    }
  }

  std::vector<TimedProduct> take() { return std::move(timed_); }

 private:
  std::map<std::tuple<ProductPass, std::int64_t, std::int64_t, std::int64_t, std::int64_t>, std::size_t> places_;
  std::vector<TimedProduct> timed_;
};

ProductPass pass_named(std::string_view name, const std::array<std::string_view, 3>& names, const JsonValue& place) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    place.fail("expected one of " + std::string(names[0]) + ", " + std::string(names[1]) + ", " +
               std::string(names[2]) + " in the key");
  }
  return static_cast<ProductPass>(found - names.begin());
}

void read_products(const JsonValue& operators, KernelTimings& timings) {
  Products products;
  each_measured(operators, "matmul", [&](const ShapeKey& key, double rate, const JsonValue& place) {
    const ProductPass pass = pass_named(key.text("layout"), {"TN", "NN", "NT"}, place);
    products.add({.m = key.size("m"), .n = key.size("n"), .k = key.size("k"), .count = key.size("b"), .pass = pass},
                 rate, key.text("out_dtype") == "fp32");
  });
  each_measured(operators, "group_matmul", [&](const ShapeKey& key, double rate, const JsonValue& place) {
    const ProductPass pass = pass_named(key.text("stage"), {"fwd", "bwd_grad_act", "bwd_grad_w"}, place);
    ProductShape shape{.m = key.size("M"), .n = key.size("N"), .k = key.size("K"), .count = key.size("ng")};
    shape.pass = pass;
    if (pass == ProductPass::kInputGrad) std::swap(shape.n, shape.k);
    if (pass == ProductPass::kWeightGrad) {
      std::swap(shape.m, shape.n);  // N x M by M x K
      std::swap(shape.n, shape.k);
    }
    products.add(shape, rate, key.text("main_grad_dtype") == "fp32");
  });
  timings.products = products.take();
}

void read_attention(const JsonValue& operators, KernelTimings& timings) {
  constexpr std::array<std::pair<std::string_view, double>, 2> kAttentionPasses{{{"sdp_fwd", 1.0}, {"sdp_bwd", 2.5}}};
  for (const auto& [name, work] : kAttentionPasses) {
    each_measured(operators, name, [&, factor = work](const ShapeKey& key, double rate, const JsonValue&) {
      AttentionShape shape{.rows = key.size("seq_len"), .columns = key.size("seq_len")};
      shape.heads = key.size("batch") * key.size("head_num");
      shape.key_width = key.size("qk_head_dim");
      shape.value_width = key.size("v_head_dim");
      shape.pass = factor == 1 ? ProductPass::kForward : ProductPass::kInputGrad;
      const double whole = factor * (flops_of(shape.rows, shape.columns, shape.key_width, shape.heads) +
                                     flops_of(shape.rows, shape.columns, shape.value_width, shape.heads));
      const TimedAttention timed{shape, whole / 2, whole / rate};
      const auto known = std::ranges::find(timings.attentions, shape, &TimedAttention::shape);
      if (known == timings.attentions.end()) {
        timings.attentions.push_back(timed);
      } else if (key.text("qkv_contiguous") == "False") {
        *known = timed;  // training hands over views of one tensor
      }
    });
  }
}

/// Returns the bytes per number that the cost model counts for kernels of a layer that move bytes in one way, in both
/// passes.
double counted_bytes(const LayerSpec& layer, Movement movement, double numbers) {
  Network network;
  network.sequence = 1024;
  network.layers = {layer};
  const LayerKernels kernels = layer_kernels(layer, JobShape(network, Parallelism{}));
  double bytes = 0;
  for (const PassKernels* pass : {&kernels.forward, &kernels.input_grad}) {
    for (const Kernel& kernel : pass->list) {
      if (kernel.kind == Kernel::Kind::kMemory && kernel.movement == movement) bytes += kernel.bytes;
    }
  }
  return bytes / numbers;
}

/// Bytes per number that the cost model counts for a kind of kernels, and that SimuMax counts.
struct CountedBytes {
  double ours = 1;
  double its = 1;
};

void add_bandwidth(const JsonValue& bandwidth, std::string_view name, Movement movement, const CountedBytes& counted,
                   KernelTimings& timings) {
  const auto found = bandwidth.find(name);
  if (!found) return;
  constexpr double kNumbers = 1e9;
  const double rate =
      found->at("gbps").number(1e-3, 1e6) * kTheirGigabyte * found->at("efficient_factor").number(1e-6, kMostFactor);
  timings.movements.push_back({movement, kNumbers * counted.ours, 1, kNumbers * counted.its / rate});
}

void read_bandwidth(const JsonValue& bandwidth, KernelTimings& timings) {
  for (const Movement movement :
       {Movement::kElementwise, Movement::kNorm, Movement::kSoftmax, Movement::kOptimizer, Movement::kCast}) {
    add_bandwidth(bandwidth, "default", movement, {}, timings);
  }
  constexpr double kItsLoss = 38 + 14;  // bytes per logit of the forward and the backward
  LayerSpec head;
  head.kind = LayerKind::kHead;
  head.width = 64;
  head.vocabulary = 1024;
  add_bandwidth(bandwidth, "ce", Movement::kLoss, {counted_bytes(head, Movement::kLoss, 1024.0 * 1024), kItsLoss},
                timings);
  // Its permutations move the permuted tokens three times and the tokens once, to the experts and back.
  constexpr std::int64_t kChosen = 8;
  constexpr double kItsPermute = 2.0 * 2 * (3 + 1.0 / kChosen);
  LayerSpec moe;
  moe.kind = LayerKind::kMoe;
  moe.width = moe.hidden = moe.experts = 64;
  moe.experts_per_token = kChosen;
  const double permuted = counted_bytes(moe, Movement::kPermute, 1024.0 * 64 * kChosen) / 2;
  add_bandwidth(bandwidth, "permute_fwd", Movement::kPermute, {permuted, kItsPermute}, timings);
  add_bandwidth(bandwidth, "permute_bwd", Movement::kPermute, {permuted, kItsPermute}, timings);
}

/// What SimuMax says a collective takes, at two sizes: its model is a line.
void add_collective(const JsonValue& network, std::pair<std::string_view, CollectiveOp> op, std::int64_t ranks,
                    KernelTimings& timings) {
  const auto found = network.at("op").find(op.first);
  if (!found) return;
  const JsonValue common = network.at("bandwidth");
  const auto own = [&](std::string_view key) {
    const auto value = found->find(key);
    return value ? value->number(0, 1e9) : 0.0;
  };
  const auto factor = found->find("efficient_factor");
  if (!factor) return;  // not measured
  const double rate = common.at("gbps").number(1e-6, 1e6) * kTheirGigabyte * factor->number(1e-6, kMostFactor);
  const double scale = found->at("scale").number(0, 16);
  const auto n = static_cast<double>(ranks);
  double fixed = own("fixed_latency_us");
  if (const auto by_ranks = found->find("fixed_latency_us_by_comm_num"); by_ranks && by_ranks->is_object()) {
    if (const auto value = by_ranks->find(std::to_string(ranks))) fixed = value->number(0, 1e9);
  }
  const double offset = found->at("offset").number(-16, 16);
  const double latency_s = (own("latency_us") * (n + offset) * scale + fixed) * kMicro;
  for (const double bytes : {1048576.0, 1073741824.0}) {
    timings.collectives.push_back({op.second, ranks, 1, bytes, latency_s + scale * bytes * (1 + offset / n) / rate});
  }
}

void read_networks(const JsonValue& networks, std::int64_t per_node, KernelTimings& timings) {
  constexpr std::array<std::pair<std::string_view, CollectiveOp>, 4> kOps{
      {{"all_reduce", CollectiveOp::kAllReduce},
       {"all_gather", CollectiveOp::kAllGather},
       {"reduce_scatter", CollectiveOp::kReduceScatter},
       {"all2all", CollectiveOp::kAllToAll}}};
  for (std::int64_t ranks = 2; ranks <= per_node; ranks *= 2) {
    auto network = networks.find("intra_node_pcie_" + std::to_string(ranks) + "x");
    if (!network) network = networks.find("high_intra_node");
    if (!network) continue;
    for (const auto& op : kOps) add_collective(*network, op, ranks, timings);
  }
}

}  // namespace

KernelTimings simumax_timings(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  KernelTimings timings;
  timings.device = root.at("sys_name").text();
  timings.source = "SimuMax's system file " + timings.device;
  const JsonValue accelerator = root.at("accelerator");
  read_products(accelerator.at("op"), timings);
  read_attention(accelerator.at("op"), timings);
  read_bandwidth(accelerator.at("bandwidth"), timings);
  read_networks(root.at("networks"), root.at("num_per_node").integer(1, 1024), timings);
  // Its scripts time 100 products in a row, and 25 of attention one by one.
  keep_sustained_rates(timings, {.products = 100, .attentions = 25});
  return timings;
}

}  // namespace plumb
