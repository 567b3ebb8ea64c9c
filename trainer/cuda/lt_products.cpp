#include "trainer/cuda/lt_products.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <cuda_runtime_api.h>

#include "models/ground/error.hpp"
#include "trainer/cuda/lt_library.hpp"
#include "trainer/cuda/product_trial.hpp"

namespace plumb::cuda {

namespace {

using kernels::Epilogue;
using kernels::MatrixProduct;
using kernels::NumberKind;

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(std::string("cuBLASLt: ") + call + ": " + lt().GetStatusString(status));
}
#define PLUMB_LT_CALL(call) check(call, #call)

cudaDataType_t type_of(NumberKind kind) { return kind == NumberKind::kFloat32 ? CUDA_R_32F : CUDA_R_16BF; }
std::uint32_t bytes_of(NumberKind kind) { return kind == NumberKind::kFloat32 ? 4 : 2; }

cublasLtEpilogue_t epilogue_of(const MatrixProduct& product) {
  switch (product.epilogue) {
    case Epilogue::kNone:
      return CUBLASLT_EPILOGUE_DEFAULT;
    case Epilogue::kBias:
      return CUBLASLT_EPILOGUE_BIAS;
    case Epilogue::kGelu:
      return product.bias != nullptr ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    case Epilogue::kGeluGrad:
      return CUBLASLT_EPILOGUE_DGELU;
  }
  return CUBLASLT_EPILOGUE_DEFAULT;
}

/// Returns the largest power of two that divides an address or a number of bytes, up to the 16 that kernels ask for:
/// more would tell products apart by where a stage happens to keep its weights.
std::uint32_t alignment_of(std::uintptr_t bytes) {
  const std::uintptr_t bits = bytes | 16U;
  return static_cast<std::uint32_t>(bits & (~bits + 1));
}
std::uint32_t alignment_of(const void* address) { return alignment_of(reinterpret_cast<std::uintptr_t>(address)); }

/// What decides about an algorithm.
using PlanKey =
    std::tuple<std::array<std::int64_t, 7>, std::array<bool, 3>, std::array<int, 4>, std::array<std::uint32_t, 3>>;
PlanKey key_of(const MatrixProduct& of) {
  return {{of.rows, of.columns, of.depth, of.a.stride, of.b.stride, of.c_stride, of.inner_stride},
          {of.a.transposed, of.b.transposed, of.accumulates},
          {static_cast<int>(of.operands), static_cast<int>(of.result), static_cast<int>(of.epilogue),
           of.bias != nullptr ? 1 : 0},
          {alignment_of(of.a.data), alignment_of(of.b.data), alignment_of(of.c)}};
}

class Layout {
 public:
  Layout() = default;
  Layout(cudaDataType_t type, std::int64_t rows, std::int64_t columns, std::int64_t stride) {
    PLUMB_LT_CALL(lt().MatrixLayoutCreate(&layout_, type, static_cast<std::uint64_t>(rows),
                                          static_cast<std::uint64_t>(columns), stride));
  }
  Layout(Layout&& other) noexcept : layout_(std::exchange(other.layout_, nullptr)) {}
  Layout& operator=(Layout&& other) noexcept {
    std::swap(layout_, other.layout_);
    return *this;
  }
  ~Layout() {
    if (layout_ != nullptr) lt().MatrixLayoutDestroy(layout_);
  }
  cublasLtMatrixLayout_t get() const { return layout_; }

 private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};

/// A stored row-major matrix is its transpose to the library, which counts by columns: c^T = b^T a^T.
struct LtPlan {
  cublasLtMatmulDesc_t product = nullptr;
  Layout a;
  Layout b;
  Layout c;
  cublasLtMatmulAlgo_t algorithm{};
  bool chosen = false;  ///< the algorithm
  bool possible = false;
  bool impossible = false;

  LtPlan() = default;
  LtPlan(const LtPlan&) = delete;
  LtPlan& operator=(const LtPlan&) = delete;
  ~LtPlan() {
    if (product != nullptr) lt().MatmulDescDestroy(product);
  }

  template <class V>
  void set(cublasLtMatmulDescAttributes_t attribute, const V& value) {
    PLUMB_LT_CALL(lt().MatmulDescSetAttribute(product, attribute, &value, sizeof(value)));
  }

  void describe(const MatrixProduct& of, int sms) {
    PLUMB_LT_CALL(lt().MatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    set(CUBLASLT_MATMUL_DESC_TRANSA, of.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, of.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(of));
    if (sms > 0) set(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, static_cast<std::int32_t>(sms));
    if (of.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(type_of(of.operands)));
    if (of.inner != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, of.inner_stride);
    const cudaDataType_t operands = type_of(of.operands);
    a = of.b.transposed ? Layout(operands, of.depth, of.columns, of.b.stride)
                        : Layout(operands, of.columns, of.depth, of.b.stride);
    b = of.a.transposed ? Layout(operands, of.rows, of.depth, of.a.stride)
                        : Layout(operands, of.depth, of.rows, of.a.stride);
    c = Layout(type_of(of.result), of.columns, of.rows, of.c_stride);
  }

  void point(const MatrixProduct& of) {
    if (of.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of.bias);
    if (of.inner != nullptr) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, of.inner);
  }
};

class Preference {
 public:
  Preference() { PLUMB_LT_CALL(lt().MatmulPreferenceCreate(&preference_)); }
  ~Preference() { lt().MatmulPreferenceDestroy(preference_); }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;

