#include <array>
#include <string>
#include <string_view>

#include "models/ground/error.hpp"
#include "tools/command_line/examples.hpp"
#include "tools/commands/command.hpp"
#include "tools/commands/device_commands.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

struct DeviceAction {
  std::string_view name;
  std::string_view summary;
  ExitStatus (*run)(const CommandLine& arguments);
};

constexpr std::array<DeviceAction, 4> kActions{{
    {"measure", "time the kernels of a network on this machine's device, with PyTorch", run_device_measure},
    {"import", "read such timings, output of nccl-tests or rccl-tests, or a system file of SimuMax", run_device_import},
    {"predict", "hold predictions against measured training steps", run_device_predict},
    {"fit", "find the constants of a device from measured training steps", run_device_fit},
}};

void print_actions() {
  std::string text = "usage: plumbline device ACTION [OPTIONS]\n\n" + examples_text(examples_of("device")) +
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
    print_actions();
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
