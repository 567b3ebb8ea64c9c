#include "tools/measured_steps/measured_table.hpp"

#include <filesystem>
#include <variant>

#include "models/ground/text_file.hpp"
#include "tools/measured_steps/measured_memory.hpp"

namespace plumb {

MeasuredTable measured_table(const std::vector<std::string>& files, const std::optional<Cluster>& cluster,
                             const std::string& gpu) {
  MeasuredTable table;
  for (std::size_t place = 0; place < files.size(); ++place) {
    const std::filesystem::path path(files[place]);
    RecipeSource source = step_source(path.parent_path(), path.stem().string());
    source.cluster = cluster;
    for (const MeasuredStep& row : measured_steps(read_text_file(files[place]), path.filename().string())) {
      if (!gpu.empty() && row.gpu != gpu) continue;
      std::variant<MeasuredJob, std::string> job = measured_job(row, source);
      if (auto* why = std::get_if<std::string>(&job)) {
        table.refused.emplace_back(row, std::move(*why));
      } else {
        table.jobs.push_back(std::get<MeasuredJob>(std::move(job)));
        table.file.push_back(place);
      }
      const std::optional<Cluster> machine = cluster ? cluster : step_cluster(row, source.recipe.facts(row));
      if (machine && memory_refusal(row).empty()) {
        table.memory_jobs.push_back(memory_job(row, *machine, source.recipe));
      }
    }
  }
  return table;
}

}  // namespace plumb
