#include <string>

#include "sim/traces/readers/pp_dumps.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/fuzz/promise.hpp"

/// Any text is a rank's dump of a pipeline of two, as Primus or the patch of PP-Schedule-Visualization names it, or is
/// refused; all work is of the pipeline.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace plumb;
  const std::string_view text = testing::text_of(data, size);
  const std::string_view config = R"({"pp_size": 2, "vp_size": 2, "num_mbs": 2, "train_iters": 1})";
  for (const char* name :
       {"pp_rank_1.json", "event_times_PP2_VPP2_TPxCPxDP_rank_0_pp_rank_1_rank_1.json", "config.json"}) {
    const std::vector<DumpText> files{{config, "config.json"}, {text, name}};
    testing::read_or_refuse([&] { return read_pp_dumps(files); },
                            [](const std::vector<RankRun>& runs) {
                              for (const RankRun& run : runs) {
                                for (const TracedAction& work : run.work) {
                                  const auto stage = static_cast<std::int32_t>(work.action.stage);
                                  testing::promise(stage >= 0 && stage < run.stages,
                                                   "work is of a stage that there is");
                                  testing::promise(work.start_ns <= work.end_ns, "work ends after its begin");
                                }
                              }
                            });
  }
  return testing::read_or_refuse(
      [&] {
        return read_traced_run({{"config.json", std::string(config)}, {"pp_rank_0.json", std::string(text)}})
            .timeline();
      },
      [](const Timeline& timeline) {
        testing::promise(timeline.bubble_fraction >= 0 && timeline.bubble_fraction <= 1, "a bubble is a share");
      });
}
