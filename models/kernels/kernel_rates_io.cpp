#include "models/kernels/kernel_rates_io.hpp"

#include <algorithm>
#include <span>

#include <nlohmann/json.hpp>

#include "models/ground/json_reader.hpp"
#include "models/ground/presets.hpp"

namespace plumb {
namespace {

using RatesJson = nlohmann::ordered_json;

struct RateNumber {
  std::string_view key;
  double KernelRates::*field;
  double least;
  double most;
};

constexpr std::array<RateNumber, 11> kNumbers{{
    {"gemm_efficiency", &KernelRates::gemm_efficiency, 1e-3, 1},
    {"gemm_half_k", &KernelRates::gemm_half_k, 0, 1e6},
    {"gemm_accumulate_k", &KernelRates::gemm_accumulate_k, 0, 1e6},
    {"attention_forward", &KernelRates::attention_forward, 1e-3, 1},
    {"attention_backward", &KernelRates::attention_backward, 1e-3, 1},
    {"attention_half_rows", &KernelRates::attention_half_rows, 0, 1e9},
    {"inside_share", &KernelRates::inside_share, 1e-3, 10},
    {"between_share", &KernelRates::between_share, 1e-3, 10},
    {"memory_reserve", &KernelRates::memory_reserve, 0, 1},
    {"expected_error", &KernelRates::expected_error, 0, 1e3},
    {"watts", &KernelRates::watts, 0, 1e5},
}};

struct RateInteger {
  std::string_view key;
  std::int64_t KernelRates::*field;
  std::int64_t least;
  std::int64_t most;
};

constexpr std::int64_t kMostNs = 10'000'000'000;
constexpr std::int64_t kMostRateSide = std::int64_t{1} << 40;
constexpr std::array<RateInteger, 11> kIntegers{{
    {"fitted_rows", &KernelRates::fitted_rows, 0, kMostRateSide},
    {"tile_m", &KernelRates::tile_m, 1, 4096},
    {"tile_n", &KernelRates::tile_n, 1, 4096},
    {"multiprocessors", &KernelRates::multiprocessors, 1, 65536},
    {"kernel_ns", &KernelRates::kernel_ns, 0, kMostNs},
    {"host_ns", &KernelRates::host_ns, 0, kMostNs},
    {"collective_ns", &KernelRates::collective_ns, 0, kMostNs},
    {"update_ns", &KernelRates::update_ns, 0, kMostNs},
    {"context_bytes", &KernelRates::context_bytes, 0, kMostRateSide},
    {"library_bytes", &KernelRates::library_bytes, 0, kMostRateSide},
    {"workspace_bytes", &KernelRates::workspace_bytes, 0, kMostRateSide},
}};

constexpr std::array<std::string_view, 3> kBasisNames{"assumed", "fitted", "measured"};
constexpr std::array<std::string_view, 5> kCollectiveNames{"all-reduce", "all-gather", "reduce-scatter", "all-to-all",
                                                           "broadcast"};

/// Returns the position of a value among `names`.
std::size_t choice_of(const JsonValue& value, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, value.text());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string expected;
  for (const std::string_view name : names) expected += (expected.empty() ? "one of " : ", ") + std::string(name);
  value.fail_expected(expected);
}

template <class Enum>
Enum choice_or_first(const JsonValue& row, std::string_view key, std::span<const std::string_view> names) {
  const auto value = row.find(key);
  return value ? static_cast<Enum>(choice_of(*value, names)) : Enum{};
}

std::int64_t side_or_one(const JsonValue& row, std::string_view key) {
  const auto value = row.find(key);
  return value ? value->integer(1, kMostRateSide) : 1;
}

/// An object of numbers by name; names that are missing keep what they have.
void read_by_name(const JsonValue& object, std::span<const std::string_view> names, double most, double* numbers) {
  object.allow_only(std::vector<std::string_view>(names.begin(), names.end()));
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (const auto value = object.find(names[k])) numbers[k] = value->number(1e-3, most);
  }
}

RatesJson by_name(std::span<const std::string_view> names, const double* numbers) {
  RatesJson json = RatesJson::object();
  for (std::size_t k = 0; k < names.size(); ++k) json[std::string(names[k])] = numbers[k];
  return json;
}

constexpr double kLeastEfficiency = 1e-6;

GemmPoint gemm_point(const JsonValue& row) {
  row.allow_only({"m", "n", "k", "count", "pass", "format", "accumulated", "efficiency"});
  GemmPoint point;
  point.shape = {.m = row.at("m").integer(1, kMostRateSide),
                 .n = row.at("n").integer(1, kMostRateSide),
                 .k = row.at("k").integer(1, kMostRateSide),
                 .count = side_or_one(row, "count"),
                 .pass = choice_or_first<ProductPass>(row, "pass", kProductPassNames),
                 .format = choice_or_first<MatrixFormat>(row, "format", kMatrixFormatNames)};
  if (const auto bytes = row.find("accumulated")) point.shape.accumulated = bytes->integer(0, 8);
  point.efficiency = row.at("efficiency").number(kLeastEfficiency, 1);
  return point;
}

