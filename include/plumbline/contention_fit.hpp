#pragma once

// How much slower actions are beside others, from measured timelines. Library: plumb::contention_fit.

#include "sim/contention_fit/contention_fit.hpp"
