#include "api/download.h"

#include <fmt/format.h>

#include "api/answers.h"
#include "api/handlers.h"
#include "model/errors.h"

namespace restante::api {

http::Response download(const Context& context, http::Request& request) {
  const Program& program = context.program;
  const std::string_view file = request.param("file");
  http::Response response;
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("ETag", '"' + program.sha256 + '"');
  if (!program.name.empty() && file == program.name) {
    response.content_type = "application/octet-stream";
    auto slice = std::make_shared<http::FileSlice>();
    slice->owner = program.owner;
    slice->fd = program.fd;
    slice->length = program.size;
    response.content = std::move(slice);
    return response;
  }
  if (!program.name.empty() && file == program.name + ".sha256") {
    response.content_type = "text/plain; charset=utf-8";
    response.content = fmt::format("{}  {}\n", program.sha256, program.name);
    return response;
  }
  return answer(errors::no_such_download);
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