AttentionPoint attention_point(const JsonValue& row) {
  row.allow_only({"rows", "columns", "heads", "key_width", "value_width", "pass", "efficiency"});
  AttentionPoint point;
  point.shape = {.rows = row.at("rows").integer(1, kMostRateSide),
                 .columns = row.at("columns").integer(1, kMostRateSide),
                 .heads = row.at("heads").integer(1, kMostRateSide),
                 .key_width = row.at("key_width").integer(1, kMostRateSide),
                 .value_width = row.at("value_width").integer(1, kMostRateSide),
                 .pass = static_cast<ProductPass>(choice_of(row.at("pass"), std::span(kProductPassNames).first(2)))};
  point.efficiency = row.at("efficiency").number(kLeastEfficiency, 1);
  return point;
}

CollectivePoint collective_point(const JsonValue& row) {
  row.allow_only({"op", "ranks", "nodes", "share", "latency_ns"});
  CollectivePoint point;
  point.op = static_cast<CollectiveOp>(choice_of(row.at("op"), kCollectiveNames));
  point.ranks = row.at("ranks").integer(2, kMostRateSide);
  point.nodes = side_or_one(row, "nodes");
  point.share = row.at("share").number(1e-3, 10);
  if (const auto latency = row.find("latency_ns")) point.latency_ns = latency->integer(0, kMostNs);
  return point;
}

template <class Point, class Read>
void read_points(const JsonValue& root, std::string_view key, std::vector<Point>& points, Read&& read) {
  const auto rows = root.find(key);
  if (!rows) return;
  points.clear();
  for (const JsonValue& row : rows->elements()) points.push_back(read(row));
}

/// What version 1 had: one share of all attention, of all memory and of all links.
void read_version_1(const JsonValue& root, KernelRates& rates) {
  if (const auto share = root.find("attention_efficiency")) {
    rates.attention_forward = rates.attention_backward = share->number(1e-3, 1);
  }
  if (const auto share = root.find("memory_efficiency")) rates.set_memory_shares(share->number(1e-3, 1));
  if (const auto share = root.find("link_efficiency")) {
    rates.inside_share = rates.between_share = share->number(1e-3, 10);
  }
  if (const auto time = root.find("pass_ns")) time->integer(0, kMostNs);
}

/// What version 2 has beyond numbers of one name.
void read_version_2(const JsonValue& root, KernelRates& rates) {
  rates.basis = choice_or_first<RatesBasis>(root, "basis", kBasisNames);
  if (const auto peaks = root.find("peaks")) {
    read_by_name(*peaks, kMatrixFormatNames, 64, rates.peaks.data());
    rates.says_formats = true;
  }
  if (const auto passes = root.find("gemm_by_pass")) {
    read_by_name(*passes, kProductPassNames, 2, rates.gemm_by_pass.data());
  }
  if (const auto memory = root.find("memory")) read_by_name(*memory, kMovementNames, 1, rates.memory_shares.data());
  if (const auto reduces = root.find("switch_reduces")) rates.switch_reduces = reduces->boolean();
  if (const auto layout = root.find("any_layout")) rates.any_layout = layout->boolean();
  read_points(root, "attentions", rates.attentions, attention_point);
  read_points(root, "collectives", rates.collectives, collective_point);
}

