#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/devices/device_script.hpp"
#include "tools/devices/kernel_list.hpp"
#include "tools/devices/measured_device.hpp"
#include "tools/devices/python_run.hpp"
#include "tools/devices/step_check.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

struct MeasureArguments {
  std::string network;
  std::string precision;
  std::string cluster;
  std::string python = "python3";
  std::string on;
  std::string script;
  std::string output;
  std::string cluster_output;
  std::string timings;
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> sequence;
  std::optional<std::int64_t> tensor;
  std::optional<std::int64_t> ranks;
  std::optional<std::int64_t> threads;
  std::optional<double> seconds;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "device measure --network N [options]",
        "Times the kernels of a network on this machine's device with PyTorch (CUDA, ROCm or a CPU): products of "
        "every\n"
        "shape and pass, attention, kernels that move bytes, the optimizer, launches, collectives of several ranks, "
        "and\n"
        "a training step to hold the prediction against. For another machine, --script writes what to run there.");
    parser.text("network", network, "NAME|FILE", "model, see `plumbline networks`")
        .whole("samples", samples, {}, "samples per microbatch (default: as in the network)")
        .whole("sequence", sequence, {}, "tokens per sample (default: as in the network)")
        .whole("tp", tensor, {}, "tensor-parallel degree whose shapes are timed (default: 1)")
        .text("precision", precision, "NAME", "mixed (bf16 products) or single (default: mixed)")
        .words(std::array<std::string_view, 2>{"mixed", "single"})
        .text("cluster", cluster, "NAME|FILE",
              "whose peaks and links the shares are of (default: the best rates that were measured)")
        .text("python", python, "COMMAND", "what runs Python with PyTorch (default: python3)")
        .text("on", on, "TYPE", "cuda (also ROCm) or cpu (default: cuda where PyTorch has it)")
        .whole("ranks", ranks, {1, 1024}, "devices of this machine that take part in collectives (default: 1)")
        .whole("threads", threads, {1, 4096}, "threads of a CPU (default: all)")
        .real("seconds", seconds, {0.001, 60}, "time spent on each kernel (default: 0.2)")
        .text("script", script, "DIR", "write measure_device.py and its kernels.json there, and measure nothing")
        .text("timings", timings, "FILE", "keep what was timed, for `plumbline device import`")
        .text("output,o", output, "FILE", "the device's document (default: device.json)")
        .text("cluster-output", cluster_output, "FILE", "the document of a cluster with the measured peaks and links");
    return parse_command_line(parser, arguments);
  }
};

void write_script(const std::filesystem::path& folder, const std::string& kernels) {
  if (const int reason = disk::make_folder(folder)) {
    throw Error(folder.string() + ": cannot make the folder: " + std::string(std::strerror(reason)));
  }
  OutputFile((folder / "measure_device.py").string()).finish(kDeviceScript);
  OutputFile((folder / "kernels.json").string()).finish(kernels);
}

/// A folder of its own under the system's one for temporary files, removed with this object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "plumbline-device-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw Error(name + ": cannot make the folder: " + std::strerror(errno));
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() { disk::remove(path_); }

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::vector<std::string> words_to_run(const MeasureArguments& arguments, const std::filesystem::path& folder) {
  std::vector<std::string> words = split(arguments.python, ' ');
  const auto add = [&](const std::vector<std::string>& more) { words.insert(words.end(), more.begin(), more.end()); };
  add({(folder / "measure_device.py").string(), (folder / "kernels.json").string(), "-o",
       (folder / "measured.json").string()});
  if (!arguments.on.empty()) add({"--device", arguments.on});
  if (arguments.ranks) add({"--ranks", std::to_string(*arguments.ranks)});
  if (arguments.threads) add({"--threads", std::to_string(*arguments.threads)});
  if (arguments.seconds) add({"--seconds", std::to_string(*arguments.seconds)});
  return words;
}

std::string measured_text(const MeasureArguments& arguments, const std::string& kernels) {
  const ScratchFolder folder;
  write_script(folder.path(), kernels);
  const int status = run_program(words_to_run(arguments, folder.path()));
  if (status != 0) {
    throw Error(arguments.python + ": ended with status " + std::to_string(status) +
                ", expected 0 (is PyTorch there? --python names another one, --script writes the script for another "
                "machine, and `plumbline profile` measures with our own back end)");
  }
  return read_text_file(folder.path() / "measured.json");
}

}  // namespace

ExitStatus run_device_measure(const CommandLine& command_line) {
  MeasureArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  if (arguments.network.empty()) throw Error("device measure: expected --network NAME, whose kernels are timed");
  const Network network = load_network(arguments.network);
  Parallelism job;
  job.precision = precision_of(arguments.precision, "");
  job.tensor = arguments.tensor.value_or(1);
  job.microbatch_size = arguments.samples.value_or(0);
  job.sequence = arguments.sequence.value_or(0);
  const std::string kernels = kernel_list_json(network, job);
  if (!arguments.script.empty()) {
    write_script(arguments.script, kernels);
    print("Run `python3 measure_device.py kernels.json -o measured.json` in " + arguments.script +
          " on the machine with the device,\nthen `plumbline device import measured.json --network " +
          shell_word(arguments.network) + " -o device.json` here.\n");
    return ExitStatus::kDone;
  }
  const std::string output = arguments.output.empty() ? "device.json" : arguments.output;
  check_distinct_outputs({output, arguments.cluster_output, arguments.timings});
  OutputFile document(output);
  const std::string text = measured_text(arguments, kernels);
  if (!arguments.timings.empty()) OutputFile(arguments.timings).finish(text);
  const KernelTimings timings = kernel_timings_from_json(text, "measured.json");
  const Cluster cluster = arguments.cluster.empty() ? measured_cluster(timings) : load_cluster(arguments.cluster);
  const KernelRates rates = measured_rates(timings, cluster, kernel_rates_of(cluster.devices.front()));
  document.finish(kernel_rates_to_json(rates));
  if (!arguments.cluster_output.empty()) OutputFile(arguments.cluster_output).finish(cluster_to_json(cluster));
  if (document.is_standard_output()) return ExitStatus::kDone;
  std::string report = timings_text(timings, cluster, rates);
  if (timings.step) report += "\n" + step_check_text(step_of_kernels(network, timings, cluster, rates), *timings.step);
  print(report + "\nWritten to " + output + "\n");
  return ExitStatus::kDone;
}

}  // namespace plumb
