#pragma once

// Questions answered as the commands answer them, without printing. Library: plumb::ask.
//
// A program that asks for many large timelines calls `keep_freed_memory` once: otherwise memory goes back to the system
// after each answer, and getting it again takes longer than the simulation.

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
