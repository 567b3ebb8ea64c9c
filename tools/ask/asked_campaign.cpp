#include "tools/ask/asked.hpp"
#include "tools/ask/campaign_question.hpp"

namespace plumb {
namespace {

class AskedCampaign final : public AskedQuestion {
 public:
  AskedCampaign() : AskedQuestion(CampaignQuestion::kUsage) { question_.add_to(options_); }

  std::vector<std::string_view> parts() const override { return {"campaign", "text", "html"}; }

  void answer(const Request& request, AnswerDocument& answer) override {
    const auto add = [&](const auto& found) {
      if (request.wants("campaign")) answer.add_json("campaign", campaign_json(found));
      if (request.wants("text")) answer.add_text("text", campaign_text(found));
      if (request.wants("html")) answer.add_text("html", campaign_page(found));
    };
    question_.is_sweep() ? add(question_.sweep()) : add(question_.answer());
  }

 private:
  CampaignQuestion question_;
};

}  // namespace

AskedQuestionPtr asked_campaign() { return std::make_unique<AskedCampaign>(); }

}  // namespace plumb
