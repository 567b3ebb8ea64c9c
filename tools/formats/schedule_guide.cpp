#include "tools/formats/schedule_guide.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"
#include "schedules/formats/megatron.hpp"
#include "schedules/formats/transfer_hang.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Of a device: what its lists are compared and played with is written out.
constexpr std::int64_t kMostActions = 100'000;

/// A schedule of the catalogue and what PyTorch calls it.
struct TorchClass {
  std::string_view name;
  std::string_view theirs;
};

constexpr std::array kTorchClasses{TorchClass{"torch-gpipe", "GPipe"},
                                   TorchClass{"torch-1f1b", "1F1B"},
                                   TorchClass{"torch-interleaved", "Interleaved1F1B"},
                                   TorchClass{"torch-looped-bfs", "LoopedBFS"},
                                   TorchClass{"torch-interleaved-zb", "InterleavedZeroBubble"},
                                   TorchClass{"torch-zbv", "ZBVZeroBubble"},
                                   TorchClass{"torch-dualpipev", "DualPipeV"}};

std::vector<Action> compute(const DeviceList& list) {
  std::vector<Action> actions;
  walk(list, [&](const Action& action) {
    if (action.op <= Op::kW) actions.push_back(action);
  });
  return actions;
}

bool same_order(const Schedule& a, const Schedule& b) {
  if (a.placement != b.placement) return false;
  for (std::size_t device = 0; device < a.devices.size(); ++device) {
    if (compute(a.devices[device]) != compute(b.devices[device])) return false;
  }
  return true;
}

/// The class of PyTorch that makes this order itself; empty when none does.
std::string_view torch_class(const Schedule& schedule) {
  const ScheduleParams params{.num_devices = schedule.num_devices,
                              .num_microbatches = schedule.num_microbatches,
                              .chunks = schedule.num_stages / schedule.num_devices};
  for (const TorchClass& known : kTorchClasses) {
    try {
      if (same_order(schedule, generate(known.name, params))) return known.theirs;
    } catch (const Error&) {  // a size that PyTorch refuses
    }
  }
  return {};
}

/// "loop", "v", or nothing.
std::string_view placement_style(const Schedule& schedule) {
  const std::int32_t p = schedule.num_devices;
  const auto fits = [&](auto device_of_stage) {
    for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
      const std::vector<DeviceId> expected{DeviceId{device_of_stage(stage)}};
      if (schedule.placement[0][static_cast<std::size_t>(stage)] != expected) return false;
    }
    return true;
  };
  if (fits([&](std::int32_t stage) { return stage % p; })) return "loop";
  const auto in_v = [&](std::int32_t stage) { return stage / p % 2 == 0 ? stage % p : p - 1 - stage % p; };
  return fits(in_v) ? "v" : "";
}

