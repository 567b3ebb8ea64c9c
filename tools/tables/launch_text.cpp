#include "tools/tables/launch_text.hpp"

#include <array>
#include <utility>
#include <vector>

#include "models/jobs/layer_recompute.hpp"
#include "models/kernels/matrix_format.hpp"
#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Note = LaunchNote::Kind;

constexpr std::size_t kMostNotes = 12;

std::string degrees_text(const LaunchJob& job) {
  const Parallelism& ranks = job.parallelism;
  std::string text = "tp " + std::to_string(ranks.tensor) + ", pp " + std::to_string(job.pipeline);
  const auto add = [&](const char* name, std::int64_t degree) {
    if (degree > 1) text += std::string(", ") + name + " " + std::to_string(degree);
  };
  add("vpp", job.chunks);
  add("cp", ranks.context);
  add("ep", ranks.expert);
  text += ", dp " + std::to_string(ranks.data);
  if (ranks.expert > 1 && ranks.expert_tensor > 0) text += ", etp " + std::to_string(ranks.expert_tensor);
  if (ranks.zero != ZeroStage::kNone) text += ", zero " + std::to_string(static_cast<int>(ranks.zero));
  if (ranks.sequence_parallel) text += ", sequence parallel";
  return text;
}

}  // namespace

std::string launch_first_text(const LaunchJob& job) {
  std::string text;
  if (job.batch_assumed) {
    text += sentence_text(
        "assumed: the batch, one microbatch of every data-parallel rank: the file says none (-m N is another)");
  }
  for (const LaunchNote& note : job.notes) {
    if (note.kind == Note::kDecides) text += sentence_text("assumed: " + note.text);
  }
  return text;
}

std::string launch_text(const LaunchJob& job) {
  const Parallelism& ranks = job.parallelism;
  TextTable table({{"job"}, {job.source}});
  table.add_row({"runtime", job.runtime});
  table.add_row(
      {"ranks", degrees_text(job) + ": " + std::to_string(ranks.devices_per_stage() * job.pipeline) + " devices"});
  const std::string tokens =
      job.network ? " of " + std::to_string(ranks.sequence > 0 ? ranks.sequence : job.network->sequence) + " tokens"
                  : "";
  table.add_row({"batch", std::to_string(job.batch) + " samples" + tokens + ": " + std::to_string(job.microbatches) +
                              " microbatches of " + std::to_string(ranks.microbatch_size)});
  std::string recompute = layer_recompute_text({.all = ranks.recompute, .modules = ranks.modules});
  if (ranks.recompute_layers > 0) {
    recompute += ", of every stage the first " + std::to_string(ranks.recompute_layers) + " layers";
  }
  const bool half = job.half && ranks.format == MatrixFormat::kBf16;
  const std::string format(half ? "fp16" : kMatrixFormatNames[static_cast<std::size_t>(ranks.format)]);
  table.add_row({"products", format + (ranks.precision.activation_bytes == 4 ? " (32 bits)" : "")});
  table.add_row({"recomputed", recompute.empty() ? "none" : recompute});
  return launch_first_text(job) + table.to_string();
}

std::string launch_notes_text(const LaunchJob& job) {
  static constexpr std::array<std::pair<Note, const char*>, 4> kTitles{
      {{Note::kAssumed, "assumed"},
       {Note::kNotModelled, "said, and not part of the prediction"},
       {Note::kUnknown, "not known here, and ignored"},
       {Note::kNotFollowed, "not followed"}}};
  std::string text;
  for (const auto& [kind, title] : kTitles) {
    std::vector<std::string_view> notes;
    for (const LaunchNote& note : job.notes) {
      if (note.kind == kind) notes.push_back(note.text);
    }
    if (notes.empty()) continue;
    text += std::string(title) + ": ";
    for (std::size_t k = 0; k < notes.size() && k < kMostNotes; ++k)
      text += (k == 0 ? "" : "; ") + std::string(notes[k]);
    if (notes.size() > kMostNotes) text += "; and " + std::to_string(notes.size() - kMostNotes) + " more";
    text += "\n";
  }
  std::size_t harmless = 0;
  for (const LaunchNote& note : job.notes) harmless += note.kind == Note::kNoEffect ? 1 : 0;
  if (harmless > 0) text += "without effect on time and memory: " + std::to_string(harmless) + " settings\n";
  return text;
}

}  // namespace plumb
