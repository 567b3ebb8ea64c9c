// In place of report_png.cpp where AGG is missing.
#include "models/ground/error.hpp"
#include "tools/reports/report_png.hpp"

namespace plumb {

std::string png_report(const Timeline&, const PictureStyle&) { throw Error(std::string(why_no_png())); }

std::string png_picture(const Card&, const PictureStyle&) { throw Error(std::string(why_no_png())); }

std::string_view why_no_png() {
  return "this program was built without AGG (libagg-dev), which draws PNG; expected a PDF or SVG to be converted, as "
         "`pdftoppm -png -r 300 a.pdf a` does";
}

}  // namespace plumb
