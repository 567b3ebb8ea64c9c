// The questions of the first run on a GPU, asked one after the other; what fails is an answer, too.
//   plumbline-gpu-probe [--dry-run] [--only N] [--json FILE]

#include <chrono>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "tools/gpu/probe_questions.hpp"

namespace plumb::cuda {
namespace {

using Answer = nlohmann::ordered_json;

struct ProbeArguments {
  bool dry_run = false;
  int only = 0;
  std::string json;
};

ProbeArguments parse(const std::vector<std::string>& words) {
  ProbeArguments arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--dry-run") {
      arguments.dry_run = true;
    } else if (words[i] == "--only" && i + 1 < words.size()) {
      arguments.only = std::atoi(words[++i].c_str());
    } else if (words[i] == "--json" && i + 1 < words.size()) {
      arguments.json = words[++i];
    } else {
      throw Error("unknown argument '" + words[i] + "', expected --dry-run, --only N or --json FILE");
    }
  }
  return arguments;
}

std::vector<Question> all_questions() {
  std::vector<Question> all;
  for (auto* some : {partition_questions, rate_questions, link_questions, overhead_questions}) {
    for (Question& question : some()) all.push_back(std::move(question));
  }
  return all;
}

Answer asked(const Question& question, bool dry_run) {
  Answer row{{"question", question.number}, {"text", question.text}};
  if (dry_run) {
    row["not_asked"] = "dry run";
    return row;
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    row["answer"] = Answer::parse(question.ask());
  } catch (const std::exception& error) {
    row["error"] = error.what();
  }
  row["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return row;
}

int run(const ProbeArguments& arguments) {
  Answer report{{"format", "plumbline-gpu-probe"}, {"version", 1}, {"answers", Answer::array()}};
  int failed = 0;
  for (const Question& question : all_questions()) {
    if (arguments.only != 0 && question.number != arguments.only) continue;
    report["answers"].push_back(asked(question, arguments.dry_run));
    failed += report["answers"].back().contains("error") ? 1 : 0;
    std::cout << report["answers"].back().dump() << '\n' << std::flush;
  }
  if (!arguments.json.empty()) std::ofstream(arguments.json) << report.dump(1) << '\n';
  return failed == 0 ? 0 : 3;
}

}  // namespace
}  // namespace plumb::cuda

int main(int argc, char** argv) {
  try {
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);  // before the first call of CUDA
    return plumb::cuda::run(plumb::cuda::parse({argv + 1, argv + argc}));
  } catch (const std::exception& error) {
    std::cerr << "plumbline-gpu-probe: " << error.what() << '\n';
    return 2;
  }
}
