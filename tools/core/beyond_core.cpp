/// What the core program calls and is built without. Each function stands for the one of the same name in a source that
/// is named in `BEYOND_CORE` of its library.
#include "models/import/published_network.hpp"
#include "models/launches/read_launch.hpp"
#include "tools/commands/command.hpp"
#include "tools/formats/run_files.hpp"
#include "tools/options/launch_arguments.hpp"
#include "tools/reports/page_data.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

[[noreturn]] void throw_beyond(const std::string& what, const std::string& part, const std::string& command) {
  throw NotInProgram(what, part, command, "plumbline-simulator");
}

[[noreturn]] void throw_beyond(const std::string& command) { throw_beyond(command, "this command", command); }

}  // namespace

ExitStatus run_advise(const CommandLine&) { throw_beyond("advise"); }
ExitStatus run_ask(const CommandLine&) { throw_beyond("ask"); }
ExitStatus run_campaign_command(const CommandLine&) { throw_beyond("campaign"); }
ExitStatus run_compare(const CommandLine&) { throw_beyond("compare"); }
ExitStatus run_completion(const CommandLine&, const std::vector<Command>&) { throw_beyond("completion"); }
ExitStatus run_device(const CommandLine&) { throw_beyond("device"); }
ExitStatus run_explore(const CommandLine&) { throw_beyond("explore"); }
ExitStatus run_manual(const CommandLine&, const std::vector<Command>&) { throw_beyond("manual"); }
ExitStatus run_plan(const CommandLine&, RunShared) { throw_beyond("plan"); }
ExitStatus run_search(const CommandLine&) { throw_beyond("search"); }
ExitStatus run_stability(const CommandLine&) { throw_beyond("stability"); }
ExitStatus run_trace(const CommandLine&) { throw_beyond("trace"); }

LaunchJob LaunchArguments::read() const { throw_beyond(file, "the readers of launch files", "simulate --job " + file); }

LaunchJob read_launch(std::string_view, const std::string& name, const LaunchContext&) {
  throw_beyond(name, "the readers of launch files", "simulate --network " + name);
}

PublishedNetwork published_network(std::string_view, std::string_view file_name) {
  const std::string name(file_name);
  throw_beyond(name, "the readers of published networks", "simulate --network " + name);
}

RunProfile profile_of_timeline(std::string, const std::string& path) {
  throw_beyond(path, "the readers of timelines", "simulate --profile " + path);
}

std::string section_comparison(const HtmlSection&) { throw_beyond("compare"); }

}  // namespace plumb
