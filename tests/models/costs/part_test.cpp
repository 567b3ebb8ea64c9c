#include "models/costs/part.hpp"

#include <cstdint>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/layers/describe_layer.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("shares of an amount add up to the microbatch's, also where they are not whole") {
  for (const std::int64_t amount : {0, 1, 7, 1000, 1'000'003}) {
    CAPTURE(amount);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < 7; ++k) sum += share_of({.begin = k, .end = k + 1, .whole = 7}, amount);
    CHECK(sum == amount);
  }
  CHECK(share_of({.size = 1, .largest = 3}, 9) == 3);
}

TEST_CASE("slices follow each other in every sample, or share out the samples") {
  const MicrobatchShape usual{4, 10};
  const PartPlace middle = place_of({.begin = 1, .end = 3, .whole = 5, .along_sequence = true}, usual);
  CHECK(middle.shape == MicrobatchShape{4, 4, 2, 4});
  CHECK(middle.first_token == 2);
  const PartPlace second = place_of({.begin = 1, .end = 2, .whole = 2}, usual);
  CHECK(second.shape == MicrobatchShape{2, 10});
  CHECK(second.first_sample == 2);
  CHECK(place_of({.size = 2, .largest = 5}, usual).shape == MicrobatchShape{4, 4});
  CHECK(place_of({.begin = 1, .end = 2, .whole = 4}, {4, 1}).shape == MicrobatchShape{1, 1});
  CHECK_THROWS_AS(place_of({.size = 1, .largest = 2, .begin = 1, .end = 2, .whole = 4}, {4, 1}), Error);
  CHECK_THROWS_WITH_AS(place_of({.begin = 0, .end = 1, .whole = 5}, usual),
                       "a microbatch of 4 samples of 10 tokens cannot be cut as the schedule says: slice 0 to 1 of 5 "
                       "along the batch is empty; expected larger microbatches",
                       Error);
}

TEST_CASE("attention's FLOPs grow with the prefix, and those of all slices are those of the whole") {
  const LayerSpec attention{.kind = LayerKind::kAttention, .name = "a", .width = 8, .heads = 2};
  const auto flops = [&](const MicrobatchShape& shape) { return describe(attention, shape, {}).forward.flops; };
  CHECK(flops({1, 4, 0, 4}) < flops({1, 4, 4, 0}));
  CHECK(flops({1, 4, 0, 4}) + flops({1, 4, 4, 0}) == flops({1, 8}));
}

TEST_CASE("sums of the gradients of keys and values are made once and freed slice by slice") {
  const LayerSpec attention{.kind = LayerKind::kAttention, .name = "a", .width = 8, .heads = 2};
  const LayerFacts first = describe(attention, {2, 3, 0, 5}, {});
  const LayerFacts second = describe(attention, {2, 1, 3, 4}, {});
  const LayerFacts last = describe(attention, {2, 4, 4, 0}, {});
  CHECK(first.key_grad_bytes + second.key_grad_bytes == last.earlier_key_grad_bytes);
  CHECK(last.key_grad_bytes == 0);
  CHECK(describe(attention, {2, 8}, {}).earlier_key_grad_bytes == 0);
}

}  // namespace plumb

TEST_SUITE_END();
