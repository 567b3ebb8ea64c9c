#include "models/kernels/kernel_rates_io.hpp"

#include <array>
#include <cmath>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

/// Equal but for rounding.
doctest::Approx same_rate(double value) { return doctest::Approx(value).epsilon(1e-12); }

}  // namespace

TEST_CASE("rates of products follow the power by the law that two devices were measured to keep, memory's do not") {
  const KernelRates h100 = kernel_rates_of(load_cluster("h100").devices.front());
  REQUIRE(h100.watts == 700);
  const KernelRates limited = at_power(h100, 500);
  CHECK(limited.gemm_efficiency == same_rate(h100.gemm_efficiency * std::pow(500.0 / 700, 0.87)));
  CHECK(limited.attention_backward / h100.attention_backward == same_rate(std::pow(500.0 / 700, 0.87)));
  CHECK(limited.memory_shares == h100.memory_shares);
  CHECK(at_power(h100, 700).gemm_efficiency == h100.gemm_efficiency);
  const KernelRates a100 = kernel_rates_of(load_cluster("a100").devices.front());
  CHECK_THROWS_WITH_AS(at_power(a100, 300), doctest::Contains("not known how the rates of 'A100' follow its power"),
                       Error);
  CHECK_THROWS_WITH_AS(at_power(h100, 7), doctest::Contains("expected a quarter to twice the 700 W"), Error);
}

TEST_CASE("every built-in GPU that people train on has rates of its own, none better known than they are") {
  for (const char* name : {"a100-40gb", "a800", "h800", "h20", "l40s", "mi325x", "mi350x", "rtx4090", "rtx5090",
                           "rtx6000-ada", "rtx-pro-6000"}) {
    CAPTURE(std::string(name));
    const KernelRates rates = kernel_rates_of(load_cluster(name).devices.front());
    CHECK(rates.source != "efficiencies of the cluster's document");
    CHECK(rates.host_ns > 0);
  }
}

TEST_CASE("tiles and waves that are not full cost what full ones do") {
  KernelRates rates;
  rates.gemm_efficiency = 0.8;
  rates.tile_m = 256;
  rates.tile_n = 128;
  rates.multiprocessors = 108;
  CHECK(rates.gemm_share({.m = 256 * 108, .n = 128, .k = 4096}) == same_rate(0.8));
  CHECK(rates.gemm_share({.m = 256 * 109, .n = 128, .k = 4096}) == same_rate(0.8 * 109 / 216));
  CHECK(rates.gemm_share({.m = 256 * 108, .n = 129, .k = 4096}) == same_rate(0.8 * 129 / 256));
  CHECK(rates.gemm_share({.m = 256, .n = 128, .k = 4096, .count = 108}) == same_rate(0.8));
  rates.gemm_half_k = 4096;
  CHECK(rates.gemm_share({.m = 256 * 108, .n = 128, .k = 4096}) == same_rate(0.4));
}

TEST_CASE("a measured shape answers as measured, its neighbours by their distance, and strangers by the model") {
  KernelRates rates;
  rates.gemm_efficiency = 0.6;
  rates.gemms = {{{.m = 1024, .n = 1024, .k = 1024}, 0.3}, {{.m = 8192, .n = 8192, .k = 8192}, 0.7}};
  CHECK(rates.gemm_share({.m = 1024, .n = 1024, .k = 1024}) == same_rate(0.3).epsilon(1e-3));
  CHECK(rates.gemm_share({.m = 8192, .n = 8192, .k = 8192}) == same_rate(0.7).epsilon(1e-3));
  const double near = rates.gemm_share({.m = 2048, .n = 1024, .k = 1024});
  CHECK(near > 0.3);
  CHECK(near < 0.5);
  // Another pass and another kind of launch were not measured.
  CHECK(rates.gemm_share({.m = 1024, .n = 1024, .k = 1024, .pass = ProductPass::kWeightGrad}) == 0.6);
  CHECK(rates.gemm_share({.m = 1024, .n = 1024, .k = 1024, .count = 8}) == 0.6);
  CHECK(rates.gemm_share({.m = 1 << 30, .n = 1 << 30, .k = 1 << 30}) == same_rate(0.6).epsilon(0.05));
}

