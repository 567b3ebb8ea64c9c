/// The extension module `plumbline._core`: what Python cannot do as fast. plumbline/__init__.py is what users see.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/costs/memory_class.hpp"
#include "models/ground/error.hpp"
#include "models/ground/given_files.hpp"
#include "models/ground/memory_reuse.hpp"
#include "sim/timeline/timeline.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tools/ask/ask.hpp"
#include "tools/ask/asked.hpp"
#include "tools/ask/request.hpp"
#include "tools/ask/simulate_question.hpp"
#include "tools/python/line_picture.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/reports/reports.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {
namespace {

namespace py = pybind11;

/// The spans of a timeline, one array per member, in the order of `Timeline::spans`. Times are nanoseconds.
struct SpanColumns {
  std::vector<std::int32_t> device;
  std::vector<std::int8_t> lane;  ///< index into `kLaneNames`
  std::vector<std::int8_t> op;    ///< index into `kOpNames`
  std::vector<std::int32_t> stage;
  std::vector<std::int32_t> microbatch;
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> end_ns;
};

/// The memory curves of a timeline, one array per member, by device, then time: from `time_ns` on, `bytes` of one class
/// are alive on the device.
struct MemoryColumns {
  std::vector<std::int32_t> device;
  std::vector<std::int64_t> time_ns;
  std::vector<std::int8_t> memory_class;  ///< index into `kMemoryClassNames`
  std::vector<std::int64_t> bytes;
};

/// What devices hold where bytes are not known, one array per member, by device, then time: from `time_ns` on, `amount`
/// stashes of 1/p of the model.
struct StashColumns {
  std::vector<std::int32_t> device;
  std::vector<std::int64_t> time_ns;
  std::vector<double> amount;
};

SpanColumns span_columns(const Timeline& timeline) {
  SpanColumns columns;
  for (const Span& span : timeline.spans) {
    columns.device.push_back(static_cast<std::int32_t>(span.device));
    columns.lane.push_back(static_cast<std::int8_t>(span.lane));
    columns.op.push_back(static_cast<std::int8_t>(span.action.op));
    columns.stage.push_back(static_cast<std::int32_t>(span.action.stage));
    columns.microbatch.push_back(static_cast<std::int32_t>(span.action.microbatch));
    columns.start_ns.push_back(to_ns(span.start, timeline.base));
    columns.end_ns.push_back(to_ns(span.end, timeline.base));
  }
  return columns;
}

MemoryColumns memory_columns(const Timeline& timeline) {
  MemoryColumns columns;
  for (std::size_t device = 0; device < timeline.memory.ends.size(); ++device) {
    for (const MemoryPoint& point : timeline.memory.of(device)) {
      columns.device.push_back(static_cast<std::int32_t>(device));
      columns.time_ns.push_back(to_ns(point.time(), timeline.base));
      columns.memory_class.push_back(static_cast<std::int8_t>(point.cls()));
      columns.bytes.push_back(point.bytes());
    }
  }
  return columns;
}

StashColumns stash_columns(const Timeline& timeline) {
  const StashCurves& curves = timeline.stashes;
  StashColumns columns;
  for (std::size_t device = 0; device < curves.devices.size(); ++device) {
    for (const StashPoint& point : curves.devices[device]) {
      columns.device.push_back(static_cast<std::int32_t>(device));
      columns.time_ns.push_back(to_ns(point.time, timeline.base));
      columns.amount.push_back(point.amount * curves.share);
    }
  }
  return columns;
}

/// One array of a struct of arrays, which it keeps alive. Python reads it through the buffer protocol.
struct Column {
  std::shared_ptr<const void> owner;
  const void* data = nullptr;
  std::size_t size = 0;
  std::size_t item_size = 0;
  std::string format;
};

template <typename Columns, typename Item>
Column column_of(const std::shared_ptr<const Columns>& owner, const std::vector<Item>& items) {
  return {owner, items.data(), items.size(), sizeof(Item), py::format_descriptor<Item>::format()};
}

/// What Python holds of a simulated job.
struct SimulatedJob {
  Timeline timeline;
  std::vector<Violation> violations;
  std::vector<std::string> findings;
  std::vector<std::string> notes;
};

std::shared_ptr<SimulatedJob> simulate_request(const std::string& text, bool spans) {
  const Request request = request_from_json(text);
  const GivenFiles files(request.readable());
  const CollectedNotes notes;
  PreparedJob prepared(simulate_question(request));
  auto job = std::make_shared<SimulatedJob>();
  job->violations = prepared.violations;
  if (job->violations.empty()) {
    prepared.predict({.spans = spans, .reports = spans});
    job->timeline = std::move(prepared.timeline);
    job->findings = std::move(prepared.findings);
  }
  job->notes = notes.lines();
  return job;
}

/// The memory of a thread's answers: the next one is written where the last one was.
thread_local std::string answer_memory;

py::str answer_to(const std::string& request) {
  {
    const py::gil_scoped_release others_run;
    ask(request, answer_memory);
  }
  return {answer_memory};
}

bool release_memory() {
  answer_memory = std::string();
  return release_freed_memory();
}

/// A text, or bytes of a file that is none.
py::object report_of(const SimulatedJob& job, const std::string& name, std::optional<double> width,
                     const std::string& caption) {
  if (width && !(*width >= kLeastPictureCm && *width <= kMostPictureCm)) {
    throw Error("width: expected 6 to 120 cm, found " + std::to_string(*width));
  }
  std::vector<std::string_view> known;
  for (const ReportFormat& format : report_formats()) {
    known.push_back(format.name);
    if (format.name != name) continue;
    const std::string file =
        format.make({.steps = {&job.timeline, 1}, .style = {.width_cm = width, .caption = caption}});
    return format.is_binary ? py::object(py::bytes(file)) : py::object(py::str(file));
  }
  throw_unknown("report", name, known);
}

py::dict columns_of_spans(const SimulatedJob& job) {
  const auto spans = std::make_shared<const SpanColumns>(span_columns(job.timeline));
  py::dict columns;
  columns["device"] = column_of(spans, spans->device);
  columns["lane"] = column_of(spans, spans->lane);
  columns["op"] = column_of(spans, spans->op);
  columns["stage"] = column_of(spans, spans->stage);
  columns["microbatch"] = column_of(spans, spans->microbatch);
  columns["start_ns"] = column_of(spans, spans->start_ns);
  columns["end_ns"] = column_of(spans, spans->end_ns);
  return columns;
}

py::dict columns_of_memory(const SimulatedJob& job) {
  const auto memory = std::make_shared<const MemoryColumns>(memory_columns(job.timeline));
  py::dict columns;
  columns["device"] = column_of(memory, memory->device);
  columns["time_ns"] = column_of(memory, memory->time_ns);
  columns["memory_class"] = column_of(memory, memory->memory_class);
  columns["bytes"] = column_of(memory, memory->bytes);
  return columns;
}

py::dict columns_of_stashes(const SimulatedJob& job) {
  const auto stashes = std::make_shared<const StashColumns>(stash_columns(job.timeline));
  py::dict columns;
  columns["device"] = column_of(stashes, stashes->device);
  columns["time_ns"] = column_of(stashes, stashes->time_ns);
  columns["amount"] = column_of(stashes, stashes->amount);
  return columns;
}

std::vector<std::string> violation_lines(const SimulatedJob& job) {
  std::vector<std::string> lines;
  for (const Violation& violation : job.violations) lines.push_back(to_string(violation));
  return lines;
}

void bind_timeline(py::module_& module) {
  py::class_<Column>(module, "Column", py::buffer_protocol()).def_buffer([](const Column& column) {
    const auto size = static_cast<py::ssize_t>(column.item_size);
    return py::buffer_info(const_cast<void*>(column.data), size, column.format, 1,
                           {static_cast<py::ssize_t>(column.size)}, {size}, true);
  });
  const auto ns = [](Ticks Timeline::*member) {
    return [member](const SimulatedJob& job) { return to_ns(job.timeline.*member, job.timeline.base); };
  };
  const auto real = [](double Timeline::*member) {
    return [member](const SimulatedJob& job) { return job.timeline.*member; };
  };
  py::class_<SimulatedJob, std::shared_ptr<SimulatedJob>>(module, "SimulatedJob")
      .def_property_readonly("makespan_ns", ns(&Timeline::makespan))
      .def_property_readonly("step_time_ns", ns(&Timeline::step_time))
      .def_property_readonly("bubble_fraction", real(&Timeline::bubble_fraction))
      .def_property_readonly("bubble_rate", real(&Timeline::bubble_rate))
      .def_property_readonly("utilization", real(&Timeline::utilization))
      .def_readonly("findings", &SimulatedJob::findings)
      .def_readonly("notes", &SimulatedJob::notes)
      .def_property_readonly("violations", &violation_lines)
      .def("spans", &columns_of_spans)
      .def("memory", &columns_of_memory)
      .def("stashes", &columns_of_stashes)
      .def("report", &report_of, py::arg("name"), py::arg("width"), py::arg("caption"))
      .def(
          "json", [](const SimulatedJob& job, bool summary) { return timeline_to_json(job.timeline, summary); },
          py::arg("summary"));
}

}  // namespace
}  // namespace plumb