  template <class V>
  void set(cublasLtMatmulPreferenceAttributes_t attribute, const V& value) {
    PLUMB_LT_CALL(lt().MatmulPreferenceSetAttribute(preference_, attribute, &value, sizeof(value)));
  }
  cublasLtMatmulPreference_t get() const { return preference_; }

 private:
  cublasLtMatmulPreference_t preference_ = nullptr;
};

/// 0, which says nothing special, where an algorithm does not have it.
template <class V>
V property(const cublasLtMatmulAlgo_t& algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute) {
  V value{};
  std::size_t written = 0;
  const cublasStatus_t status =
      lt().MatmulAlgoConfigGetAttribute(&algorithm, attribute, &value, sizeof(value), &written);
  return status == CUBLAS_STATUS_SUCCESS ? value : V{};
}

int cluster_size_of(const cublasLtMatmulAlgo_t& algorithm) {
  switch (property<std::uint16_t>(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID)) {
    case CUBLASLT_CLUSTER_SHAPE_1x1x1:
      return 1;
    case CUBLASLT_CLUSTER_SHAPE_1x2x1:
    case CUBLASLT_CLUSTER_SHAPE_2x1x1:
      return 2;
    default:  // or the library decides at the launch
      return 16;
  }
}

ProductCandidate candidate_of(const cublasLtMatmulHeuristicResult_t& found) {
  ProductCandidate candidate;
  static_assert(sizeof(found.algo) == sizeof(candidate.algorithm));
  std::memcpy(candidate.algorithm.data(), &found.algo, sizeof(found.algo));
  candidate.split_k = property<std::int32_t>(found.algo, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  candidate.reduction_scheme =
      static_cast<int>(property<std::uint32_t>(found.algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME));
  candidate.cluster_size = cluster_size_of(found.algo);
  candidate.workspace_bytes = static_cast<std::int64_t>(found.workspaceSize);
  return candidate;
}

const char* text_of(NumberKind kind) { return kind == NumberKind::kFloat32 ? "f32" : "bf16"; }

const char* text_of(const MatrixProduct& of, Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kBias:
      return "bias";
    case Epilogue::kGelu:
      return of.bias != nullptr ? "gelu_bias" : "gelu";
    case Epilogue::kGeluGrad:
      return "gelu_grad";
    default:
      return "none";
  }
}

/// Values of which rows begin at multiples of 16 bytes.
constexpr std::int64_t kPacked = 16;

/// Describes a product as the library counts: by columns.
ProductKey table_key(const MatrixProduct& of, int sms) {
  std::uint32_t alignment = 16;
  const auto look_at = [&](const void* data, std::int64_t stride, NumberKind kind) {
    const auto row = static_cast<std::uintptr_t>(stride * bytes_of(kind));
    alignment = std::min({alignment, alignment_of(data), alignment_of(row)});
  };
  look_at(of.a.data, of.a.stride, of.operands);
  look_at(of.b.data, of.b.stride, of.operands);
  look_at(of.c, of.c_stride, of.result);
  // The epilogue reads them in packs, too.
  if (of.bias != nullptr) look_at(of.bias, kPacked, of.operands);
  if (of.inner != nullptr) look_at(of.inner, of.inner_stride, of.operands);
  const std::string operand = text_of(of.operands);
  return {.m = of.columns,
          .n = of.rows,
          .k = of.depth,
          .a_transposed = of.b.transposed,
          .b_transposed = of.a.transposed,
          .types = operand + "," + operand + "," + text_of(of.result),
          .epilogue = text_of(of, of.epilogue),
          .accumulates = of.accumulates,
          .alignment = static_cast<int>(alignment),
          .sms = sms};
}

}  // namespace

struct LtProducts::Library {
  LtPlace place;
  ProductTable own_table{"this process"};
  cublasLtHandle_t handle = nullptr;
  std::map<PlanKey, std::unique_ptr<LtPlan>> plans;

