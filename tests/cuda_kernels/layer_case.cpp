#include "tests/cuda_kernels/layer_case.hpp"

#include <stdexcept>

#include "models/layers/describe_layer.hpp"
#include "models/network/layer_shape.hpp"
#include "tests/cuda_kernels/device_buffer.hpp"
#include "trainer/cuda/layers/cuda_layer.hpp"
#include "trainer/cuda/layers/make_cuda_layer.hpp"
#include "trainer/layers/layer.hpp"
#include "trainer/layers/make_layer.hpp"

namespace plumb::kernels {

namespace {

constexpr Precision kDouble{8, 8, 8, 16};

std::size_t whole(std::int64_t count) { return static_cast<std::size_t>(count); }

std::vector<double> doubles(const std::vector<std::int32_t>& ids) { return {ids.begin(), ids.end()}; }

/// What a pass is told of its tokens, on either side: `DeviceData` or `Data`.
template <class Side>
MicrobatchIds ids_of(const Side& side) {
  return {.tokens = side.tokens.data(),
          .targets = side.targets.data(),
          .target_tokens = side.tokens.data(),
          .values = side.values.data(),
          .target_values = side.values.data()};
}

/// What both sides start from.
struct Data {
  LayerFacts facts;
  std::vector<double> input, from, output_grad, added, key_grads;
  std::vector<std::vector<double>> weights, gradients, earlier_qkv, earlier_key_grads;
  std::vector<std::int32_t> tokens, targets;
  std::vector<double> values;
  std::int64_t outputs = 0;

  explicit Data(const LayerCase& of) : facts(describe(of.spec, of.shape, kDouble)) {
    input = random_numbers(whole(facts.input_bytes / 8), 1);
    from = random_numbers(whole(facts.from_bytes / 8), 2);
    outputs = facts.output_bytes / 8;
    output_grad = random_numbers(whole(outputs), 3);
    added = random_numbers(of.adds ? input.size() : 0, 4);
    std::uint64_t seed = 10;
    for (const ParameterFacts& parameter : facts.parameters) {
      const bool matrix = parameter.shape.size() > 1;
      const double spread = matrix ? 1.0 / std::sqrt(static_cast<double>(parameter.shape.back())) : 1.0;
      weights.push_back(random_numbers(whole(parameter.count()), ++seed, spread));
      gradients.push_back(random_numbers(whole(parameter.count()), ++seed));
    }
    key_grads = random_numbers(whole(facts.key_grad_bytes / 8), 5);
    const std::int64_t head_width = of.spec.heads > 0 ? of.spec.width / of.spec.heads : 0;
    const std::int64_t keys = 2 * head_width * (of.spec.kv_heads > 0 ? of.spec.kv_heads : of.spec.heads);
    for (const std::int64_t sequence : of.earlier) {
      earlier_qkv.push_back(random_numbers(whole(of.shape.samples * sequence * (of.spec.width + keys)), ++seed));
      earlier_key_grads.push_back(random_numbers(whole(of.shape.samples * sequence * keys), ++seed));
    }
    make_ids(of);
  }

  void make_ids(const LayerCase& of) {
    Random random(7);
    const auto below = static_cast<std::uint64_t>(of.spec.vocabulary > 0 ? of.spec.vocabulary : 256);
    const std::int64_t per_token = of.spec.kind == LayerKind::kPixels ? outputs / of.shape.tokens() : 1;
    for (std::int64_t t = 0; t < of.shape.tokens() * per_token; ++t) {
      tokens.push_back(static_cast<std::int32_t>(random.below(below)));
      targets.push_back(t % 5 == 4 ? -1 : static_cast<std::int32_t>(random.below(below)));
    }
    if (of.spec.padded) {
      for (std::int64_t t = of.shape.sequence - 3; t < of.shape.sequence; ++t) tokens[whole(t)] = 0;
    }
    values = random_numbers(whole(of.shape.tokens() * of.spec.width), 8);
  }
};

void add_to(std::vector<double>& sum, const std::vector<double>& term) {
  for (std::size_t i = 0; i < term.size(); ++i) sum[i] += term[i];
}

/// The device's memory of one case.
template <class T>
struct DeviceData {
  LayerFacts facts;
  DeviceBuffer<T> input, from, output_grad, added, key_grads, output, input_grad, from_grad;
  std::vector<DeviceBuffer<T>> weights, earlier_qkv, earlier_key_grads;
  std::vector<DeviceBuffer<float>> gradients;
  std::vector<DeviceBytes> stash;
  DeviceBuffer<std::int32_t> tokens, targets;
  DeviceBuffer<double> values;
  DeviceBytes workspace, scratch;
  DeviceBuffer<double> loss{1};
  DeviceBuffer<std::int64_t> correct{std::vector<double>{0}};

