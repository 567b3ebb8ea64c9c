#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"
#include "tools/studies/pipemare/study_figures.hpp"

namespace plumb {

/// Colour of the method at that place of the study. Where colours come again, dashed, that of the first one, which is
/// dashed itself, is left out.
std::size_t method_colour(std::size_t place);

/// "98.31 ± 0.42": accuracy in percent, or loss.
std::string quality_text(const StudyTask& task, const std::optional<SeedMean>& of);

/// A table per task, every method at its best rate: quality with its 95 % interval, gap to the first method, updates to
/// the target, divergences.
std::string study_text(const Study& study, const std::vector<StudyRun>& runs);

/// The same as Markdown, with the command of every method.
std::string study_markdown(const Study& study, const std::vector<StudyRun>& runs);

/// `{"tasks": [{"name", "methods": [{"name", "quality": {"mean", "half_width", "count"}, "gap", ...}]}]}`: an object of
/// JSON, as text.
std::string study_json(const Study& study, const std::vector<StudyRun>& runs);

/// Quality by updates done: the mean over seeds, with its 95 % interval as a band.
Plot study_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// Training loss by updates done, of runs that diverge, too.
Plot study_loss_plot(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

/// Tables of the figures, for a page.
PlotTable study_table(const Study& study, const StudyTask& task, const std::vector<StudyRun>& runs);

}  // namespace plumb