  explicit Library(const LtPlace& given) : place(given) { PLUMB_LT_CALL(lt().Create(&handle)); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { lt().Destroy(handle); }

  /// Returns the plan of a product, which is new when no product like this one has been met.
  LtPlan& plan(const MatrixProduct& of) {
    std::unique_ptr<LtPlan>& known = plans[key_of(of)];
    if (known == nullptr) {
      known = std::make_unique<LtPlan>();
      known->describe(of, place.sms);
    }
    known->point(of);
    return *known;
  }

  ProductTable& table() { return place.table != nullptr ? *place.table : own_table; }
  // A part of a GPU may hold no larger cluster than two neighbours.
  ProductLimits limits() const {
    return {.workspace_bytes = place.workspace_bytes, .cluster_size = place.sms == 0 ? 16 : 2};
  }

  cublasStatus_t multiply(const MatrixProduct& of, const LtPlan& plan, kernels::Stream stream) {
    const float beta = of.accumulates ? 1.0F : 0.0F;
    return lt().Matmul(handle, plan.product, &of.scale, of.b.data, plan.a.get(), of.a.data, plan.b.get(), &beta, of.c,
                       plan.c.get(), of.c, plan.c.get(), &plan.algorithm, place.workspace,
                       static_cast<std::size_t>(place.workspace_bytes), stream);
  }

  /// Chooses the product's algorithm, and does the product. A product that adds to what is there is tried on what is
  /// there, which is put back after every trial.
  void multiply_first(const MatrixProduct& of, LtPlan& plan, kernels::Stream stream) {
    std::optional<ProductTrial> trial;
    bool done = false;
    const auto launch = [&] { return multiply(of, plan, stream) == CUBLAS_STATUS_SUCCESS; };
    const auto time = [&](const AlgorithmBytes& algorithm) -> std::optional<double> {
      std::memcpy(&plan.algorithm, algorithm.data(), algorithm.size());
      if (table().trials() > 1) {
        if (!trial) trial.emplace(of.accumulates ? result_of(of) : TrialResult{}, stream);
        return trial->time(launch);
      }
      done = launch();  // is the product itself, if it succeeds
      if (!done) cudaGetLastError();
      return done ? std::optional(0.0) : std::nullopt;
    };
    const AlgorithmBytes chosen = table().choose(
        table_key(of, place.sms), limits(), [&] { return candidates(of, plan); }, time);
    std::memcpy(&plan.algorithm, chosen.data(), chosen.size());
    if (!done) PLUMB_LT_CALL(multiply(of, plan, stream));
    plan.chosen = true;
  }

  static TrialResult result_of(const MatrixProduct& of) {
    return {static_cast<std::byte*>(of.c), static_cast<std::size_t>(of.c_stride) * bytes_of(of.result),
            static_cast<std::size_t>(of.columns) * bytes_of(of.result), static_cast<std::size_t>(of.rows)};
  }

  /// Returns whether the library has an algorithm for a product, without running it.
  bool knows(const MatrixProduct& of) {
    LtPlan& known = plan(of);
    if (known.chosen || known.possible) return true;
    if (known.impossible) return false;
    known.possible = table().find(table_key(of, place.sms)) || !usable(candidates(of, known), limits()).empty();
    known.impossible = !known.possible;
    return known.possible;
  }

  std::vector<ProductCandidate> candidates(const MatrixProduct& of, const LtPlan& plan) const {
    Preference preference;
    preference.set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(place.workspace_bytes));
    preference.set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_NONE));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(of.b.data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(of.a.data));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(of.c));
    preference.set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(of.c));
    std::array<cublasLtMatmulHeuristicResult_t, 32> found{};
    int count = 0;
    const cublasStatus_t status =
        lt().MatmulAlgoGetHeuristic(handle, plan.product, plan.a.get(), plan.b.get(), plan.c.get(), plan.c.get(),
                                    preference.get(), static_cast<int>(found.size()), found.data(), &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};  // which is how it says that there is none
    check(status, "MatmulAlgoGetHeuristic");
    std::vector<ProductCandidate> proposed;
    for (const auto& one : std::span(found).first(static_cast<std::size_t>(count))) {
      if (one.state == CUBLAS_STATUS_SUCCESS) proposed.push_back(candidate_of(one));
    }
    return proposed;
  }
};

std::string product_table_head(const std::string& gpu) {
  return "cublasLt " + std::to_string(lt().GetVersion()) + ", " + gpu;
}

LtProducts::LtProducts(const LtPlace& place) : library_(std::make_unique<Library>(place)) {}
LtProducts::~LtProducts() = default;

bool LtProducts::fuses(const MatrixProduct& product) const {
  const bool gelu = product.epilogue == Epilogue::kGelu || product.epilogue == Epilogue::kGeluGrad;
  if (!gelu) return true;
  const auto packed = [&](const void* data, std::int64_t stride) {
    return alignment_of(data) >= 16 && stride * bytes_of(product.operands) % 16 == 0;
  };
  return product.operands == NumberKind::kBFloat16 && packed(product.inner, product.inner_stride) &&
         packed(product.c, product.c_stride) && packed(product.a.data, product.a.stride) &&
         packed(product.b.data, product.b.stride) && library_->knows(product);
}

void LtProducts::run(const MatrixProduct& product, kernels::Stream stream) {
  LtPlan& plan = library_->plan(product);
  if (!plan.chosen) return library_->multiply_first(product, plan, stream);
  PLUMB_LT_CALL(library_->multiply(product, plan, stream));
}

#undef PLUMB_LT_CALL

}  // namespace plumb::cuda
