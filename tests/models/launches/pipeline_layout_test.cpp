#include "models/launches/pipeline_layout.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

using Units = std::vector<std::int64_t>;

Settings given(const std::vector<std::pair<std::string, std::string>>& options) {
  Settings settings("x.sh");
  for (const auto& [name, value] : options) settings.set(name, {{value}, "x.sh:1"});
  return settings;
}

Settings with_layout(const std::string& text) { return given({{"pipeline_model_parallel_layout", text}}); }

}  // namespace

TEST_CASE("repetitions of a layout are written out, brackets before letters") {
  CHECK(written_out_layout("Et*3|(tt|)*2,ttL") == "Ettt|tt|tt|ttL");
  CHECK(written_out_layout("(t*2|)*2L") == "tt|tt|L");
  CHECK(written_out_layout("t*1L") == "tL");
  CHECK(written_out_layout("").empty());
  for (const char* wrong : {"(tt)", "(tt)3", "(tt", "t*", "t*0", "(t)*0", "(t)*x", "t*99999999", "(t)*99999999"}) {
    CAPTURE(wrong);
    CHECK(written_out_layout(wrong).empty());
  }
  const std::size_t most = std::size_t{1} << 22U;
  CHECK(written_out_layout("t*" + std::to_string(most)).size() == most);
  CHECK(written_out_layout("Lt*" + std::to_string(most)).empty());
  CHECK(written_out_layout("(tL)*" + std::to_string(most / 2)).size() == most);
  CHECK(written_out_layout("L(tL)*" + std::to_string(most / 2)).empty());
}

TEST_CASE("a layout in letters or in names has as many layers in each stage") {
  CHECK(megatron_stage_units(with_layout("Ett|t*3|tL"), 6, 3, 1) == Units{2, 3, 1});
  CHECK(megatron_stage_units(with_layout("E|tm|L"), 2, 3, 1) == Units{0, 2, 0});
  CHECK(megatron_stage_units(with_layout("[['embedding','decoder'],['decoder','decoder','mtp'],['loss']]"), 4, 3, 1) ==
        Units{1, 3, 0});
  CHECK(megatron_stage_units(with_layout("[[embedding],[],[decoder,loss]]"), 1, 3, 1) == Units{0, 0, 1});
  for (const char* quoted : {"\"Et|ttL\"", "'Et|ttL'", " E t | t t L ", "Et\"|'t tL"}) {
    CAPTURE(quoted);
    CHECK(megatron_stage_units(with_layout(quoted), 3, 2, 1) == Units{1, 2});
  }
  CHECK(megatron_chunks(with_layout("Et|t|t|tL"), 4, 2) == 2);
  CHECK(megatron_chunks(with_layout("Et|t|t|tL"), 4, 4) == 1);
  const auto told = [](const std::string& text, std::int64_t pipeline) {
    return testing::error_message([&] {
      megatron_chunks(with_layout(text), 4, pipeline);
      megatron_stage_units(with_layout(text), 4, pipeline, 1);
    });
  };
  const std::string begin = "x.sh:1: pipeline_model_parallel_layout: expected ";
  CHECK(told("Et|t|t|tL", 3) == begin + "a multiple of 3 stages, found 4");
  CHECK(told("Etx|tL", 1) == begin + "letters E, t, m, L and | with repetitions (...)*n and t*n, found 'Etx|tL'");
  CHECK(told("(", 1) == begin + "letters E, t, m, L and | with repetitions (...)*n and t*n, found '('");
  CHECK(told("tt|ttL", 1) == begin + "one E, first, found 'tt|ttL'");
  CHECK(told("tEt|ttL", 1) == begin + "one E, first, found 'tEt|ttL'");
  CHECK(told("EtE|ttL", 1) == begin + "one E, first, found 'EtE|ttL'");
  CHECK(told("Ett|tt", 1) == begin + "one L, last, found 'Ett|tt'");
  CHECK(told("EttL|tt", 1) == begin + "one L, last, found 'EttL|tt'");
  CHECK(told("ELttL", 1) == begin + "one L, last, found 'ELttL'");
}