TEST_CASE("passes of a product and of attention reach shares of their own") {
  KernelRates rates;
  rates.gemm_efficiency = 0.8;
  rates.gemm_by_pass = {1, 0.9, 0.75};
  CHECK(rates.gemm_share({.m = 128, .n = 128, .pass = ProductPass::kInputGrad}) == same_rate(0.72));
  CHECK(rates.gemm_share({.m = 128, .n = 128, .pass = ProductPass::kWeightGrad}) == same_rate(0.6));
  rates.attention_forward = 0.6;
  rates.attention_backward = 0.5;
  rates.attention_half_rows = 4096;
  CHECK(rates.attention_share({.rows = 4096, .heads = 1}) == same_rate(0.3));
  CHECK(rates.attention_share({.rows = 4096, .heads = 3, .pass = ProductPass::kInputGrad}) == same_rate(0.375));
}

TEST_CASE("a collective takes what its group was measured to take, or the links' share") {
  const Cluster cluster = load_cluster("a100");
  const DeviceGroup eight = device_group(cluster, 8, 1);
  KernelRates rates;
  rates.inside_share = 0.5;
  rates.collective_ns = 20'000;
  const double ring_s = 7.0 / 8 * 1e9 / (0.5 * cluster.intra_node.bytes_per_s) + 7 * 10e-6;
  CHECK(rates.collective_s(CollectiveOp::kAllGather, eight, 1e9) == same_rate(ring_s + 20e-6));
  rates.collectives = {{CollectiveOp::kAllGather, 8, 1, 0.8, 30'000}};
  const double measured_s = 7.0 / 8 * 1e9 / (0.8 * cluster.intra_node.bytes_per_s) + 30e-6;
  CHECK(rates.collective_s(CollectiveOp::kAllGather, eight, 1e9) == same_rate(measured_s));
  CHECK(rates.collective_s(CollectiveOp::kAllGather, device_group(cluster, 1, 1), 1e9) == 0);
}

TEST_CASE("the document of a device round-trips, and mistakes are named by place") {
  KernelRates rates;
  rates.device = "X";
  rates.source = "made up";
  rates.host_ns = 7;
  rates.basis = RatesBasis::kMeasured;
  rates.peaks = {1, 2, 2, 2, 2, 4};
  rates.says_formats = true;
  rates.memory_shares = {0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8};
  rates.gemms = {{{.m = 1, .n = 2, .k = 3, .count = 4, .pass = ProductPass::kWeightGrad}, 0.5}};
  rates.attentions = {{{.rows = 1, .columns = 2, .heads = 3, .key_width = 4, .value_width = 5}, 0.25}};
  rates.collectives = {{CollectiveOp::kAllToAll, 8, 2, 0.75, 9000}};
  CHECK(kernel_rates_from_json(kernel_rates_to_json(rates), "x.json") == rates);
  CHECK(kernel_rates_from_json(kernel_rates_to_json(KernelRates{}), "x.json") == KernelRates{});
  const char* const wrong =
      R"({"format": "plumbline-device", "version": 1, "device": "X", "gemms": [{"m": 1, "n": 2, "k": 3}]})";
  CHECK_THROWS_WITH_AS(kernel_rates_from_json(wrong, "x.json"), doctest::Contains("x.json:1:"), Error);
}

TEST_CASE("a document of version 1 has one share for attention, for memory and for links") {
  const KernelRates rates = kernel_rates_from_json(
      R"({"format": "plumbline-device", "version": 1, "device": "X", "attention_efficiency": 0.4,
          "memory_efficiency": 0.7, "link_efficiency": 0.9, "pass_ns": 100})",
      "x.json");
  CHECK(rates.attention_forward == 0.4);
  CHECK(rates.attention_backward == 0.4);
  CHECK(rates.memory_share(Movement::kLoss) == 0.7);
  CHECK(rates.inside_share == 0.9);
  CHECK(rates.between_share == 0.9);
}

TEST_CASE("a document like that of another device keeps its shapes as far from the smooth model as they are there") {
  const KernelRates b200 = kernel_rates_of(load_cluster("b200").devices.front());
  REQUIRE(b200.gemms.size() > 100);
  const std::string begin = R"({"format": "plumbline-device", "version": 2, "device": "X", )";
  const KernelRates same = kernel_rates_from_json(begin + R"("like": "b200"})", "x.json");
  CHECK(same.device == "X");
  CHECK(same.gemms == b200.gemms);
  CHECK(same.host_ns == b200.host_ns);
  const std::string faster = std::to_string(b200.gemm_efficiency * 1.05);
  const KernelRates rates =
      kernel_rates_from_json(begin + R"("like": "b200", "gemm_efficiency": )" + faster + "}", "x.json");
  const ProductShape& measured = b200.gemms[7].shape;
  CHECK(rates.gemm_share(measured) == same_rate(1.05 * b200.gemm_share(measured)).epsilon(1e-4));
  const AttentionShape& attention = b200.attentions[3].shape;
  CHECK(rates.attention_share(attention) == b200.attention_share(attention));
  const std::string own = R"("like": "b200", "gemms": [{"m": 1, "n": 2, "k": 3, "efficiency": 0.5}]})";
  CHECK(kernel_rates_from_json(begin + own, "x.json").gemms.size() == 1);
  CHECK(kernel_rates_from_json(kernel_rates_to_json(rates), "again.json") == rates);
  CHECK(testing::error_message([&] {
          kernel_rates_from_json(begin + R"("like": "b2000"})", "x.json");
        }).find("expected one of a100-pcie, a100, a800, b200") != std::string::npos);
}

