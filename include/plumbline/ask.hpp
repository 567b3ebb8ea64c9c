#pragma once

// Questions answered as the commands answer them, without printing. Library: plumb::ask.
//
// A program that asks for many large timelines passes one text to every `ask(request, answer)`, which writes the answer
// where the last one was; fresh memory for each would take longer than the simulation. Where it wants structs, it calls
// `keep_freed_memory` once.

#include "models/ground/memory_reuse.hpp"
#include "tools/ask/ask.hpp"
#include "tools/ask/compare_question.hpp"
#include "tools/ask/convert_question.hpp"
#include "tools/ask/plan_search_question.hpp"
#include "tools/ask/planner_question.hpp"
#include "tools/ask/schedule_question.hpp"
#include "tools/ask/search_question.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/ask/stability_question.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/ask/trace_question.hpp"
#include "tools/ask/validate_question.hpp"
#include "tools/options/option_table.hpp"