std::string listed(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

void explain_torch(std::ostream& out, const Schedule& schedule, const std::vector<std::int64_t>& layers,
                   const std::string& csv_command) {
  out << "\nPyTorch (torch.distributed.pipelining)\n";
  try {
    schedule_to_torch_csv(schedule);
  } catch (const Error& error) {
    out << "  no: " << error.what() << "\n";
    return;
  }
  const std::string_view style = placement_style(schedule);
  const std::string_view built_in = torch_class(schedule);
  if (!built_in.empty()) out << "  built in: " << built_in << " makes this order itself\n";
  out << "  file:     " << csv_command << "\n"
      << "  plain:    runtime = _PipelineScheduleRuntime(stages, " << schedule.num_microbatches << ", loss_fn)\n"
      << "            runtime._load_csv(\"schedule.csv\")\n"
      << "  stages:   ";
  for (std::size_t stage = 0; stage < schedule.placement[0].size(); ++stage) {
    out << (stage > 0 ? " " : "") << stage << "@" << index(schedule.placement[0][stage][0]);
  }
  out << " (stage@rank" << (style.empty() ? "" : ", style " + std::string(style)) << ")\n";
  if (!layers.empty()) out << "  layers:   " << listed(layers) << " per stage\n";
  if (style.empty()) {
    out << "  torchtitan: no, it supports the placements loop and v only\n";
    return;
  }
  out << "  torchtitan: --parallelism.pipeline_parallel_schedule_csv schedule.csv\n"
      << "              --parallelism.pipeline_parallel_schedule "
      << (style == "v" ? "ZBVZeroBubble" : "Interleaved1F1B") << "\n"
      << "                # it decides the placement, " << style << "\n"
      << "              --parallelism.pipeline_parallel_degree " << schedule.num_devices << ", "
      << "num_pp_microbatches " << schedule.num_microbatches << "\n";
}

void explain_megatron(std::ostream& out, const Schedule& schedule, const std::vector<std::int64_t>& layers) {
  out << "\nMegatron-LM\n";
  try {
    TextStream options(to_string(megatron_plan(schedule)));
    for (std::string line; std::getline(options, line);) {
      const bool replaced = !layers.empty() && line.starts_with("--num-virtual-stages");  // the layout says it
      if (!replaced) out << "  " << line << "\n";
    }
    if (layers.empty()) return;
    out << "  --num-layers " << std::accumulate(layers.begin(), layers.end(), std::int64_t{0}) << "\n"
        << "  --pipeline-model-parallel-layout \"" << megatron_layout(layers) << "\"\n";
  } catch (const Error& error) {
    out << "  no: " << error.what() << "\n";
  }
}

void explain_transfers(std::ostream& out, const Schedule& schedule) {
  out << "\nTransfers, as PyTorch lowers them\n";
  for (std::size_t model = 0; model < kTransferModelNames.size(); ++model) {
    const std::string name(kTransferModelNames[model]);
    out << "  " << name << ": " << std::string(12 - name.size(), ' ');
    try {
      const auto hang = find_hang(schedule, static_cast<TransferModel>(model));
      out << (hang ? hang->reason : "runs without a hang") << "\n";
    } catch (const Error& error) {
      out << error.what() << "\n";
    }
  }
}

}  // namespace

std::vector<std::int64_t> parse_layers(std::string_view text, std::int32_t num_stages) {
  constexpr const char* kWhere = "--layers";
  const std::vector<std::string> parts = split(text, ',');
  std::vector<std::int64_t> layers;
  for (const std::string& part : parts) layers.push_back(parse_whole(part, {1, 1'000'000}, kWhere));
  if (layers.size() == static_cast<std::size_t>(num_stages)) return layers;
  if (layers.size() != 1 || layers[0] < num_stages) {
    throw Error("--layers: '" + std::string(text) + "' does not give each of the " + std::to_string(num_stages) +
                " stages a layer, expected one number of at least that many layers, or " + std::to_string(num_stages) +
                " numbers");
  }
  const std::int64_t all = layers[0];
  layers.assign(static_cast<std::size_t>(num_stages), all / num_stages);
  for (std::int64_t stage = 0; stage < all % num_stages; ++stage) ++layers[static_cast<std::size_t>(stage)];
  return layers;
}

std::string schedule_guide(const Schedule& schedule, const std::vector<std::int64_t>& layers,
                           const std::string& csv_command) {
  for (const DeviceList& list : schedule.devices) {
    if (expanded_size(list) <= kMostActions) continue;
    throw Error("schedule '" + schedule.name + "' has " + std::to_string(expanded_size(list)) +
                " actions on a device, expected at most " + std::to_string(kMostActions) + " for --explain");
  }
  TextStream out;
  out << schedule.name << ": " << schedule.num_devices << " devices, " << schedule.num_stages << " stages, "
      << schedule.num_microbatches << " microbatches\n";
  explain_torch(out, schedule, layers, csv_command);
  explain_megatron(out, schedule, layers);
  explain_transfers(out, schedule);
  return out.str();
}

}  // namespace plumb