TEST_CASE("built-in rates are found by the beginning of a device's name") {
  DeviceSpec device = load_cluster("a100").devices.front();
  CHECK(kernel_rates_of(device).device == "A100");
  device.name = "unheard of";
  device.compute_efficiency = 0.37;
  CHECK(kernel_rates_of(device).gemm_efficiency == 0.37);
}

TEST_CASE("a format that a device does not multiply in is refused with those that it has") {
  const auto refused = [](const char* cluster, MatrixFormat format) {
    return testing::error_message(
        [&] { require_format(kernel_rates_of(load_cluster(cluster).devices.front()), format); });
  };
  CHECK(refused("a100", MatrixFormat::kFp8) ==
        "products in fp8: A100 has no such products, expected a format that it has: bf16");
  CHECK(
      refused("h100", MatrixFormat::kMxFp8) ==
      "products in mxfp8: H100 has no such products, expected a format that it has: bf16, fp8, fp8-current, fp8-block");
  CHECK(refused("mi300x", MatrixFormat::kNvFp4)
            .ends_with("expected a format that it has: bf16, fp8, fp8-current, fp8-block"));
  for (const char* cluster : {"h100", "h200", "b200", "gb300", "mi300x", "mi355x"}) {
    CAPTURE(cluster);
    CHECK(refused(cluster, MatrixFormat::kFp8) == "");
    CHECK(refused(cluster, MatrixFormat::kBf16) == "");
  }
  CHECK(refused("b200", MatrixFormat::kNvFp4) == "");
  CHECK(refused("v100", MatrixFormat::kFp8) == "");  // no document says what it has
  CHECK_FALSE(kernel_rates_of(load_cluster("v100").devices.front()).says_formats);
}

TEST_CASE("a kernel takes its work or its traffic, whichever is longer, and the host its launches") {
  DeviceSpec device;
  device.flops_per_s = 1e12;
  device.memory_bytes_per_s = 1e9;
  KernelRates rates;
  rates.gemm_efficiency = 0.5;
  rates.tile_m = rates.tile_n = 1;
  rates.set_memory_shares(0.5);
  rates.kernel_ns = 1000;
  rates.host_ns = 3000;
  PassKernels pass;
  pass.gemm(1000, 1000, 1000);
  pass.memory(1e6, 2);
  const KernelTime product = kernel_time(pass.list[0], device, rates);
  CHECK(product.device_s == same_rate(6e6 / 0.5e9 + 1e-6));  // its traffic
  const KernelTime moving = kernel_time(pass.list[1], device, rates);
  CHECK(moving.device_s == same_rate(2e-3 + 2e-6));
  CHECK(moving.host_s == same_rate(6e-6));
}

