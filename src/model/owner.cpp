#include "model/owner.h"

#include "base/json.h"

namespace restante {
namespace {

constexpr const char* kInstallation = "restante_post_office";
constexpr const char* kMark = "mark";
constexpr const char* kAbout =
    "The files stored beside this one belong to the Restante installation with this id. Leave this file here: without "
    "it, or with the mark of another installation, Restante deletes nothing here and reports no file as lost.";

}  // namespace

std::string text_of(const OwnerMark& mark) {
  Json json;
  json.set(kInstallation, Json::string(mark.installation.text()));
  json.set(kMark, Json::string(mark.mark.text()));
  json.set("about", Json::string(kAbout));
  return json.dump() + '\n';
}

std::optional<OwnerMark> parse_owner_mark(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return std::nullopt;
  const auto installation = InstallationId::parse(json->text(kInstallation));
  const auto mark = MarkId::parse(json->text(kMark));
  return installation && mark ? std::optional(OwnerMark{*installation, *mark}) : std::nullopt;
}

}  // namespace restante
