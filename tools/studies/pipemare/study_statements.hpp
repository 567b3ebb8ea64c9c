#pragma once

#include <string>
#include <vector>

#include "tools/reports/plot_page.hpp"
#include "tools/studies/pipemare/model_study.hpp"
#include "tools/studies/pipemare/study_figures.hpp"

namespace plumb {

/// What the paper says, what we find, and where that differs, why.
struct Statement {
  std::string claim;
  std::string found;
  std::string why;
};

/// The paper's statements in the order of its abstract; what is found comes from the figures and the runs. A statement
/// whose runs are missing says so.
std::vector<Statement> paper_statements(const ModelStudy& models, const Study& study,
                                        const std::vector<StudyRun>& runs);

PlotTable statements_table(const std::vector<Statement>& statements);

/// The answer in three sentences: what each method loses at its best, what the corrections buy, when it pays.
std::string study_answer(const Study& study, const std::vector<StudyRun>& runs);

}  // namespace plumb
