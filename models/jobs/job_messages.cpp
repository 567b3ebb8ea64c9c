#include "models/jobs/job_messages.hpp"

#include <algorithm>
#include <initializer_list>
#include <span>

#include "models/stages/lay_out_stage.hpp"

namespace plumb {

void set_messages(const Network& network, const LayerRange& range, const JobShape& shape, bool plain_chain,
                  StageMemory& memory) {
  const Parallelism& job = shape.parallelism;
  const MicrobatchShape own{shape.samples, shape.sequence / job.context};
  const std::size_t all = network.layers.size();
  const auto near = [&](std::size_t layer) {  // as a stage of its own between its neighbours
    const std::size_t begin = layer == 0 ? 0 : layer - 1;
    const std::size_t end = std::min(all, layer + 2);
    return stage_memory(std::span(network.layers).subspan(begin, end - begin), {layer - begin, layer - begin + 1}, own,
                        job.precision);
  };
  StageMemory whole;
  if (plain_chain && all > 1) {
    whole = near(range.end - 1);
    const StageMemory first = near(range.begin);
    whole.input_bytes = first.input_bytes;
    whole.input_grad_bytes = first.input_grad_bytes;
  } else {
    whole = stage_memory(network.layers, range, own, job.precision);
  }
  const std::int64_t parts = job.scatter_gather || job.sequence_parallel ? job.tensor : 1;
  memory.input_bytes = (whole.input_bytes + parts - 1) / parts;
  memory.output_bytes = (whole.output_bytes + parts - 1) / parts;
  memory.input_grad_bytes = (whole.input_grad_bytes + parts - 1) / parts;
  memory.output_grad_bytes = (whole.output_grad_bytes + parts - 1) / parts;
}

void compress_messages(const Parallelism& job, const JobClock& clock, StageMemory& messages, StageSeconds& seconds) {
  const auto code = [&](std::int32_t bits, std::initializer_list<std::int64_t*> values, double beside) {
    double coding_s = 0;
    for (std::int64_t* bytes : values) {
      if (bits == 0 || *bytes == 0) continue;
      const std::int64_t all = 8 * job.precision.activation_bytes;
      const std::int64_t coded = (*bytes * bits + all - 1) / all;
      coding_s += clock.casting_s(static_cast<double>(*bytes) * (1 + beside) + static_cast<double>(coded));
      *bytes = coded;
    }
    return coding_s;
  };
  const auto add = [](double coding_s, PassSeconds& pass) {
    pass.busy_s += coding_s;
    pass.computing_s += coding_s;
  };
  add(code(job.activation_bits, {&messages.input_bytes, &messages.output_bytes}, 2), seconds.f);
  const double backward_s =
      code(job.activation_grad_bits, {&messages.input_grad_bytes, &messages.output_grad_bytes}, 0);
  add(backward_s, seconds.i);
  add(backward_s, seconds.b);
}

}  // namespace plumb
