#include "models/jobs/layer_recompute.hpp"

#include <doctest/doctest.h>

TEST_SUITE_BEGIN("models");

namespace plumb {

TEST_CASE("modules of layers are read as they are written") {
  for (const char* text : {"none", "selective", "full", "norm", "activation", "moe", "mla_up_proj", "norm+activation",
                           "norm+activation+moe+mla_up_proj", "layers=3-1-0", "layers=2"}) {
    CAPTURE(text);
    const auto recompute = layer_recompute_of(text);
    REQUIRE(recompute);
    CHECK(layer_recompute_text(*recompute) == text);
  }
}

TEST_CASE("what is no module of a layer is not taken") {
  for (const char* text : {"", "norm+", "+norm", "attention", "full+norm", "0,3", "fitted", "layers=", "layers=3-",
                           "layers=-1", "layers=3,1"}) {
    CAPTURE(text);
    CHECK_FALSE(layer_recompute_of(text));
  }
}

}  // namespace plumb

TEST_SUITE_END();
