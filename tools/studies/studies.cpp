#include "tools/studies/studies.hpp"

#include <array>
#include <string>
#include <string_view>

#include "models/ground/error.hpp"
#include "models/ground/text_stream.hpp"
#include "tools/claims/study_names.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

constexpr std::array kStudies{run_reproduce_pipemare, run_reproduce_planners, run_reproduce_public};
static_assert(kStudies.size() == kStudyNames.size());

bool is_call_for_help(std::string_view word) { return word == "help" || word == "--help" || word == "-h"; }

void print_studies() {
  TextStream out;
  out << "usage: plumbline-studies reproduce STUDY [OPTIONS]\n\n";
  for (const std::string_view name : kStudyNames) out << "  " << name << '\n';
  out << "\nEach fills its folder of results/. plumbline-studies reproduce STUDY --help explains it and its options.\n";
  print(out.str());
}

}  // namespace

ExitStatus run_study(const CommandLine& arguments) {
  if (arguments.size() > 2 && arguments.front() == "help") {  // help reproduce STUDY
    CommandLine asked(arguments.begin() + 1, arguments.end());
    asked.emplace_back("--help");
    return run_study(asked);
  }
  const bool reproduces = !arguments.empty() && arguments.front() == "reproduce";
  const std::size_t place = reproduces ? 1 : 0;
  if (arguments.size() <= place || is_call_for_help(arguments[place])) {
    print_studies();
    return arguments.size() <= place ? ExitStatus::kWrongInput : ExitStatus::kDone;
  }
  if (!reproduces) throw_unknown("command", arguments.front(), std::array<std::string_view, 1>{"reproduce"});
  const std::string& study = arguments[1];
  for (std::size_t i = 0; i < kStudies.size(); ++i) {
    if (study == kStudyNames[i]) return kStudies[i]({arguments.begin() + 2, arguments.end()});
  }
  throw_unknown("study", study, kStudyNames);
}

}  // namespace plumb
