#include "tools/devices/kernel_timings.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "models/ground/json_reader.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostSize = std::int64_t{1} << 50;
constexpr double kMostSeconds = 1e6;
constexpr std::array<std::pair<std::string_view, CollectiveOp>, 4> kTimedOps{
    {{"all_reduce", CollectiveOp::kAllReduce},
     {"all_gather", CollectiveOp::kAllGather},
     {"reduce_scatter", CollectiveOp::kReduceScatter},
     {"alltoall", CollectiveOp::kAllToAll}}};

double seconds_of(const JsonValue& row, std::string_view key = "seconds") {
  return row.at(key).number(0, kMostSeconds);
}

std::int64_t size_of(const JsonValue& row, std::string_view key) { return row.at(key).integer(1, kMostSize); }

template <class Enum>
Enum named(const JsonValue& value, std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, value.text());
  if (found == names.end()) value.fail_expected("a name of models/kernels/kernels.hpp");
  return static_cast<Enum>(found - names.begin());
}

void read_kernel(const JsonValue& row, KernelTimings& timings) {
  const std::string_view kind = row.at("kind").text();
  const auto pass = [&] { return named<ProductPass>(row.at("pass"), kProductPassNames); };
  if (kind == "product") {
    timings.products.push_back({{.m = size_of(row, "m"),
                                 .n = size_of(row, "n"),
                                 .k = size_of(row, "k"),
                                 .count = size_of(row, "count"),
                                 .pass = pass()},
                                seconds_of(row)});
  } else if (kind == "attention") {
    timings.attentions.push_back({{.rows = size_of(row, "rows"),
                                   .columns = size_of(row, "columns"),
                                   .heads = size_of(row, "heads") * size_of(row, "samples"),
                                   .key_width = size_of(row, "key_width"),
                                   .value_width = size_of(row, "value_width"),
                                   .pass = pass()},
                                  row.at("flops").number(1, 1e30),
                                  seconds_of(row)});
  } else if (kind == "memory" || kind == "optimizer") {
    timings.movements.push_back({named<Movement>(row.at("movement"), kMovementNames), row.at("bytes").number(1, 1e18),
                                 row.at("launches").integer(1, 1000), seconds_of(row)});
  } else if (kind == "copy") {
    timings.copied_per_s = row.at("bytes").number(1, 1e18) / std::max(1e-9, seconds_of(row));
  } else {
    row.at("kind").fail_expected("product, attention, memory, optimizer or copy");
  }
}

TimedCollective read_collective(const JsonValue& row) {
  const JsonValue op = row.at("op");
  const auto found = std::ranges::find(kTimedOps, op.text(), &std::pair<std::string_view, CollectiveOp>::first);
  if (found == kTimedOps.end()) op.fail_expected("all_reduce, all_gather, reduce_scatter or alltoall");
  return {found->second, row.at("ranks").integer(2, kMostSize), row.at("nodes").integer(1, kMostSize),
          row.at("bytes").number(1, 1e18), seconds_of(row)};
}

void read_device(const JsonValue& device, KernelTimings& timings) {
  timings.device = device.at("name").text();
  timings.source =
      "measured with PyTorch " + std::string(device.at("torch").text()) + ", " + std::string(device.at("dtype").text());
  timings.number_bytes = device.at("dtype").text() == "float32" ? 4 : 2;
  timings.memory_bytes = device.at("memory_bytes").integer(0, kMostSize);
  timings.multiprocessors = device.at("multiprocessors").integer(1, 65536);
}

}  // namespace

KernelTimings kernel_timings_from_json(std::string_view text, std::string_view file_name) {
  const JsonDocument document{std::string(text), std::string(file_name)};
  const JsonValue root = document.root();
  check_format(root, "plumbline-kernel-timings", 1);
  root.allow_only({"format", "version", "device", "network", "shape", "launch", "kernels", "step", "collectives"});
  KernelTimings timings;
  read_device(root.at("device"), timings);
  if (const auto network = root.find("network"); network && network->is_string()) timings.network = network->text();
  const JsonValue shape = root.at("shape");
  timings.samples = size_of(shape, "samples");
  timings.sequence = size_of(shape, "sequence");
  timings.tensor = size_of(shape, "tensor");
  timings.kernel_s = seconds_of(root.at("launch"), "kernel_s");
  timings.host_s = seconds_of(root.at("launch"), "host_s");
  for (const JsonValue& row : root.at("kernels").elements()) read_kernel(row, timings);
  if (const auto rows = root.find("collectives")) {
    for (const JsonValue& row : rows->elements()) timings.collectives.push_back(read_collective(row));
  }
  if (const auto step = root.find("step")) {
    timings.step = TimedStep{seconds_of(*step, "forward_s"), seconds_of(*step, "backward_s"),
                             seconds_of(*step, "update_s"), seconds_of(*step, "step_s")};
  }
  return timings;
}

}  // namespace plumb
