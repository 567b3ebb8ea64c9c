#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "models/ground/text_file.hpp"
#include "models/import/load_network.hpp"
#include "models/kernels/kernel_rates_io.hpp"
#include "tools/command_line/examples.hpp"
#include "tools/command_line/parse_command_line.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/devices/device_script.hpp"
#include "tools/devices/kernel_list.hpp"
#include "tools/devices/measured_device.hpp"
#include "tools/devices/nccl_tests.hpp"
#include "tools/devices/simumax_file.hpp"
#include "tools/devices/step_check.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

/// Runs a program found in PATH with our standard output and error and waits for it. Throws `Error` when it cannot be
/// run; returns its exit status (128 + signal for one that was killed).
int run_program(const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  std::vector<char*> argv;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t child = 0;
  const int reason = posix_spawnp(&child, argv.front(), nullptr, nullptr, argv.data(), environ);
  if (reason != 0) throw Error(words.front() + ": cannot run: " + std::strerror(reason));
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(words.front() + ": cannot be waited for: " + std::strerror(errno));
  }
  constexpr int kSignalled = 128;
  return WIFSIGNALED(status) ? kSignalled + WTERMSIG(status) : WEXITSTATUS(status);
}

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

struct ImportArguments {
  std::vector<std::string> files;
  std::string cluster;
  std::string rates;
  std::string network;
  std::string op;
  std::string output;
  std::string cluster_output;

  bool parse(const CommandLine& arguments) {
    OptionTable parser(
        "device import FILE... [options]",
        "Reads measurements of a device and writes the document of its rates (--rates of simulate, plan, sweep).\n"
        "FILE is what measure_device.py wrote, a system file of SimuMax, or the output of all_reduce_perf,\n"
        "all_gather_perf, reduce_scatter_perf or alltoall_perf of nccl-tests or rccl-tests; several add up.");
    parser.positionals(files, 1, "FILE")
        .text("cluster", cluster, "NAME|FILE",
              "whose peaks and links the shares are of (default: the best rates that were measured)")
        .text("rates", rates, "FILE", "what was not measured comes from here (default: built in for the device's name)")
        .text("network", network, "NAME|FILE",
              "predict the training step that was timed beside the kernels, and print its error")
        .text("op", op, "NAME",
              "which collective nccl-tests ran, where its output does not say: all_reduce, all_gather,\n"
              "reduce_scatter, alltoall or broadcast")
        .text("output,o", output, "FILE", "the device's document (- is standard output)")
        .text("cluster-output", cluster_output, "FILE", "the document of a cluster with the measured peaks and links");
    return parse_command_line(parser, arguments);
  }
};

bool is_timings(std::string_view text, const std::string& file) {
  const JsonDocument document{std::string(text), file};
  return document.root().is_object() && document.root().find("format").has_value();
}

void append(KernelTimings& all, KernelTimings more) {
  const bool first = all.products.empty() && !more.products.empty();
  if (first) {
    std::swap(more.collectives, all.collectives);
    more.collectives.insert(more.collectives.end(), all.collectives.begin(), all.collectives.end());
    if (!all.source.empty()) more.source += "; " + all.source;
    all = std::move(more);
    return;
  }
  if (all.device.empty()) all.device = more.device;
  all.source += (all.source.empty() ? "" : "; ") + more.source;
  const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  add(all.products, more.products);
  add(all.attentions, more.attentions);
  add(all.movements, more.movements);
  add(all.collectives, more.collectives);
}

KernelTimings read_timings(const std::string& file, const std::string& op) {
  const std::string text = read_text_file(file);
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{') {
    return is_timings(text, file) ? kernel_timings_from_json(text, file) : simumax_timings(text, file);
  }
  if (!is_nccl_test_output(text)) {
    throw Error(file +
                ": neither timings of measure_device.py, nor a system file of SimuMax, nor output of nccl-tests");
  }
  NcclTestRun run =
      nccl_test_run(text, file, op.empty() ? std::nullopt : std::optional<CollectiveOp>(collective_named(op)));
  KernelTimings timings;
  timings.device = run.device;
  timings.source = "collectives of " + std::to_string(run.ranks) + " x " + run.device + ", nccl-tests";
  timings.collectives = std::move(run.timed);
  return timings;
}

ExitStatus run_device_import(const CommandLine& command_line) {
  ImportArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  KernelTimings timings;
  for (const std::string& file : arguments.files) append(timings, read_timings(file, arguments.op));
  if (arguments.cluster.empty() && timings.products.empty()) {
    throw Error("device import: only collectives were measured, expected --cluster NAME, whose links these are");
  }
  const Cluster cluster = arguments.cluster.empty() ? measured_cluster(timings) : load_cluster(arguments.cluster);
  KernelRates base = arguments.rates.empty()
                         ? kernel_rates_of(cluster.devices.front())
                         : kernel_rates_from_json(read_text_file(arguments.rates, kKernelRatesFile), arguments.rates);
  const KernelRates rates = measured_rates(timings, cluster, std::move(base));
  check_distinct_outputs({arguments.output, arguments.cluster_output});
  if (!arguments.output.empty()) OutputFile(arguments.output).finish(kernel_rates_to_json(rates));
  if (!arguments.cluster_output.empty()) OutputFile(arguments.cluster_output).finish(cluster_to_json(cluster));
  if (arguments.output == "-" || arguments.cluster_output == "-") return ExitStatus::kDone;
  std::string text = timings_text(timings, cluster, rates);
  if (timings.step && !arguments.network.empty()) {
    const Network network = load_network(arguments.network);
    text += "\n" + step_check_text(step_of_kernels(network, timings, cluster, rates), *timings.step);
  }
  print(text);
  return ExitStatus::kDone;
}

struct DeviceAction {
  std::string_view name;
  std::string_view summary;
  ExitStatus (*run)(const CommandLine& arguments);
};

constexpr std::array<DeviceAction, 4> kActions{{
    {"measure", "time the kernels of a network on this machine, with PyTorch", run_device_measure},
    {"import", "read timings, nccl-tests or rccl-tests output, or a SimuMax file", run_device_import},
    {"predict", "hold predictions against measured training steps", run_device_predict},
    {"fit", "find the constants of a device from measured training steps", run_device_fit},
}};

void print_actions(bool brief) {
  const Examples& examples = *examples_of("device");
  std::string text = "usage: plumbline device ACTION [OPTIONS]\n\n" +
                     (brief ? short_examples_text(examples) + "\n" : examples_text(&examples)) +
                     "Makes the document of a device's rates, which --rates FILE takes.\n\n";
  for (const DeviceAction& action : kActions) {
    text += "  " + std::string(action.name) + std::string(12 - action.name.size(), ' ') + std::string(action.summary) +
            "\n";
  }
  print(text + "\n`plumbline device ACTION --help` explains an action and its options.\n");
}

}  // namespace

ExitStatus run_device(const CommandLine& arguments) {
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    print_actions(!arguments.empty() && arguments.front() == "-h");
    return arguments.empty() ? ExitStatus::kWrongInput : ExitStatus::kDone;
  }
  std::vector<std::string_view> names;
  for (const DeviceAction& action : kActions) {
    if (arguments.front() == action.name) return action.run({arguments.begin() + 1, arguments.end()});
    names.push_back(action.name);
  }
  throw_unknown("action of device", arguments.front(), names);
}

}  // namespace plumb
