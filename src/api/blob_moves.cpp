#include "api/handlers.h"

#include "api/answers.h"
#include "base/names.h"

namespace restante::api {
namespace {

void write_place(JsonWriter& out, Places& places, const PlaceFigures& of) {
  const bool configured = places.has(of.place);
  const std::string trouble = configured ? places.trouble(of.place) : std::string();
  out.member("place", name_of(of.place));
  out.member("configured", configured);
  out.member("healthy", configured && trouble.empty());
  out.member_or_null("error", trouble);
  out.member("files", of.files);
  out.member("bytes", of.bytes);
  out.member("damaged_files", of.damaged_files);
  out.member("damaged_bytes", of.damaged_bytes);
  out.member("second_copies", of.twin_files);
  out.member("second_copies_bytes", of.twin_bytes);
}

using Copier = desk::BlobMoveProgress::Copier;
constexpr Names<Copier, Copier::other_server> kCopiers{"", "this_server", "another_server"};

void write_move(JsonWriter& out, const desk::BlobMoveProgress& progress) {
  const BlobMove& move = *progress.move;
  out.member("from", name_of(move.from));
  out.member("to", name_of(move.to));
  out.member("phase", name_of(move.phase));
  out.member("rate", move.rate);
  out.member("begun_at", move.begun_at);
  out.member("phase_at", move.phase_at);
  out.member("left_files", progress.left_files);
  out.member("left_bytes", progress.left_bytes);
  out.member("copied_files", progress.copied_files);
  out.member("copied_bytes", progress.copied_bytes);
  out.member_or_null("bytes_per_second", progress.bytes_per_second);
  out.member_or_null("seconds_left", progress.seconds_left);
  out.member("failures", progress.failures);
  out.member_or_null("last_failure", progress.last_failure);
  out.member_or_null("copied_by", kCopiers.of(progress.copier));
  out.member_or_null("held_up", progress.held_up);
}

http::Response status(const Context& context) {
  desk::BlobMoves& moves = *context.blob_moves;
  const desk::BlobMoveProgress progress = moves.progress();
  const PlacePlan plan = moves.places().plan();
  return object_answer(200, [&](JsonWriter& out) {
    out.member("setting", name_of(moves.setting()));
    out.member("writes_to", name_of(plan.write));
    out.member_or_null("also_to", plan.also ? name_of(*plan.also) : std::string_view());
    out.objects("places", progress.places, [&](const PlaceFigures& of) { write_place(out, moves.places(), of); });
    if (progress.move) {
      out.object("migration", [&] { write_move(out, progress); });
    } else {
      out.raw_member("migration", "null");
    }
  });
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
