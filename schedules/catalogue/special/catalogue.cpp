#include <vector>

#include "schedules/catalogue/registry.hpp"
#include "schedules/catalogue/slice_lengths.hpp"

namespace plumb {

Schedule bamboo(const ScheduleParams& params);
Schedule diffusionpipe(const ScheduleParams& params);
Schedule mlora(const ScheduleParams& params);
Schedule naspipe(const ScheduleParams& params);
Schedule pipefusion(const ScheduleParams& params);
Schedule tawpipe(const ScheduleParams& params);
Schedule tspipe(const ScheduleParams& params);
Schedule weipipe(const ScheduleParams& params);

namespace {

ScheduleSpec mlora_row() {
  return ScheduleSpec{
      .name = "mlora",
      .summary =
          "several fine-tuning jobs over the same frozen stages: while one is flushed, the others "
          "keep the devices busy",
      .year = 2023,
      .source = "Ye et al., mLoRA / LoRAPP, arXiv 2312.02515",
      .placement = "copies",
      .needs = "m a multiple of the adapters, at most 1024; m x updates x p at most 2^24",
      .options = {{"adapters", count_form("K"), "m", "jobs, each with an adapter and updates of its own"},
                  {"next",
                   {"waiting", "first"},
                   "waiting",
                   "whose batch the first device takes: that of the job that has waited longest, or of "
                   "the first one that has a batch"}},
      .folds = false,
      .copies = false,
      .make = mlora};
}

ScheduleSpec naspipe_row() {
  return ScheduleSpec{
      .name = "naspipe",
      .summary = "subnets of a supernet; none begins on a device before earlier ones that share a layer there are done",
      .year = 2022,
      .source = "Zhao et al., NASPipe, ASPLOS 2022",
      .needs = "m x p x window x blocks at most 2^24",
      .options = {{"candidates", count_form("C"), 48, "layers to choose from in every choice block"},
                  {"blocks", count_form("K"), 8, "choice blocks of a stage, at most 64"},
                  {"seed", count_form("N"), 1, "of the choices"},
                  {"window", count_form("W"), 200, "subnets that a device looks at"}},
      .folds = false,
      .searched = false,
      .make = naspipe};
}

ScheduleSpec pipefusion_row() {
  return ScheduleSpec{
      .name = "pipefusion",
      .summary =
          "inference: patches of an image run through the pipeline step after step without waiting for each other",
      .year = 2024,
      .source = "Fang et al., PipeFusion, arXiv 2405.14430",
      .inference = true,
      .needs = "m = patches x steps; patches at most 128; warmup at most the number of steps; m x updates at most 2^16",
      .options = {{"patches", count_form("M"), "the smaller of p and m", "patches of an image"},
                  {"warmup", count_form("N"), 1, "first steps, which run the whole image at once"}},
      .folds = false,
      .make = pipefusion};
}

ScheduleSpec weipipe_row() {
  return ScheduleSpec{
      .name = "weipipe",
      .summary = "weights travel round a ring of workers, microbatches and their activations stay where they are",
      .year = 2025,
      .source = "Lin et al., WeiPipe, PPoPP 2025",
      .placement = "data-parallel",
      .needs = "m a multiple of p; (m + 2p) x p x updates at most 2^20",
      .options = {{"pass",
                   {"after", "before"},
                   "after",
                   "whether a worker passes weights on when it has used them, or beside"}},
      .folds = false,
      .searched = false,
      .copies = false,
      .make = weipipe};
}

ScheduleSpec tawpipe_row() {
  return ScheduleSpec{.name = "tawpipe",
                      .summary = "weights come from their owners once to every node, whose workers run the same stage",
                      .year = 2025,
                      .source = "TawPipe, AAAI 2026, arXiv 2511.09741",
                      .placement = "data-parallel",
                      .needs = "m a multiple of p; (m + 2p) x p x updates at most 2^20",
                      .options = {{"node", count_form("G"), "p", "workers of a node; must divide p"}},
                      .folds = false,
                      .searched = false,
                      .copies = false,
                      .make = tawpipe};
}

}  // namespace

std::span<const ScheduleSpec> special_schedules() {
  static const std::vector<ScheduleSpec> generators{
      ScheduleSpec{
          .name = "bamboo",
          .summary = "1f1b whose devices also run the next stage's forward while they wait, in case its device is lost",
          .year = 2022,
          .source = "Thorpe et al., Bamboo, arXiv 2204.12013",
          .needs = "m x updates at most 2^20",
          .options = {{"wrap", {"no", "yes"}, "no", "whether the last device runs the first stage's forward, too"},
                      {"lost", count_form("S", 0), "none", "writes the step after the device of stage S was lost"}},
          .folds = false,
          .copies = false,
          .make = bamboo},
      ScheduleSpec{
          .name = "diffusionpipe",
          .summary = "1f1b whose idle time is filled with the frozen layers of the next iteration",
          .year = 2024,
          .source = "Tian et al., DiffusionPipe, arXiv 2405.01248",
          .needs = "m x p at most 2^24; layers x parts at most 4096; layers x parts x updates at most 2^20",
          .options = {{"layers", count_form("N"), 4, "number of frozen layers"},
                      {"parts", count_form("N"), 4, "parts of the batch into which a frozen layer may be cut"},
                      {"work", count_form("N"), "m", "time of a frozen layer for a whole batch, in units of X"},
                      {"like", list_form("A-B"), "none",
                       "times the frozen layers as layers A to B - 1 of the network"}},
          .folds = false,
          .copies = false,
          .make = diffusionpipe},
      mlora_row(),
      naspipe_row(),
      ScheduleSpec{.name = "tspipe",
                   .summary = "a teacher's forwards of the next batch fill the bubbles of its student's updates",
                   .year = 2022,
                   .source = "Lim et al., TSPipe, ICML 2022",
                   .needs = "m even and at least 4 (p - 1); m x updates x p at most 2^21",
                   .folds = false,
                   .copies = false,
                   .make = tspipe},
      pipefusion_row(),
      weipipe_row(),
      tawpipe_row(),
  };
  static const std::vector<ScheduleSpec> rows = with_rules("special", generators);
  return rows;
}

}  // namespace plumb
