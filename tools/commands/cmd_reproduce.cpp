#include <algorithm>
#include <filesystem>
#include <mutex>

#include <tbb/parallel_for.h>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tools/claims/claims_report.hpp"
#include "tools/commands/command.hpp"
#include "tools/options/arguments.hpp"
#include "tools/terminal/output_file.hpp"
#include "tools/terminal/progress.hpp"
#include "tools/terminal/results_folder.hpp"

namespace plumb {
namespace {

struct ReproduceArguments {
  std::vector<std::string> names;
  std::string claims;
  std::string json;
  bool with_long = false;

  bool parse(const CommandLine& arguments) {
    ArgumentParser parser(
        "reproduce [CLAIM]... [options]",
        "Reproduces published results. A CLAIM is the id of one published number or the name of a system\n"
        "(default: all). Without names, README.md and claims/*.md beside the document of claims are updated.\n"
        "Exit status 3: a result differs from what the document of claims expects.\n"
        "`reproduce pipemare`, `reproduce planners` and `reproduce public` are separate studies with their own "
        "--help.");
    parser.positionals(names, 0, "CLAIM")
        .text("claims", claims, "FILE", "document of claims (default: results/claims.json)")
        .flag("long", with_long, "include claims that take long")
        .text("json", json, "FILE", "write all results as JSON (- is standard output)");
    return parser.parse(arguments);
  }
};

std::vector<CheckedClaim> chosen(const std::vector<Claim>& all, const ReproduceArguments& arguments) {
  std::vector<CheckedClaim> claims;
  if (arguments.names.empty()) {
    for (const Claim& claim : all) {
      if (!claim.is_long || arguments.with_long) claims.push_back({claim, {}});
    }
    return claims;
  }
  std::vector<std::string_view> known;
  for (const Claim& claim : all) {
    known.push_back(claim.id);
    if (std::find(known.begin(), known.end(), claim.system) == known.end()) known.push_back(claim.system);
  }
  for (const std::string& name : arguments.names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) throw_unknown("claim", name, known);
  }
  for (const Claim& claim : all) {
    const auto named = [&](const std::string& name) { return name == claim.id || name == claim.system; };
    if (std::any_of(arguments.names.begin(), arguments.names.end(), named)) claims.push_back({claim, {}});
  }
  return claims;
}

void run_all(std::vector<CheckedClaim>& claims) {
  Progress progress("reproduce");
  std::mutex mutex;
  std::int64_t done = 0;
  tbb::parallel_for(std::size_t{0}, claims.size(), [&](std::size_t i) {
    claims[i].result = run_claim(claims[i].claim);
    const std::lock_guard lock(mutex);
    progress.show(++done, static_cast<std::int64_t>(claims.size()), claims[i].claim.id);
  });
}

}  // namespace

ExitStatus run_reproduce(const CommandLine& command_line) {
  if (!command_line.empty() && command_line.front() == "pipemare") {
    return run_reproduce_pipemare({command_line.begin() + 1, command_line.end()});
  }
  if (!command_line.empty() && command_line.front() == "planners") {
    return run_reproduce_planners({command_line.begin() + 1, command_line.end()});
  }
  if (!command_line.empty() && command_line.front() == "public") {
    return run_reproduce_public({command_line.begin() + 1, command_line.end()});
  }
  ReproduceArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const std::filesystem::path path =
      arguments.claims.empty() ? in_results("claims.json") : std::filesystem::path(arguments.claims);
  const std::filesystem::path page = path.parent_path() / "README.md";
  std::vector<CheckedClaim> claims = chosen(claims_from_json(read_text_file(path), path.string()), arguments);
  std::optional<OutputFile> json;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  run_all(claims);
  if (arguments.names.empty() && std::filesystem::exists(page)) {
    const std::string old_page = read_text_file(page);
    const std::string new_page = page_with_claims(old_page, claims_markdown(claims), page.string());
    if (new_page != old_page) OutputFile(page.string()).finish(new_page);
  }
  if (json) json->finish(claims_json(claims));
  if (arguments.json != "-") print(claims_text(claims));
  const auto surprise = [](const CheckedClaim& checked) { return checked.result.is_surprise(checked.claim); };
  return std::any_of(claims.begin(), claims.end(), surprise) ? ExitStatus::kNo : ExitStatus::kDone;
}

}  // namespace plumb
