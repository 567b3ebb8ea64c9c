#pragma once

#include <string>

#include "tools/advice/advice.hpp"

namespace plumb {

/// The run, how far predictions can be trusted, the fastest schedules (`rows` of them; 0: all) and the command that
/// writes the fastest one.
std::string advice_text(const Advice& advice, std::size_t rows, const std::string& files = "FILES");

/// As a document: {"format":"plumbline-advice","version":1,...} (tools/commands/advise.md).
std::string advice_to_json(const Advice& advice);

/// What the fastest schedule that fits would save or cost, in a sentence without its end.
std::string verdict_sentence(const Advice& advice);

/// "-2.7 %", "+0.4 %".
std::string gain_text(double share);

/// The command that writes a schedule to a file for the run's runtime: `plumbline schedule ...`, or `plumbline advise
/// FILES ...` where the order was made for the costs of the run. A comment behind it (from `#` on) says what to do with
/// the file where several pipelines run beside each other, because it holds one of them.
std::string schedule_command(const Advice& advice, const AdvisedSchedule& schedule);

}  // namespace plumb
