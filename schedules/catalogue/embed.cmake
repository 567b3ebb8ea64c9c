# cmake -DOUTPUT=written_schedules.cpp -DRULES=a/b.rules;... -P embed.cmake
# Writes the rules of schedules as string literals, each with the folder that it stands in.
set(rows "")
foreach(file IN LISTS RULES)
  get_filename_component(folder "${file}" DIRECTORY)
  get_filename_component(group "${folder}" NAME)
  file(READ "${file}" text)
  string(APPEND rows "    WrittenSchedule{\"${group}\", R\"rules(${text})rules\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include <array>\n\n#include \"schedules/phases/written_schedules.hpp\"\n\nnamespace plumb {\n\n"
                       "std::span<const WrittenSchedule> written_schedules() {\n"
                       "  static constexpr std::array kSchedules{\n${rows}  };\n  return kSchedules;\n}\n\n}  // namespace plumb\n")