TEST_CASE("every kind of kernel takes the longer of its work and its traffic besides what a launch takes") {
  DeviceSpec device;
  device.flops_per_s = 1e12;
  device.memory_bytes_per_s = 1e9;
  KernelRates rates;
  rates.gemm_efficiency = 0.5;
  rates.tile_m = rates.tile_n = 1;
  rates.peaks[static_cast<std::size_t>(MatrixFormat::kFp8)] = 2;
  rates.attention_forward = 0.25;
  rates.set_memory_shares(0.5);
  rates.kernel_ns = 1000;
  rates.host_ns = 3000;
  const auto device_s = [&](const Kernel& kernel) { return kernel_time(kernel, device, rates).device_s; };
  const double launch = 1e-6;
  const Kernel::Kind gemm = Kernel::Kind::kGemm;
  CHECK(device_s({.kind = gemm, .flops = 1e12, .bytes = 1}) == same_rate(2 + launch));
  CHECK(device_s({.kind = gemm, .product = {.format = MatrixFormat::kFp8}, .flops = 1e12, .bytes = 1}) ==
        same_rate(1 + launch));
  CHECK(device_s({.kind = gemm, .flops = 1, .bytes = 1e9}) == same_rate(2 + launch));
  CHECK(device_s({.kind = gemm, .flops = 0, .bytes = 0, .launches = 5}) == same_rate(launch));  // side by side
  CHECK(device_s({.kind = Kernel::Kind::kAttention, .flops = 1e12, .bytes = 1}) == same_rate(4 + launch));
  CHECK(device_s({.kind = Kernel::Kind::kAttention, .flops = 1, .bytes = 1e9}) == same_rate(2 + launch));
  CHECK(device_s({.kind = Kernel::Kind::kRoofline, .flops = 1e12, .bytes = 1}) == same_rate(2 + launch));
  CHECK(device_s({.kind = Kernel::Kind::kRoofline, .flops = 1, .bytes = 1e9, .launches = 3}) ==
        same_rate(2 + 3 * launch));
  CHECK(device_s({.kind = Kernel::Kind::kMemory, .flops = 1e15, .bytes = 1e9}) == same_rate(2 + launch));
  const KernelTime measured =
      kernel_time({.kind = Kernel::Kind::kMeasured, .seconds = 0.5, .launches = 2}, device, rates);
  CHECK(measured.device_s == 0.5);
  CHECK(measured.host_s == same_rate(6e-6));
  CHECK(device_s({.kind = Kernel::Kind::kCollective, .bytes = 1e9}) == 0);
  CHECK(device_s({.kind = Kernel::Kind::kExchange, .bytes = 1e9}) == 0);
}

TEST_CASE("a product reads two operands of its format and writes 16 bits, or adds to wider numbers") {
  PassKernels pass;
  pass.gemm(3, 5, 7, 2);
  CHECK(pass.list.back().flops == 2 * 3 * 5 * 7 * 2);
  CHECK(pass.list.back().bytes == 2 * 2 * (3 * 5 + 3 * 7 + 5 * 7));
  pass.product({.m = 3, .n = 5, .k = 7, .count = 2}, 4);
  CHECK(pass.list.back().bytes == 2 * (3 * 5 * (4 + 4) + 2 * (3 * 7 + 5 * 7)));
  CHECK(pass.list.back().product.accumulated == 4);
  pass.product({.m = 3, .n = 5, .k = 7, .format = MatrixFormat::kFp8});
  CHECK(pass.list.back().bytes == 2 * 3 * 5 + 3 * 7 + 5 * 7);
  CHECK(pass.flops() == 2 * 3 * 5 * 7 * 5);
  pass.roofline(0, 0);
  CHECK(pass.list.size() == 3);
  pass.roofline(1, 0);
  pass.roofline(0, 1);
  CHECK(pass.list.size() == 5);
  CHECK(pass.list[3].flops == 1);
  CHECK(pass.list[4].bytes == 1);
}

TEST_CASE("adding to gradients makes a product lose as a smaller depth does, and odd rows two thirds") {
  KernelRates rates;
  rates.gemm_efficiency = 0.8;
  rates.tile_m = rates.tile_n = 1;
  rates.gemm_half_k = 100;
  rates.gemm_accumulate_k = 10;
  // 4 bytes read and written instead of 2 written: 6 more.
  CHECK(rates.gemm_share({.k = 100, .accumulated = 4}) == same_rate(0.8 * 100 / (100 + 100 + 60)));
  CHECK(rates.gemm_share({.k = 100, .accumulated = 1}) == same_rate(0.8 * 100 / (100 + 100)));
  CHECK(rates.gemm_share({.k = 100}) == same_rate(0.4));
  CHECK(rates.gemm_share({.k = 100, .odd_rows = true}) == same_rate(0.4 * 0.32));
  rates.gemm_efficiency = 1e-9;
  CHECK(rates.gemm_share({}) == 1e-6);  // never nothing
  rates.gemm_efficiency = 7;
  rates.gemm_half_k = rates.gemm_accumulate_k = 0;
  CHECK(rates.gemm_share({}) == 1);  // never more than the peak
}

TEST_CASE("a measured point counts as a Shepard weight against a model two doublings away") {
  // One point at distance d: exp(r w / (w + 1/4)), w = 1 / (d^2 + 0.02^3).
  for (const double distance : {0.5, 1.0, 2.0, 4.0}) {
    CAPTURE(distance);
    const double weight = 1 / (distance * distance + 0.02 * 0.02 * 0.02);
    const Deviation one{distance, std::log(2)};
    CHECK(table_factor({&one, 1}) == same_rate(std::exp(std::log(2) * weight / (weight + 0.25))).epsilon(1e-12));
  }
  const std::array two{Deviation{1, 0.3}, Deviation{2, -0.1}};
  const double near = 1 / (1 + 8e-6);
  const double far = 1 / (4 + 8e-6);
  CHECK(table_factor(two) == same_rate(std::exp((near * 0.3 - far * 0.1) / (near + far + 0.25))).epsilon(1e-12));
  CHECK(table_factor({}) == 1);
}

