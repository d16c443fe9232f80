// Ownership of the blobs in a place outside of the database. An installation has a unique id. Each place in which it
// stores blobs has a mark: the installation's id and a second id that was made when the place was marked, so that two
// places of one installation can be distinguished. Values only.
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

// One line that people can read, too. parse_owner_mark returns nothing for any other text.
std::string text_of(const OwnerMark& mark);
std::optional<OwnerMark> parse_owner_mark(std::string_view text);

// What the database knows: its own id, the setting `blobs` of the server that started last, and the expected marks.
struct Installation {
  InstallationId id;
  Place setting = Place::dir;
  std::map<Place, OwnerMark> marks{};
  bool operator==(const Installation&) const = default;
};

}  // namespace restante