  DeviceData(const LayerCase& of, const Data& data, std::int64_t scratch_bytes)
      : facts(describe(of.spec, of.shape, sizeof(T) == 2 ? kMixedPrecision : Precision{})),
        input(data.input, of.misaligned),
        from(data.from, of.misaligned),
        output_grad(data.output_grad, of.misaligned),
        added(data.added, of.misaligned),
        key_grads(data.key_grads, of.misaligned),
        output(whole(data.outputs), of.misaligned),
        input_grad(data.input.size(), of.misaligned),
        from_grad(data.from.size(), of.misaligned),
        tokens(doubles(data.tokens)),
        targets(doubles(data.targets)),
        values(data.values),
        workspace(whole(std::max({facts.forward.workspace_bytes, facts.input_grad.workspace_bytes,
                                  facts.weight_grad.workspace_bytes})),
                  shift(of)),
        scratch(whole(scratch_bytes)) {
    for (const auto& one : data.weights) weights.emplace_back(one, of.misaligned);
    for (const auto& one : data.gradients) gradients.emplace_back(one, of.misaligned);
    for (const auto& one : data.earlier_qkv) earlier_qkv.emplace_back(one, of.misaligned);
    for (const auto& one : data.earlier_key_grads) earlier_key_grads.emplace_back(one, of.misaligned);
    for (const StashTensor& tensor : facts.stash) stash.emplace_back(whole(tensor.bytes), shift(of));
  }

  /// Of bytes that may be floats.
  static std::size_t shift(const LayerCase& of) { return of.misaligned ? sizeof(float) : 0; }

  bool intact() const {
    bool all = workspace.intact() && scratch.intact() && loss.intact();
    for (const auto* one : {&input, &from, &output_grad, &added, &key_grads, &output, &input_grad, &from_grad}) {
      all = all && one->intact();
    }
    for (const auto& one : weights) all = all && one.intact();
    for (const auto& one : gradients) all = all && one.intact();
    for (const auto& one : stash) all = all && one.intact();
    for (const auto& one : earlier_qkv) all = all && one.intact();
    for (const auto& one : earlier_key_grads) all = all && one.intact();
    return all;
  }
};

/// The pointer lists that a pass refers to.
template <class T>
struct DevicePointers {
  std::vector<const T*> weights;
  std::vector<float*> gradients;
  std::vector<std::byte*> stash;
  std::vector<EarlierKeys<T>> earlier;

