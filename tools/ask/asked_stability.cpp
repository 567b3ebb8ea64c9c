#include "tools/ask/asked.hpp"
#include "tools/ask/stability_question.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"

namespace plumb {
namespace {

constexpr std::string_view kStudyPart = "study";
constexpr std::string_view kStudyText = "text";
constexpr std::string_view kStudyCsv = "csv";
constexpr std::string_view kStudySvg = "svg";
constexpr std::string_view kStudyPage = "html";

class AskedStability final : public AskedQuestion {
 public:
  AskedStability() : AskedQuestion(StabilityQuestion::kUsage) { question_.add_to(options_); }

  std::vector<std::string_view> parts() const override {
    return {kStudyPart, kStudyText, kStudyCsv, kStudySvg, kStudyPage};
  }

  void answer(const Request& request, AnswerDocument& answer) override {
    const StabilityStudy study = question_.study();
    if (request.wants(kStudyPart)) answer.add_json(kStudyPart, stability_json(study));
    if (request.wants(kStudyText)) answer.add_text(kStudyText, stability_text(study));
    if (request.wants(kStudyCsv)) answer.add_text(kStudyCsv, stability_csv(study));
    if (request.wants(kStudySvg)) answer.add_text(kStudySvg, svg_plot(stability_plot(study)));
    if (request.wants(kStudyPage)) answer.add_text(kStudyPage, html_plots(stability_page(study)));
  }

 private:
  StabilityQuestion question_;
};

}  // namespace

AskedQuestionPtr asked_stability() { return std::make_unique<AskedStability>(); }

}  // namespace plumb
