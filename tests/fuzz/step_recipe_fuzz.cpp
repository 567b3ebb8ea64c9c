#include <vector>

#include "tests/fuzz/promise.hpp"
#include "tools/measured_steps/step_recipe.hpp"

namespace {

/// Two rows that the rules of the corpus tell apart.
std::vector<plumb::MeasuredStep> rows() {
  return plumb::measured_steps(
      "row_id,source,model,layers,hidden,ffn,heads,kv_heads,seq,vocab,experts,moe_topk,moe_ffn,gpu,num"
      "_gpus,tp,pp,vp,dp,ep,cp,microbatch_size,global_batch,num_microbatches,schedule,recompute,precis"
      "ion,measured_step_time_s,tokens_per_s_per_gpu,samples_per_s,tflops_per_gpu,measured_memory_gib,"
      "memory_unit_published,published_prediction_step_time_s,published_prediction_memory_gib,publishe"
      "d_prediction_tokens_per_s_per_gpu,published_error_time_pct,published_error_memory_pct,note\n"
      "a,s,Qwen3_235B,94,4096,12288,64,4,4096,151936,128,8,1536,H100,256,2,8,4,16,32,1,1,1024,64,1F1B,"
      "none,FP8,10.5,,,,,,,,,,,26.08\n"
      "b,s,GPT 1.7B,24,2304,9216,24,24,2048,51200,,,,A100,32,1,1,,32,,1,16,512,1,none,full,mixed,2,,,,"
      ",,,,,,,\n",
      "fuzz.csv");
}

}  // namespace

/// Any text is a recipe whose rules can be asked about every row, or is refused.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  static const std::vector<MeasuredStep> steps = rows();
  return testing::read_or_refuse([&] { return StepRecipe(testing::text_of(data, size), "fuzz.json"); },
                                 [](const StepRecipe& recipe) {
                                   for (const MeasuredStep& row : steps) {
                                     testing::promise(recipe.facts(row).per_node >= 0, "no devices below 0");
                                     Parallelism job = step_parallelism(row);
                                     recipe.apply(row, job);
                                     testing::promise(job.tensor == step_parallelism(row).tensor, "degrees stay");
                                   }
                                 });
}
