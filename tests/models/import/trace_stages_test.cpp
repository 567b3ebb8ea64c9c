#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/import/trace_stages.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace {

using namespace plumb;
using plumb::testing::error_message;

std::string event(const std::string& name, const std::string& category, double ts, double dur,
                  const std::string& more = "") {
  return R"({"ph": "X", "name": ")" + name + R"(", "cat": ")" + category + R"(", "pid": 0, "tid": 7, "ts": )" +
         std::to_string(ts) + R"(, "dur": )" + std::to_string(dur) + more + "}";
}

TraceText trace_of(const std::vector<std::string>& events, const std::string& name = "r0.json") {
  std::string text =
      R"({"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "process_name", "pid": 0, "args": {}})";
  for (const std::string& one : events) text += ", " + one;
  return {text + "]}", name};
}

}  // namespace

TEST_CASE("the GPU's side of a range counts, its first occurrence does not, and several ranks make one chain") {
  const TraceText first = trace_of(
      {event("PP:0F0", "user_annotation", 0, 1), event("PP:0F0", "gpu_user_annotation", 5, 900),
       event("PP:0F0", "gpu_user_annotation", 2000, 10), event("PP:0F1", "gpu_user_annotation", 2010, 30),
       event("PP:0B0", "gpu_user_annotation", 3000, 40), event("PP:0SEND_F0", "gpu_user_annotation", 3000, 99)});
  const TraceText second =
      trace_of({event("PP:1F0", "gpu_user_annotation", 0, 12.5), event("PP:1I0", "gpu_user_annotation", 20, 7),
                event("PP:1W0", "gpu_user_annotation", 30, 4)},
               "r1.json");
  const std::vector<TraceText> traces{first, second};
  REQUIRE(is_trace(first.text));
  const LayerGraph graph = stages_from_traces(traces);
  REQUIRE(graph.size() == 2);
  CHECK(graph.nodes[0].forward_ns == 20'000);
  CHECK(graph.nodes[0].backward_ns == 40'000);
  CHECK(graph.nodes[1].forward_ns == 12'500);
  CHECK(graph.nodes[1].backward_ns == 11'000);
}

TEST_CASE("without the GPU's side, the kernels that a host range launched count, not the host's time") {
  const auto with = [](int correlation) { return R"(, "args": {"correlation": )" + std::to_string(correlation) + "}"; };
  const std::vector<TraceText> traces{
      trace_of({event("PP:0F0", "user_annotation", 100, 10), event("cudaLaunchKernel", "cuda_runtime", 101, 1, with(1)),
                event("cudaLaunchKernel", "cuda_runtime", 105, 1, with(2)),
                event("cudaLaunchKernel", "cuda_runtime", 150, 1, with(3)), event("gemm", "kernel", 500, 20, with(1)),
                event("gemm", "kernel", 530, 20, with(2)), event("gemm", "kernel", 900, 20, with(3))})};
  CHECK(stages_from_traces(traces).nodes[0].forward_ns == 50'000);
}

TEST_CASE("ranges that Nsight Systems projected to the GPU are read from its table") {
  const std::vector<TraceText> traces{
      {"Name,Projected Start (ns),Projected Duration "
       "(ns),Style\n:PP:0F0,10,100,PushPop\n\":PP:0F1\",10,300,PushPop\nother,1,2,PushPop\n:PP:0B0,10,400,PushPop\n",
       "n.csv"}};
  REQUIRE(is_trace(traces[0].text));
  CHECK(stages_from_traces(traces).nodes[0].forward_ns == 200);
  CHECK(stages_from_traces(traces).nodes[0].backward_ns == 400);
  const std::vector<TraceText> broken{{"Name,Projected Duration (ns)\nPP:0F0,x\n", "n.csv"}};
  CHECK(error_message([&] { stages_from_traces(broken); }) == "n.csv:2: expected a duration in ns, found 'x'");
}

TEST_CASE("traces without ranges, or without a stage, are refused") {
  const std::vector<TraceText> none{trace_of({event("gemm", "kernel", 0, 1)})};
  CHECK(error_message([&] { stages_from_traces(none); }) ==
        "r0.json: has no ranges 'PP:<action>' on the GPU; expected a pipeline that ran on GPUs. What any traced "
        "run took, also on CPUs, becomes a profile by `plumbline trace`");
  const std::vector<TraceText> one{trace_of({event("PP:1F0", "gpu_user_annotation", 0, 1)})};
  CHECK(error_message([&] { stages_from_traces(one); }) ==
        "r0.json: no forward of stage 0, expected the traces of all ranks, commas between");
}