TEST_CASE("shapes are as many doublings apart as the root of the squares of their sizes'") {
  const ProductShape one{.m = 8, .n = 8, .k = 8, .count = 8, .accumulated = 8};
  const auto apart = [&](const ProductShape& other) { return doublings_apart(one, other); };
  CHECK(apart(one) == 0);
  CHECK(apart({.m = 16, .n = 8, .k = 8, .count = 8, .accumulated = 8}) == same_rate(1));
  CHECK(apart({.m = 8, .n = 32, .k = 8, .count = 8, .accumulated = 8}) == same_rate(2));
  CHECK(apart({.m = 8, .n = 8, .k = 1, .count = 8, .accumulated = 8}) == same_rate(3));
  CHECK(apart({.m = 8, .n = 8, .k = 8, .count = 4, .accumulated = 8}) == same_rate(1));
  CHECK(apart({.m = 8, .n = 8, .k = 8, .count = 8, .accumulated = 0}) == same_rate(3));  // 0 counts as 1
  CHECK(apart({.m = 64, .n = 128, .k = 8, .count = 8, .accumulated = 8}) == same_rate(5));
  const AttentionShape core{.rows = 8, .columns = 8, .heads = 8, .key_width = 8, .value_width = 8};
  CHECK(doublings_apart(core, {.rows = 64, .columns = 128, .heads = 8, .key_width = 8, .value_width = 8}) ==
        same_rate(5));
  CHECK(doublings_apart(core, {.rows = 8, .columns = 8, .heads = 1, .key_width = 8, .value_width = 128}) ==
        same_rate(5));
  CHECK(doublings_apart(core, {.rows = 8, .columns = 8, .heads = 8, .key_width = 2, .value_width = 8}) == same_rate(2));
}

TEST_CASE("the measured group that is nearest in size answers, inside a node for groups inside one") {
  KernelRates rates;
  const auto gather = CollectiveOp::kAllGather;
  rates.collectives = {{gather, 2, 1, 0.5, 1000},
                       {gather, 8, 1, 0.8, 2000},
                       {gather, 16, 2, 0.25, 3000},
                       {gather, 64, 8, 0.75, 4000},
                       {CollectiveOp::kBroadcast, 4, 1, 0.1, 9000}};
  const auto seconds = [&](std::int64_t per_node, std::int64_t nodes) {
    return rates.collective_s(gather, {.per_node = per_node, .nodes = nodes, .inside = {1, 1e9}, .between = {1, 1e9}},
                              1e9);
  };
  CHECK(seconds(2, 1) == same_rate(1e-6 + 0.5 / 0.5));  // the measured latency, not that of the links
  CHECK(seconds(3, 1) == same_rate(1e-6 + 2.0 / 3 / 0.5));
  CHECK(seconds(6, 1) == same_rate(2e-6 + 5.0 / 6 / 0.8));
  CHECK(seconds(4, 1) == same_rate(1e-6 + 0.75 / 0.5));  // as far from both: the first one
  CHECK(seconds(8, 2) == same_rate(3e-6 + (0.5 / 8 + 7.0 / 8) / 0.25));
  CHECK(seconds(8, 7) == same_rate(4e-6 + (6.0 / 7 / 8 + 7.0 / 8) / 0.75));
  rates.collectives.clear();
  rates.inside_share = 0.5;
  rates.between_share = 0.25;
  rates.collective_ns = 7000;
  CHECK(seconds(1, 2) == same_rate(7e-6 + 1 + 0.5 / 0.25));
  CHECK(seconds(2, 1) == same_rate(7e-6 + 1 + 0.5 / 0.5));
  const DeviceGroup pair{.per_node = 2, .nodes = 1, .inside = {1, 1e9}, .between = {}};
  CHECK(rates.collective_s(gather, pair, 0) == 0);
  rates.switch_reduces = true;
  CHECK(rates.collective_s(CollectiveOp::kAllReduce, {.per_node = 4, .nodes = 1, .inside = {0, 1e9}, .between = {}},
                           1e9) == same_rate(7e-6 + 1.25 / 0.5));
}

}  // namespace plumb

TEST_SUITE_END();
