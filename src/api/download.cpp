#include "api/download.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "api/handlers.h"
#include "http/ranges.h"
#include "model/errors.h"

namespace restante::api {

http::Response download(const Context& context, http::Request& request) {
  const std::string_view file = request.param("file");
  const bool is_python = file.starts_with("restante.py");
  const Program& program = is_python ? context.python_client : context.program;
  const bool is_program = file == program.name;
  if (program.name.empty() || (!is_program && file != program.name + ".sha256")) {
    return answer(errors::no_such_download);
  }
  const std::string etag = '"' + program.sha256 + '"';
  http::FileConditions conditions(request);
  conditions.range.reset();  // ranges are not offered here
  const auto choice = http::choose_answer(conditions, etag, program.size);
  if (choice.answer == http::FileAnswer::precondition_failed) return precondition_failed();
  http::Response response;
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("ETag", etag);
  if (choice.answer == http::FileAnswer::not_modified) {
    response.status = 304;
  } else if (is_program) {
    response.content_type = program.media_type;
    auto slice = std::make_shared<http::FileSlice>();
    slice->owner = program.owner;
    slice->fd = program.fd;
    slice->length = program.size;
    response.content = std::move(slice);
  } else {
    response.content_type = "text/plain; charset=utf-8";
    response.content = fmt::format("{}  {}\n", program.sha256, program.name);
  }
  return response;
}

std::string platform_url(const Context& context, const http::Request& request) {
  if (!context.public_url.empty()) return context.public_url;
  return fmt::format("{}://{}", request.secure ? "https" : "http", request.host);
}

void write_commands(JsonWriter& out, const Program& program, const std::string& url, const std::string& enrolment) {
  const std::string connect = fmt::format("restante connect --url {} --enrol {}", url, enrolment);
  out.member("connect_command", connect);
  if (program.name.empty()) return;
  out.member("install_command", fmt::format("curl -fsSL {}/download/{} -o restante && chmod +x restante && ./{}", url,
                                            program.name, connect));
}

}  // namespace restante::api
