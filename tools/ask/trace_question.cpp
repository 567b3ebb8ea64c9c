#include "tools/ask/trace_question.hpp"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/sources/backward_split.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/walk.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/calm_steps.hpp"
#include "tools/ask/answer.hpp"
#include "tools/ask/next_command.hpp"
#include "tools/ask/request.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/formats/run_profile_document.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// "traced steps     305.5 ms (shown), 307.7 ms"
std::string steps_text(const TracedRun& run) {
  const std::vector<std::int32_t> calm = calm_steps(run.step_ns);
  std::string text = "traced steps ";
  for (std::size_t k = 0; k < run.step_ns.size(); ++k) {
    const bool left_out = !std::ranges::binary_search(calm, static_cast<std::int32_t>(k));
    text += (k == 0 ? " " : ", ") + time_text(run.step_ns[k]);
    if (static_cast<std::int32_t>(k) == run.step) text += " (shown)";
    if (left_out) text += " (left out)";
  }
  text += '\n';
  for (const std::string& sentence : run.left_out) text += sentence + '\n';
  for (const std::int32_t rank : run.missing_ranks) {
    text += "rank " + std::to_string(rank) +
            "           its trace is missing, so what it did is unknown; waits for it count as 'missing rank'\n";
  }
  const auto moved = [](std::int64_t ns) { return ns != 0; };
  if (std::ranges::any_of(run.clock_offsets_ns, moved)) {
    text += "clocks moved by ";
    for (std::size_t rank = 0; rank < run.clock_offsets_ns.size(); ++rank) {
      text += (rank == 0 ? " " : ", ") + time_text(run.clock_offsets_ns[rank]);
    }
    text += "; a message then arrives at most " + time_text(run.clock_residual_ns) + " before it was sent\n";
  }
  return text;
}

/// Op, stage and microbatch of the passes of every device, in order.
using PassOrders = std::vector<std::vector<std::tuple<Op, std::int32_t, std::int64_t>>>;

bool is_pass(const Action& action) { return action.op <= Op::kW; }

std::tuple<Op, std::int32_t, std::int64_t> pass_of(const Action& action) {
  return {action.op, static_cast<std::int32_t>(action.stage), static_cast<std::int64_t>(action.microbatch)};
}

/// Of a generated schedule; nothing where there is none of this size.
PassOrders orders_of(std::string_view name, const ScheduleParams& params) {
  PassOrders orders;
  try {
    for (const DeviceList& list : generate(name, params).devices) {
      auto& order = orders.emplace_back();
      walk(list, [&](const Action& action) {
        if (is_pass(action)) order.push_back(pass_of(action));
      });
    }
  } catch (const Error&) {
    orders.clear();
  }
  return orders;
}

std::int32_t stages_of(const Timeline& run) {
  std::int32_t stages = 0;
  for (const Span& span : run.spans) stages = std::max(stages, static_cast<std::int32_t>(span.action.stage) + 1);
  return stages;
}

}  // namespace

void TraceQuestion::add_to(OptionTable& table, const FileOptions& outputs) {
  table.positionals(files, 1, "FILE,traces")
      .whole("step", step, {0, 1'000'000}, "number of the traced step, from 0 (default: the step of median length)")
      .brief();
  if (outputs) outputs();
  table.text("message-bytes", message_bytes, "SIZE", "size of this run's messages, such as 4MiB; traces do not hold it")
      .texts("messages", messages, "FILE",
             "times of messages of other sizes, for --profile. FILE is the profile of another run on the same machine, "
             "or a ping-pong (CSV with the columns bytes and median_us); may be repeated")
      .text("network", network, "NAME|FILE",
            "the model that was run, for --profile: its operations say how a backward that was not split divides into "
            "I and W")
      .brief();
}

TracedRun TraceQuestion::read() const {
  std::optional<std::int32_t> asked;
  if (step) asked = static_cast<std::int32_t>(*step);
  return read_traces(files, asked);
}

RunProfile TraceQuestion::profile(const TracedRun& run) const {
  RunProfile profile = run.known_profile();
  if (!message_bytes.empty()) {
    profile.message_bytes = parse_bytes(message_bytes, "--message-bytes");
    if (!profile.messages.empty()) profile.messages.front().bytes = profile.message_bytes;
  }
  for (const std::string& file : messages) {
    if (profile.message_bytes == 0 || profile.messages.empty())
      throw Error("--messages: the size of the run's own messages is not known, expected --message-bytes");
    const std::string text = read_text_file(file, kProfileFile);
    if (text.starts_with('{')) {
      const auto other = run_profile_in(text, file);
      if (!other) throw Error(file + ": is no profile of a real run, and no timeline of one, expected either");
      add_message_sizes(profile, other->messages);
      continue;
    }
    // NCCL moves bytes with kernels; a call of gloo or MPI copies them.
    const bool calls_move_bytes = run.backend != "nccl";
    const auto own = std::ranges::find(profile.messages, profile.message_bytes, &MeasuredMessages::bytes);
    add_message_sizes(profile, with_ping_pong(*own, ping_pong_from_csv(text, file), calls_move_bytes));
  }
  if (!network.empty()) profile.input_grad_share = input_grad_share(network_argument(network));
  return profile;
}

std::string traced_schedule(const Timeline& run) {
  PassOrders executed(run.devices.size());
  for (const Span& span : run.spans) {
    if (span.lane == Lane::kCompute && is_pass(span.action))
      executed[index(span.device)].push_back(pass_of(span.action));
  }
  const std::int32_t stages = stages_of(run);
  ScheduleParams params;
  params.num_devices = static_cast<std::int32_t>(run.devices.size());
  params.num_microbatches = run.num_microbatches / run.updates;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (!spec.synchronous || spec.inference || !spec.alias_of.empty()) continue;
    for (const std::int32_t chunks : {0, stages / params.num_devices}) {
      params.chunks = chunks;
      if (orders_of(spec.name, params) == executed) return std::string(spec.name);
    }
  }
  return "";
}

std::string traced_text(const TracedRun& run) {
  const Timeline& timeline = run.timeline();
  const std::int32_t stages = stages_of(timeline);
  const double share = stages == 0 ? 1 : static_cast<double>(timeline.devices.size()) / stages;
  return verdict_text(step_verdict(timeline) + cause_verdict(timeline)) + figures_text(timeline) + steps_text(run) +
         '\n' + devices_text(timeline, {.stash_share = share});
}

std::string TraceQuestion::next(const TracedRun& run) const {
  return run.profile ? "plumbline advise" + shell_words(files) : "";
}

void TraceQuestion::add_parts(const Request& request, AnswerDocument& document) {
  const TracedRun run = read();
  const Timeline& timeline = run.timeline();
  if (request.wants("summary")) document.add_json("summary", timeline_to_json(timeline, true));
  if (request.wants("profile")) document.add_json("profile", run_profile_to_json(profile(run)));
  if (request.wants("timeline")) {
    document.add_pieces("timeline", [&](const TextSink& sink) { write_timeline_json(timeline, false, sink); });
  }
  if (request.wants("page")) {
    const std::string title = timeline.schedule.empty() ? timeline.machine : timeline.schedule;
    document.add_json("page", page_data({.title = title, .sections = {{.title = title, .first = &timeline}}}));
  }
  if (request.wants("schedule")) document.add_text("schedule", traced_schedule(timeline));
  if (request.wants("text")) document.add_text("text", traced_text(run) + next_text(next(run)));
}

}  // namespace plumb
