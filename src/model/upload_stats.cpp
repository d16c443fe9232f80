#include "model/upload_stats.h"

#include <algorithm>
#include <array>

namespace restante {
namespace {

struct Named {
  UploadGroup group;
  std::string_view name;
};

constexpr std::array kGroups{
    Named{UploadGroup::waiting, "waiting"},   Named{UploadGroup::never_fetched, "never_fetched"},
    Named{UploadGroup::fetched, "fetched"},   Named{UploadGroup::failed, "failed"},
    Named{UploadGroup::acked, "acked"},       Named{UploadGroup::expired, "expired"},
    Named{UploadGroup::outgoing, "outgoing"}, Named{UploadGroup::damaged, "damaged"}};

}  // namespace

std::string_view name_of(UploadGroup group) { return std::ranges::find(kGroups, group, &Named::group)->name; }

std::optional<UploadGroup> parse_upload_group(std::string_view text) {
  const auto found = std::ranges::find(kGroups, text, &Named::name);
  return found == kGroups.end() ? std::nullopt : std::optional(found->group);
}

}  // namespace restante