TEST_CASE("ranks have the layers that are stated for the first and the last, and the others the rest") {
  CHECK(megatron_stage_units(given({}), 8, 4, 1) == Units{2, 2, 2, 2});
  CHECK(megatron_stage_units(given({}), 8, 2, 2) == Units{2, 2, 2, 2});
  CHECK(megatron_stage_units(given({{"decoder_first_pipeline_num_layers", "1"}}), 10, 4, 1) == Units{1, 3, 3, 3});
  CHECK(megatron_stage_units(given({{"decoder_last_pipeline_num_layers", "1"}}), 10, 4, 1) == Units{3, 3, 3, 1});
  const std::vector<std::pair<std::string, std::string>> both{{"decoder_first_pipeline_num_layers", "2"},
                                                              {"decoder_last_pipeline_num_layers", "1"}};
  CHECK(megatron_stage_units(given(both), 9, 4, 1) == Units{2, 3, 3, 1});
  CHECK(megatron_stage_units(given(both), 3, 2, 1) == Units{2, 1});
  // Embedding and loss that count as a layer each.
  CHECK(megatron_stage_units(given({{"account_for_embedding_in_pipeline_split", "true"},
                                    {"account_for_loss_in_pipeline_split", "true"}}),
                             10, 4, 1) == Units{2, 3, 3, 2});
  const auto told = [&](const Settings& settings, std::int64_t units, std::int64_t pipeline, std::int64_t chunks) {
    return testing::error_message([&] { megatron_stage_units(settings, units, pipeline, chunks); });
  };
  CHECK(told(given({}), 9, 4, 1).find("9 layers do not divide over 4 pipeline ranks") != std::string::npos);
  CHECK(told(given(both), 4, 2, 1) ==
        "x.sh:1: decoder_first_pipeline_num_layers: 1 layers do not divide over 0 pipeline ranks, expected a multiple "
        "of them");
  CHECK(told(given({both[1]}), 9, 4, 1).find("decoder_last_pipeline_num_layers: 8 layers") != std::string::npos);
  CHECK(told(given(both), 2, 4, 1).find("-1 layers do not divide") != std::string::npos);
  CHECK(told(given({}), 6, 2, 2).find("3 layers of a rank do not divide into 2 stages") != std::string::npos);
  CHECK(told(given({{"account_for_embedding_in_pipeline_split", "true"}}), 0, 1, 1) == "");
  CHECK(told(given({{"account_for_embedding_in_pipeline_split", "true"}, {"decoder_last_pipeline_num_layers", "3"}}), 2,
             2, 1)
            .find("expected more layers than stages") != std::string::npos);
}

TEST_CASE("layers per virtual stage say how many stages a rank has") {
  const auto chunks = [](const std::string& each, std::int64_t units, std::int64_t pipeline) {
    return megatron_chunks(given({{"num_layers_per_virtual_pipeline_stage", each}}), units, pipeline);
  };
  CHECK(chunks("1", 8, 2) == 4);
  CHECK(chunks("2", 8, 2) == 2);
  CHECK(chunks("4", 8, 2) == 1);
  CHECK_THROWS_AS(chunks("3", 8, 2), Error);
  CHECK_THROWS_AS(chunks("1", 9, 2), Error);
  CHECK(megatron_chunks(given({}), 8, 2) == 1);
  CHECK(megatron_chunks(given({{"num_virtual_stages_per_pipeline_rank", "4"}}), 8, 2) == 4);
  CHECK(megatron_chunks(given({{"num_layers_per_virtual_pipeline_stage", "2"},
                               {"account_for_embedding_in_pipeline_split", "true"},
                               {"account_for_loss_in_pipeline_split", "true"}}),
                        6, 2) == 2);
}

TEST_CASE("DeepSpeed cuts as evenly as it can, larger stages first, and may count the ends as layers") {
  const Settings plain = given({});
  CHECK(deepspeed_stage_units(plain, 8, 4) == Units{2, 2, 2, 2});
  CHECK(deepspeed_stage_units(plain, 10, 4) == Units{3, 3, 2, 2});
  CHECK(deepspeed_stage_units(plain, 4, 4) == Units{1, 1, 1, 1});
  const Settings ends = given({{"pp_partition_method", "type:transformer|embedding"}});
  CHECK(deepspeed_stage_units(ends, 8, 4) == Units{2, 3, 2, 1});
  CHECK(deepspeed_stage_units(ends, 2, 4) == Units{0, 1, 1, 0});
  CHECK(testing::error_message([&] {
          deepspeed_stage_units(plain, 3, 4);
        }).find("num_layers: 3 layers for 4 pipeline ranks, expected at least one for each") != std::string::npos);
  CHECK(testing::error_message([&] { deepspeed_stage_units(ends, 1, 4); }).find("pp_partition_method: 3 layers") !=
        std::string::npos);
  CHECK_THROWS_AS(deepspeed_stage_units(ends, 0, 1), Error);
}

TEST_CASE("a cut keeps what stands before the units with the first stage, and what is behind with the last") {
  const PipelineUnits network{.before = 1, .units = {2, 2, 3, 2}, .behind = 2};
  using Bounds = std::vector<std::size_t>;
  CHECK(cut_at_units(network, {2, 2}).bounds == Bounds{0, 5, 12});
  CHECK(cut_at_units(network, {1, 1, 2}).bounds == Bounds{0, 3, 5, 12});
  CHECK(cut_at_units(network, {0, 4}).bounds == Bounds{0, 1, 12});
  CHECK(cut_at_units(network, {4}).bounds == Bounds{0, 12});
  CHECK(cut_at_units(network, {1, 0, 3}).bounds == Bounds{0, 3, 3, 12});
}

}  // namespace plumb

TEST_SUITE_END();
