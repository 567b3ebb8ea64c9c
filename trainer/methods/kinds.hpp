#pragma once

#include <memory>

#include "trainer/methods/correction.hpp"

// One function for each method, each in trainer/methods/<name>.cpp; the table is in table.cpp.

namespace plumb {

std::unique_ptr<Correction> make_acco(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_adaptive_braking(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_adaptive_momentum(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_dc_asgd(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_elastic(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_gap_aware(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_lwp(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_msnag(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_nesterov(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_pipeoptim(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_spectrain(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_spike(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_t1(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_t2(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_wsp(const CorrectionFacts& facts);
std::unique_ptr<Correction> make_xpipe(const CorrectionFacts& facts);

}  // namespace plumb