  DevicePointers(const LayerCase& of, const DeviceData<T>& data) {
    for (const auto& one : data.weights) weights.push_back(one.data());
    for (const auto& one : data.gradients) gradients.push_back(one.data());
    for (const auto& one : data.stash) stash.push_back(one.begin());
    for (std::size_t i = 0; i < of.earlier.size(); ++i) {
      earlier.push_back({data.earlier_qkv[i].data() + of.spec.width, qkv_width(of.spec),
                         data.earlier_key_grads[i].data(), of.earlier[i]});
    }
  }
};

template <class T>
LayerResults results_of(const DeviceData<T>& data) {
  LayerResults results{{"output", data.output.values()},
                       {"input_grad", data.input_grad.values()},
                       {"from_grad", data.from_grad.values()},
                       {"sum", data.input.values()}};
  for (std::size_t i = 0; i < data.gradients.size(); ++i) {
    results["gradient" + std::to_string(i)] = data.gradients[i].values();
  }
  for (std::size_t i = 0; i < data.earlier_key_grads.size(); ++i) {
    results["earlier" + std::to_string(i)] = data.earlier_key_grads[i].values();
  }
  if (data.facts.output_bytes == 0) {
    results["loss"] = data.loss.values();
    results["correct"] = data.correct.values();
  }
  for (std::size_t i = 0; i < data.stash.size(); ++i) {
    auto& bits = results["stash" + std::to_string(i)];
    for (std::size_t b = 0; b < data.stash[i].size(); ++b) {
      bits.push_back(static_cast<double>(data.stash[i].begin()[b]));
    }
  }
  return results;
}

}  // namespace

LayerResults run_on_cpu(const LayerCase& of) {
  Data data(of);
  const auto layer = make_layer<double>(of.spec, of.shape);
  std::vector<std::vector<double>> stash;
  for (const StashTensor& tensor : data.facts.stash) stash.emplace_back(whole(tensor.bytes / 8 + 1));
  std::vector<const double*> weights;
  std::vector<double*> gradients;
  std::vector<std::byte*> kept;
  std::vector<EarlierKeys<double>> earlier;
  for (const auto& values : data.weights) weights.push_back(values.data());
  for (auto& values : data.gradients) gradients.push_back(values.data());
  for (auto& values : stash) kept.push_back(reinterpret_cast<std::byte*>(values.data()));
  for (std::size_t i = 0; i < of.earlier.size(); ++i) {
    earlier.push_back({.keys = data.earlier_qkv[i].data() + of.spec.width,
                       .stride = qkv_width(of.spec),
                       .key_grads = data.earlier_key_grads[i].data(),
                       .sequence = of.earlier[i]});
  }
  add_to(data.input, data.added);
  std::vector<double> output(whole(data.outputs)), input_grad(data.input.size()), from_grad(data.from.size());
  std::vector<double> workspace(
      whole(std::max({data.facts.forward.workspace_bytes, data.facts.input_grad.workspace_bytes,
                      data.facts.weight_grad.workspace_bytes}) /
                8 +
            1));
  double loss = 0;
  std::int64_t correct = 0;
  LayerPass<double> pass;
  pass.weights = weights;
  pass.gradients = gradients;
  pass.stash = kept;
  pass.input = data.input.data();
  pass.from = data.from.data();
  pass.output = output.data();
  pass.output_grad = data.output_grad.data();
  pass.input_grad = input_grad.data();
  pass.from_grad = from_grad.data();
  pass.workspace = reinterpret_cast<std::byte*>(workspace.data());
  pass.ids = ids_of(data);
  pass.loss = &loss;
  pass.correct = &correct;
  pass.loss_tokens = 3;
  pass.earlier = earlier;
  pass.key_grads = data.key_grads.empty() ? nullptr : data.key_grads.data();
  layer->forward(pass);
  layer->input_grad(pass);
  layer->weight_grad(pass);
  add_to(input_grad, data.added);
  LayerResults results{{"output", output}, {"input_grad", input_grad}, {"from_grad", from_grad}};
  if (of.adds) results["sum"] = data.input;
  for (std::size_t i = 0; i < gradients.size(); ++i) results["gradient" + std::to_string(i)] = data.gradients[i];
  for (std::size_t i = 0; i < earlier.size(); ++i) results["earlier" + std::to_string(i)] = data.earlier_key_grads[i];
  if (data.outputs == 0) {
    results["loss"] = {loss};
    results["correct"] = {static_cast<double>(correct)};
  }
  if (data.facts.output_grad_last_use == LastUse::kForward || data.input.empty()) results.erase("input_grad");
  return results;
}

template <class T>
LayerResults run_on_device(const LayerCase& of) {
  const Data data(of);
  const auto layer = make_cuda_layer<T>(of.spec, of.shape);
  DeviceData<T> device(of, data, layer->scratch_bytes());
  const DevicePointers<T> pointers(of, device);
  const std::unique_ptr<MatrixProducts> products = make_products(of.fuses_gelu);
  CudaPass<T> pass;
  pass.device = {nullptr, products.get(), device.scratch.begin(), of.attention, of.convolutions};
  pass.weights = pointers.weights;
  pass.gradients = pointers.gradients;
  pass.stash = pointers.stash;
  pass.input = device.input.data();
  pass.from = device.from.data();
  pass.output = device.output.data();
  pass.output_grad = device.output_grad.data();
  pass.input_grad = device.input_grad.data();
  pass.from_grad = device.from_grad.data();
  pass.workspace = device.workspace.begin();
  pass.ids = ids_of(device);
  pass.loss = device.loss.data();
  pass.correct = device.correct.data();
  pass.loss_tokens = 3;
  pass.earlier = pointers.earlier;
  pass.key_grads = data.key_grads.empty() ? nullptr : device.key_grads.data();
  pass.added = of.adds ? device.added.data() : nullptr;
  layer->forward(pass);
  layer->input_grad(pass);
  layer->weight_grad(pass);
  if (!device.intact()) throw std::logic_error("a kernel wrote outside of its memory");
  return results_of(device);
}

template LayerResults run_on_device<float>(const LayerCase&);
template LayerResults run_on_device<BFloat16>(const LayerCase&);

}  // namespace plumb::kernels