std::vector<std::string_view> keys_of(std::int64_t version) {
  std::vector<std::string_view> keys{"format", "version", "device", "source", "gemms"};
  for (const RateNumber& number : kNumbers) keys.push_back(number.key);
  for (const RateInteger& integer : kIntegers) keys.push_back(integer.key);
  const std::initializer_list<std::string_view> first{"attention_efficiency", "memory_efficiency", "link_efficiency",
                                                      "pass_ns"};
  const std::initializer_list<std::string_view> second{
      "basis", "like", "peaks", "gemm_by_pass", "memory", "switch_reduces", "any_layout", "attentions", "collectives"};
  const auto& more = version == 1 ? first : second;
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

RatesJson json_of(const GemmPoint& point) {
  const ProductShape& shape = point.shape;
  RatesJson json{{"m", shape.m}, {"n", shape.n}, {"k", shape.k}};
  if (shape.count != 1) json["count"] = shape.count;
  json["pass"] = kProductPassNames[static_cast<std::size_t>(shape.pass)];
  if (shape.format != MatrixFormat::kBf16) json["format"] = kMatrixFormatNames[static_cast<std::size_t>(shape.format)];
  if (shape.accumulated != 0) json["accumulated"] = shape.accumulated;
  json["efficiency"] = point.efficiency;
  return json;
}

RatesJson json_of(const AttentionPoint& point) {
  const AttentionShape& shape = point.shape;
  return {{"rows", shape.rows},
          {"columns", shape.columns},
          {"heads", shape.heads},
          {"key_width", shape.key_width},
          {"value_width", shape.value_width},
          {"pass", kProductPassNames[static_cast<std::size_t>(shape.pass)]},
          {"efficiency", point.efficiency}};
}

RatesJson json_of(const CollectivePoint& point) {
  return {{"op", kCollectiveNames[static_cast<std::size_t>(point.op)]},
          {"ranks", point.ranks},
          {"nodes", point.nodes},
          {"share", point.share},
          {"latency_ns", point.latency_ns}};
}

/// A point is one line of the document.
template <class Point>
std::string lines_of(std::string_view key, const std::vector<Point>& points) {
  std::string text;
  for (const Point& point : points) text += (text.empty() ? "\n    " : ",\n    ") + json_of(point).dump();
  return points.empty() ? text : ",\n  \"" + std::string(key) + "\": [" + text + "\n  ]";
}

/// Returns what a document begins with that is like a preset of another device.
KernelRates begun_like(const JsonValue& like) {
  std::vector<std::string_view> names;
  for (const Preset& preset : device_presets()) {
    if (preset.name == like.text()) return kernel_rates_from_json(preset.json, std::string(preset.name) + ".json");
    names.push_back(preset.name);
  }
  choice_of(like, names);  // throws
  return {};
}

/// Measured shapes that were taken over stand as far from this device's smooth model as from the other's.
void carry_over(const KernelRates& like, KernelRates& rates) {
  KernelRates own = rates;
  KernelRates others = like;
  for (KernelRates* smooth : {&own, &others}) {
    smooth->gemms.clear();
    smooth->attentions.clear();
  }
  const auto carry = [](double& efficiency, double to, double from) {
    efficiency = std::clamp(efficiency * (to / from), kLeastEfficiency, 1.0);
  };
  if (rates.gemms == like.gemms) {
    for (auto& [shape, efficiency] : rates.gemms) carry(efficiency, own.gemm_share(shape), others.gemm_share(shape));
  }
  if (rates.attentions == like.attentions) {
    for (auto& [shape, efficiency] : rates.attentions) {
      carry(efficiency, own.attention_share(shape), others.attention_share(shape));
    }
  }
}

std::vector<KernelRates> built_in_rates() {
  std::vector<KernelRates> all;
  for (const Preset& preset : device_presets()) {
    all.push_back(kernel_rates_from_json(preset.json, std::string(preset.name) + ".json"));
  }
  return all;
}

}  // namespace

KernelRates kernel_rates_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  const std::int64_t version = root.at("version").integer(1, 2);
  check_format(root, "plumbline-device", version);
  root.allow_only(keys_of(version));
  const auto like = root.find("like");
  KernelRates rates = like ? begun_like(*like) : KernelRates{};
  const KernelRates begun = rates;
  rates.device = root.at("device").text();
  if (const auto source = root.find("source")) rates.source = source->text();
  for (const RateNumber& number : kNumbers) {
    if (const auto value = root.find(number.key)) rates.*number.field = value->number(number.least, number.most);
  }
  for (const RateInteger& integer : kIntegers) {
    if (const auto value = root.find(integer.key)) rates.*integer.field = value->integer(integer.least, integer.most);
  }
  read_points(root, "gemms", rates.gemms, gemm_point);
  version == 1 ? read_version_1(root, rates) : read_version_2(root, rates);
  if (like) carry_over(begun, rates);
  return rates;
}

std::string kernel_rates_to_json(const KernelRates& rates) {
  RatesJson json{{"format", "plumbline-device"}, {"version", 2}, {"device", rates.device}, {"source", rates.source}};
  json["basis"] = kBasisNames[static_cast<std::size_t>(rates.basis)];
  if (rates.says_formats) json["peaks"] = by_name(kMatrixFormatNames, rates.peaks.data());
  json["gemm_by_pass"] = by_name(kProductPassNames, rates.gemm_by_pass.data());
  json["memory"] = by_name(kMovementNames, rates.memory_shares.data());
  json["switch_reduces"] = rates.switch_reduces;
  if (rates.any_layout) json["any_layout"] = true;
  for (const RateNumber& number : kNumbers) {
    const bool unknown = number.field == &KernelRates::watts && rates.watts == 0;
    if (!unknown) json[std::string(number.key)] = rates.*number.field;
  }
  for (const RateInteger& integer : kIntegers) json[std::string(integer.key)] = rates.*integer.field;
  std::string text = json.dump(2);
  text.resize(text.size() - 2);  // "\n}"
  return text + lines_of("gemms", rates.gemms) + lines_of("attentions", rates.attentions) +
         lines_of("collectives", rates.collectives) + "\n}\n";
}

KernelRates kernel_rates_of(const DeviceSpec& device) {
  static const std::vector<KernelRates> kBuiltIn = built_in_rates();
  const KernelRates* best = nullptr;
  for (const KernelRates& rates : kBuiltIn) {
    if (!device.name.starts_with(rates.device)) continue;
    if (best == nullptr || rates.device.size() > best->device.size()) best = &rates;
  }
  if (best != nullptr) return *best;
  KernelRates assumed;
  assumed.device = device.name;
  assumed.source = "efficiencies of the cluster's document";
  assumed.gemm_efficiency = assumed.attention_forward = assumed.attention_backward = device.compute_efficiency;
  assumed.set_memory_shares(device.memory_efficiency);
  return assumed;
}

}  // namespace plumb
