#include "api/download.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "api/answers.h"
#include "api/handlers.h"
#include "http/ranges.h"
#include "model/errors.h"

namespace restante::api {
namespace {

constexpr std::string_view kDigestSuffix = ".sha256";
constexpr std::string_view kInstallScript = "install.sh";
constexpr std::string_view kPythonClient = "restante.py";

const Program* find_program(const std::vector<Program>& programs, std::string_view name) {
  const auto found = std::ranges::find(programs, name, &Program::name);
  return found == programs.end() ? nullptr : &*found;
}

std::string_view media_type_of(std::string_view name) {
  if (name.ends_with(".py")) return "text/x-python; charset=utf-8";
  if (name.ends_with(".sh")) return "text/x-shellscript; charset=utf-8";
  return "application/octet-stream";
}

// Downloads the program as `file` and compares it. macOS has shasum where Linux has sha256sum.
std::string download_line(const std::string& url, const Program& program, std::string_view file) {
  return fmt::format(
      "curl -fsSL {}/download/{} -o {} && echo '{}  {}' | $(command -v sha256sum || echo shasum -a 256) -c -", url,
      program.name, file, program.sha256, file);
}

}  // namespace

http::Response download(const Context& context, http::Request& request) {
  std::string_view name = request.param("file");
  const bool wants_digest = name.ends_with(kDigestSuffix);
  if (wants_digest) name.remove_suffix(kDigestSuffix.size());
  const Program* program = find_program(context.programs, name);
  if (!program) return answer(errors::no_such_download);
  const std::string etag = '"' + program->sha256 + '"';
  http::FileConditions conditions(request);
  conditions.range.reset();  // ranges are not offered here
  const auto choice = http::choose_answer(conditions, etag, program->size);
  if (choice.answer == http::FileAnswer::precondition_failed) return precondition_failed();
  http::Response response;
  response.headers.emplace_back("Cache-Control", "no-cache");
  response.headers.emplace_back("ETag", etag);
  if (choice.answer == http::FileAnswer::not_modified) {
    response.status = 304;
  } else if (wants_digest) {
    response.content_type = "text/plain; charset=utf-8";
    response.content = fmt::format("{}  {}\n", program->sha256, program->name);
  } else {
    response.content_type = media_type_of(program->name);
    auto slice = std::make_shared<http::FileSlice>();
    slice->owner = program->owner;
    slice->fd = program->fd;
    slice->length = program->size;
    response.content = std::move(slice);
  }
  return response;
}

std::string platform_url(const Context& context, const http::Request& request) {
  if (!context.public_url.empty()) return context.public_url;
  return fmt::format("{}://{}", request.secure ? "https" : "http", request.host);
}

void write_commands(JsonWriter& out, const std::vector<Program>& programs, const std::string& url,
                    const std::string& enrolment) {
  const std::string flags = fmt::format("--url {} --enrol {}", url, enrolment);
  out.member("connect_command", "restante connect " + flags);
  if (const Program* install = find_program(programs, kInstallScript)) {
    out.member("install_command", fmt::format("{} && sh restante-install.sh {}",
                                              download_line(url, *install, "restante-install.sh"), flags));
  }
  if (const Program* python = find_program(programs, kPythonClient)) {
    out.member("python_command",
               fmt::format("{} && python3 restante.py connect {}", download_line(url, *python, kPythonClient), flags));
    out.member("powershell_command",
               fmt::format("Invoke-WebRequest -UseBasicParsing {}/download/restante.py -OutFile restante.py; "
                           "if ((Get-FileHash restante.py).Hash -ne '{}') {{ throw 'restante.py was cut or changed on "
                           "the way; make a new line' }}; python restante.py connect {}",
                           url, python->sha256, flags));
  }
}

}  // namespace restante::api
