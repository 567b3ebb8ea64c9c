#pragma once

// Questions answered as the commands answer them, without printing. Library: plumb::ask.

#include "tools/ask/ask.hpp"
#include "tools/ask/schedule_question.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/ask/validate_question.hpp"
#include "tools/options/option_table.hpp"
