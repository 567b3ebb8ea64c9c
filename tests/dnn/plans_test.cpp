#include <doctest/doctest.h>

#include <dlfcn.h>

#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "tests/dnn/attention_kinds.hpp"
#include "tests/dnn/described_gpus.hpp"
#include "trainer/cuda/dnn/attention_graphs.hpp"
#include "trainer/cuda/dnn/dnn_plan.hpp"

TEST_SUITE_BEGIN("dnn");

namespace plumb::cuda {
namespace {

/// The kernel that cuDNN has loaded last.
std::string loaded_kernel() {
  void* name = dlsym(RTLD_DEFAULT, "plumb_fake_kernel");
  REQUIRE(name != nullptr);
  return reinterpret_cast<const char* (*)()>(name)();
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const std::vector<AttentionKind> kKinds{
    {.samples = 8, .sequence = 1024, .heads = 12},                                 // GPT-2 124M
    {.samples = 2, .sequence = 1024, .heads = 16, .group = 4, .head_width = 128},  // Llama's grouped queries
    {.samples = 2, .sequence = 65, .heads = 2},                                    // no whole tiles
    {.samples = 2, .sequence = 256, .before = 768, .heads = 4},                    // the last slice of four
    {.samples = 4, .sequence = 128, .heads = 8, .causal = false},                  // BERT
};

}  // namespace

TEST_CASE("cuDNN has a plan for attention and its gradients on an H200, in the workspace that is foreseen") {
  const DnnDescriptor gpu = device_properties(kDescribedH200);
  for (const AttentionKind& kind : kKinds) {
    for (const bool backward : {false, true}) {
      const AttentionKey key = key_of(kind, backward);
      CAPTURE(text_of(key));
      CHECK(not_asked_because(key, dnn().GetVersion()).empty());
      const std::int64_t bytes = attention_workspace_bytes(shape_of(kind));
      const DnnPlan plan({.properties = &gpu}, attention_graph(key), {.workspace_bytes = bytes});
      const std::string kernel = loaded_kernel();
      CAPTURE(kernel);
      MESSAGE(text_of(key) << ": engine " << plan.engine() << ", " << plan.workspace_bytes() << " of " << bytes
                           << " bytes, " << kernel);
      CHECK(plan.workspace_bytes() <= bytes);
      CHECK(has(kernel, backward ? "sdpa_sm90_flash_bprop" : "sdpa_sm90_flash_fprop"));
      CHECK(has(kernel, "cga1x1x1"));  // no clusters, which a part of a GPU may not hold
      // The gradient of all scores, which is what makes the sum of the queries' gradient one of fixed order.
      const std::int64_t scores = kind.samples * kind.heads * kind.sequence * key.keys * 2;
      if (backward) CHECK(plan.workspace_bytes() >= scores);
    }
  }
}

TEST_CASE("an A100 has plans, too") {
  const DnnDescriptor gpu = device_properties(kDescribedA100);
  for (const bool backward : {false, true}) {
    const DnnPlan plan({.properties = &gpu}, attention_graph(key_of(kKinds[0], backward)),
                       {.workspace_bytes = attention_workspace_bytes(shape_of(kKinds[0]))});
    CHECK(has(loaded_kernel(), backward ? "sdpa_sm80_flash_bprop" : "sdpa_sm80_flash_fprop"));
  }
}

TEST_CASE("a part of a GPU has the plan of the whole where cuDNN takes no target of multiprocessors") {
  const DnnDescriptor gpu = device_properties(kDescribedH200);
  const std::int64_t bytes = attention_workspace_bytes(shape_of(kKinds[0]));
  const DnnPlan plan({.properties = &gpu}, attention_graph(key_of(kKinds[0], false)),
                     {.sms = 16, .workspace_bytes = bytes});
  MESSAGE("cuDNN " << dnn_version() << " made it for " << plan.sms() << " multiprocessors (0: all)");
  CHECK((plan.sms() == 0 || plan.sms() == 16));
  CHECK(has(loaded_kernel(), "sdpa_sm90_flash_fprop"));
}

TEST_CASE("what cuDNN cannot do is told with the reason") {
  const DnnDescriptor gpu = device_properties(kDescribedH200);
  const auto message = [&](const AttentionKey& key, std::int64_t bytes) -> std::string {
    try {
      const DnnPlan plan({.properties = &gpu}, attention_graph(key), {.workspace_bytes = bytes});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const std::string small = message(key_of(kKinds[2], true), 1000);
  CHECK(has(small, " has no plan: it needs "));
  CHECK(has(small, " bytes of workspace, there are 1000"));
  AttentionKey odd = key_of(kKinds[2], false);
  odd.head_width = 63;
  CHECK(has(message(odd, 1 << 20), "cuDNN"));
  CHECK_THROWS_AS(device_properties("{}"), Error);
}

}  // namespace plumb::cuda

TEST_SUITE_END();
