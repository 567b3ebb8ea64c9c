#include "tools/studies/studies.hpp"

#include <array>
#include <sstream>

#include "models/ground/error.hpp"
#include "tools/claims/study_names.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

constexpr std::array kStudies{run_reproduce_pipemare, run_reproduce_planners, run_reproduce_public};
static_assert(kStudies.size() == kStudyNames.size());

void print_studies() {
  std::ostringstream out;
  out << "usage: plumbline-studies reproduce STUDY [OPTIONS]\n\n";
  for (const std::string_view name : kStudyNames) out << "  " << name << '\n';
  out << "\nEach fills its folder of results/. plumbline-studies reproduce STUDY --help explains it and its options.\n";
  print(out.str());
}

}  // namespace

ExitStatus run_study(const CommandLine& arguments) {
  if (arguments.empty() || arguments.front() == "--help" || arguments.front() == "-h") {
    print_studies();
    return arguments.empty() ? ExitStatus::kWrongInput : ExitStatus::kDone;
  }
  if (arguments.front() != "reproduce")
    throw_unknown("command", arguments.front(), std::array<std::string_view, 1>{"reproduce"});
  const std::string study = arguments.size() > 1 ? arguments[1] : "";
  for (std::size_t i = 0; i < kStudies.size(); ++i) {
    if (study == kStudyNames[i]) return kStudies[i]({arguments.begin() + 2, arguments.end()});
  }
  throw_unknown("study", study, kStudyNames);
}

}  // namespace plumb
