#include "tools/claims/cmd_reproduce.hpp"
#include "tools/command_line/parse_command_line.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

#include <tbb/parallel_for.h>

#include "models/ground/disk.hpp"
#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "tools/claims/claims_report.hpp"
#include "tools/options/option_table.hpp"
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
    OptionTable parser(
        "reproduce [CLAIM]... [options]",
        "Reproduces published results. A CLAIM is the id of one claim or the name of a system\n"
        "(default: all). Without names, README.md and claims/*.md beside the document of claims are updated.\n"
        "Exit status 3: a result differs from what the document of claims expects.\n"
        "`reproduce pipemare`, `reproduce planners` and `reproduce public` are studies with their own --help:\n"
        "Python scripts over the module, which the launcher of the source tree runs.");
    parser.positionals(names, 0, "CLAIM")
        .text("claims", claims, "FILE", "document of claims (default: results/claims.json)")
        .flag("long", with_long, "include claims that take long")
        .text("json", json, "FILE", "write all results as JSON (- is standard output)");
    return parse_command_line(parser, arguments);
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

/// Studies that fill folders of results/. The launcher knows them, too.
constexpr std::array<std::string_view, 3> kStudies{"pipemare", "planners", "public"};

void refuse_studies(const CommandLine& command_line) {
  if (command_line.empty()) return;
  const std::string& name = command_line.front();
  if (std::find(kStudies.begin(), kStudies.end(), name) == kStudies.end()) return;
  throw Error("reproduce " + name + ": this study is the script results/" + name +
              "/study.py; `./plumbline reproduce " + name + "` in the source tree runs it");
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

/// Rewrites `path` where its text changed.
void rewrite_if_changed(const std::filesystem::path& path, const std::string& text) {
  if (!std::filesystem::exists(path) || read_text_file(path) != text) OutputFile(path.string()).finish(text);
}

/// Rewrites the table of systems in `index`, and the page of every system.
void refresh_pages(const std::filesystem::path& index, const std::vector<CheckedClaim>& claims) {
  const std::filesystem::path folder = index.parent_path();
  rewrite_if_changed(index, page_with_claims(read_text_file(index), claims_index_markdown(claims), index.string()));
  if (const int reason = disk::make_folder(folder / "claims")) {
    throw Error((folder / "claims").string() + ": cannot make the folder: " + std::system_category().message(reason));
  }
  for (const ClaimsPage& page : claims_pages(claims)) rewrite_if_changed(folder / page.file, page.markdown);
}

}  // namespace

ExitStatus run_reproduce(const CommandLine& command_line) {
  refuse_studies(command_line);
  ReproduceArguments arguments;
  if (!arguments.parse(command_line)) return ExitStatus::kDone;
  const std::filesystem::path path =
      arguments.claims.empty() ? in_results("claims.json") : std::filesystem::path(arguments.claims);
  const std::filesystem::path index = path.parent_path() / "README.md";
  std::vector<CheckedClaim> claims = chosen(claims_from_json(read_text_file(path), path.string()), arguments);
  std::optional<OutputFile> json;
  if (!arguments.json.empty()) json.emplace(arguments.json);
  run_all(claims);
  if (arguments.names.empty() && std::filesystem::exists(index)) refresh_pages(index, claims);
  if (json) json->finish(claims_json(claims));
  if (arguments.json != "-") print(claims_text(claims));
  const auto surprise = [](const CheckedClaim& checked) { return checked.result.is_surprise(checked.claim); };
  return std::any_of(claims.begin(), claims.end(), surprise) ? ExitStatus::kNo : ExitStatus::kDone;
}

}  // namespace plumb
