#include "tools/training/teacher_arguments.hpp"

#include "models/ground/error.hpp"
#include "schedules/document/teacher.hpp"
#include "trainer/weights/weights_file.hpp"

namespace plumb {
namespace {

constexpr double kUsualWeight = 0.5;

}  // namespace

void TeacherArguments::add_to(OptionTable& parser) {
  parser.group("Teacher (schedule tspipe)")
      .real("teacher-weight", weight, {0, 1},
            "weight X of the teacher in the loss: (1 - X) cross-entropy + X T^2 KL(teacher || student) (default: 0.5)")
      .real("teacher-temperature", temperature, {0}, "T, by which the logits of both are divided (default: 2)")
      .real("teacher-decay", decay, {0, 1},
            "the teacher's weights become X teacher + (1 - X) student, one update late; 1: they stay (default: 0.999, "
            "with --teacher-checkpoint 1)")
      .text("teacher-checkpoint", weights, "FILE",
            "weights that the teacher starts from, as --weights takes them (default: those of its student)");
}

void TeacherArguments::apply(TrainOptions& options, bool adapters) const {
  if (!has_teacher(options.schedule)) {
    if (!weight && !temperature && !decay && weights.empty()) return;
    throw Error("--teacher-weight, --teacher-temperature, --teacher-decay, --teacher-checkpoint: schedule '" +
                options.schedule.name + "' has no teacher, expected one that has, such as tspipe");
  }
  if (temperature && *temperature == 0) throw Error("--teacher-temperature: expected a number above 0");
  if (!weights.empty() && adapters) {
    throw Error(
        "--teacher-checkpoint: student and teacher share what is frozen beside adapters, expected no --lora-rank");
  }
  TeacherOptions& teacher = options.optimization.teacher;
  teacher.weight = weight.value_or(kUsualWeight);
  teacher.temperature = temperature.value_or(teacher.temperature);
  teacher.decay = decay.value_or(weights.empty() ? teacher.decay : 1);
  if (!weights.empty()) options.model.teacher_parameters = read_weights(weights, options.model.network);
}

}  // namespace plumb
