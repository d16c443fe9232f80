// Owner: whose bytes lie in a place outside of the database. A post office has an id that nobody else has, and each
// place that it keeps bytes in carries a mark: the id, and another one made when the place was marked, so that two
// places of one post office are told apart. Values only.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "model/place.h"

namespace restante {

using InstallationId = Id<struct InstallationTag>;
using MarkId = Id<struct MarkTag>;

struct OwnerMark {
  InstallationId installation;
  MarkId mark;
  bool operator==(const OwnerMark&) const = default;
};

// A line that people can read, too; none where it is not one of these.
std::string text_of(const OwnerMark& mark);
std::optional<OwnerMark> parse_owner_mark(std::string_view text);

// What the database knows: who it is, the setting `blobs` of the server that started last, and the marks it expects.
struct Installation {
  InstallationId id;
  Place setting = Place::dir;
  std::map<Place, OwnerMark> marks{};
  bool operator==(const Installation&) const = default;
};

}  // namespace restante