PYBIND11_MODULE(_core, module) {
  namespace py = pybind11;
  static py::exception<plumb::Error> error(module, "Error", PyExc_ValueError);
  error.attr("__module__") = "plumbline";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const plumb::Errors& mistakes) {
      std::string text;
      for (const std::string& line : mistakes.messages()) text += (text.empty() ? "" : "\n") + line;
      error(text.c_str());
    } catch (const plumb::Error& mistake) {
      error(mistake.what());
    }
  });
  module.attr("version") = PLUMB_VERSION;
  plumb::bind_timeline(module);
  module.def("simulate", &plumb::simulate_request, py::arg("request"), py::arg("spans"),
             py::call_guard<py::gil_scoped_release>());
  module.def("ask", &plumb::answer_to, py::arg("request"));
  module.def("line_picture", &plumb::line_picture, py::arg("plot"));
  module.def("keep_freed_memory", &plumb::keep_freed_memory);
  module.def("release_freed_memory", &plumb::release_memory);
  module.def("options", [](const std::string& question) {
    std::vector<py::tuple> rows;
    const plumb::AskedQuestionPtr asked = plumb::asked_question(question);
    for (const plumb::OptionGroup& group : asked->options().groups()) {
      for (const plumb::Option& option : group.options) {
        std::string name = option.name;
        std::ranges::replace(name, '-', '_');
        rows.push_back(py::make_tuple(name, static_cast<int>(option.kind), option.placeholder, option.help));
      }
    }
    return rows;
  });
  module.attr("OPS") = std::vector<std::string>(plumb::kOpNames.begin(), plumb::kOpNames.end());
  module.attr("OP_COLOURS") = std::vector<std::string>(plumb::kOpColours.begin(), plumb::kOpColours.end());
  module.attr("LANES") = std::vector<std::string>(plumb::kLaneNames.begin(), plumb::kLaneNames.end());
  module.attr("MEMORY_CLASSES") =
      std::vector<std::string>(plumb::kMemoryClassNames.begin(), plumb::kMemoryClassNames.end());
}
