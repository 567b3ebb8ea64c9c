#pragma once

// What does happen: training with a schedule, and measuring what its actions take. Library: plumb::trainer.

#include "trainer/backends/backends.hpp"
#include "trainer/data/augmented_images.hpp"
#include "trainer/data/image_data.hpp"
#include "trainer/data/number_words.hpp"
#include "trainer/data/pair_data.hpp"
#include "trainer/data/shape_images.hpp"
#include "trainer/data/text_data.hpp"
#include "trainer/data/training_data.hpp"
#include "trainer/data/value_data.hpp"
#include "trainer/plan/train_options.hpp"
#include "trainer/profile/profile_run.hpp"
#include "trainer/train.hpp"
