#include "api/handlers.h"

#include "api/answers.h"

namespace restante::api {
namespace {

void write_place(JsonWriter& out, Places& places, const PlaceFigures& of) {
  const bool configured = places.has(of.place);
  const std::string trouble = configured ? places.trouble(of.place) : std::string();
  out.begin_object();
  out.member("place", name_of(of.place));
  out.key("configured");
  out.boolean(configured);
  out.key("healthy");
  out.boolean(configured && trouble.empty());
  write_text(out, "error", trouble);
  out.member("files", of.files);
  out.member("bytes", of.bytes);
  out.member("damaged_files", of.damaged_files);
  out.member("damaged_bytes", of.damaged_bytes);
  out.member("second_copies", of.twin_files);
  out.member("second_copies_bytes", of.twin_bytes);
  out.end_object();
}

void write_optional(JsonWriter& out, std::string_view name, const std::optional<std::int64_t>& value) {
  out.key(name);
  value ? out.integer(*value) : out.null();
}

std::string_view name_of(desk::BlobMoveProgress::Copier copier) {
  switch (copier) {
    case desk::BlobMoveProgress::Copier::this_server:
      return "this_server";
    case desk::BlobMoveProgress::Copier::other_server:
      return "another_server";
    case desk::BlobMoveProgress::Copier::none:
      break;
  }
  return {};
}

void write_move(JsonWriter& out, const desk::BlobMoveProgress& progress) {
  out.key("migration");
  if (!progress.move) return out.null();
  const BlobMove& move = *progress.move;
  out.begin_object();
  out.member("from", name_of(move.from));
  out.member("to", name_of(move.to));
  out.member("phase", name_of(move.phase));
  out.member("rate", move.rate);
  write_time(out, "begun_at", move.begun_at);
  write_time(out, "phase_at", move.phase_at);
  out.member("left_files", progress.left_files);
  out.member("left_bytes", progress.left_bytes);
  out.member("copied_files", progress.copied_files);
  out.member("copied_bytes", progress.copied_bytes);
  write_optional(out, "bytes_per_second", progress.bytes_per_second);
  write_optional(out, "seconds_left", progress.seconds_left);
  out.member("failures", progress.failures);
  write_text(out, "last_failure", progress.last_failure);
  write_text(out, "copied_by", name_of(progress.copier));
  write_text(out, "held_up", progress.held_up);
  out.end_object();
}

http::Response status(const Context& context) {
  desk::BlobMoves& moves = *context.blob_moves;
  const desk::BlobMoveProgress progress = moves.progress();
  const PlacePlan plan = moves.places().plan();
  JsonWriter out;
  out.begin_object();
  out.member("setting", name_of(moves.setting()));
  out.member("writes_to", name_of(plan.write));
  write_text(out, "also_to", plan.also ? name_of(*plan.also) : std::string_view());
  out.key("places");
  out.begin_array();
  for (const PlaceFigures& of : progress.places) write_place(out, moves.places(), of);
  out.end_array();
  write_move(out, progress);
  out.end_object();
  return http::json(200, out.take());
}

}  // namespace

http::Response read_blobs(const Context& context, http::Request&) { return status(context); }

http::Response begin_blob_move(const Context& context, http::Request& request) {
  const auto body = json_body(request, BodyMay::not_be_absent);
  if (!body) return answer(body.error());
  Fields fields(*body);
  const auto place = parse_place(fields.required_text("to"));
  if (!place) fields.fail(bad_field("to", "to must be dir, inline or s3"));
  const auto rate = fields.whole("rate");
  if (rate.value_or(0) < 0) fields.fail(bad_field("rate", "rate must be bytes a second; 0 is no limit"));
  if (fields.error()) return answer(*fields.error());
  const auto begun = context.blob_moves->begin(*place, rate);
  return begun ? status(context) : answer(begun.error());
}

http::Response finish_blob_move(const Context& context, http::Request&) {
  const auto finished = context.blob_moves->finish();
  return finished ? status(context) : answer(finished.error());
}

}  // namespace restante::api
