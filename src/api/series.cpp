#include "api/handlers.h"

#include <cmath>

#include "api/answers.h"
#include "base/text.h"

namespace restante::api {
namespace {

std::int64_t milliseconds(Time time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

// Milliseconds since 1970, as in the answer: the client has every row of that millisecond.
Result<std::optional<Time>> since_in(const http::Request& request) {
  const auto text = request.query_param("since");
  if (!text) return std::optional<Time>();
  const auto given = parse_unsigned(*text);
  if (!given || *given > 253'402'300'799'999) {
    return bad_parameter("since", "since must be milliseconds since 1970, as in time");
  }
  return std::optional(Time(std::chrono::milliseconds(*given + 1)) - std::chrono::microseconds(1));
}

// Six digits are enough for a chart, and a third of the bytes.
double rounded(double value) { return std::round(value * 1e4) / 1e4; }

void write_column(JsonWriter& out, const std::vector<desk::SeriesRow>& rows, std::size_t column) {
  out.array(desk::kSeriesColumns[column], rows,
            [&](const desk::SeriesRow& row) { out.real(rounded(row.values[column])); });
}

void write_running(JsonWriter& out, const desk::SeriesRow& row) {
  out.object("running", [&] {
    for (std::size_t i = 0; i < desk::kSeriesColumns.size(); ++i) {
      out.member(desk::kSeriesColumns[i], rounded(row.values[i]));
    }
  });
}

}  // namespace

http::Response read_series(const Context& context, http::Request& request) {
  const auto since = since_in(request);
  if (!since) return answer(since.error());
  const auto rows = context.series->read(*since);
  const desk::SeriesRow running = context.series->running();
  return object_answer(200, [&](JsonWriter& out) {
    out.member("now", milliseconds(running.at));
    out.member("period_seconds", std::chrono::duration<double>(context.series->rules().every).count());
    out.member("kept", static_cast<std::int64_t>(context.series->rules().rows));
    out.array("time", rows, [&](const desk::SeriesRow& row) { out.integer(milliseconds(row.at)); });
    out.object("columns", [&] {
      for (std::size_t i = 0; i < desk::kSeriesColumns.size(); ++i) write_column(out, rows, i);
    });
    write_running(out, running);
  });
}

}  // namespace restante::api
