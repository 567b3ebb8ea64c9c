#pragma once

// Answers as pictures, pages and tables. Library: plumb::reports.

#include "tools/reports/card.hpp"
#include "tools/reports/plot.hpp"
#include "tools/reports/plot_page.hpp"
#include "tools/reports/plot_svg.hpp"
#include "tools/reports/report_csv.hpp"
#include "tools/reports/report_html.hpp"
#include "tools/reports/report_pdf.hpp"
#include "tools/reports/report_png.hpp"
#include "tools/reports/report_svg.hpp"
#include "tools/reports/report_tikz.hpp"
#include "tools/reports/report_trace.hpp"
#include "tools/reports/reports.hpp"
#include "tools/tables/card_text.hpp"
#include "tools/tables/comparison_text.hpp"
#include "tools/tables/job_fit.hpp"
#include "tools/tables/profile_text.hpp"
#include "tools/tables/text_timeline.hpp"
#include "tools/tables/timeline_text.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"
