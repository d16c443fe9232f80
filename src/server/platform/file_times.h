// The times that the file system knows: of the newest file of the data, which a start compares its clock with, and the
// time that it gives to a file now, which may come from another machine's clock. None when it cannot be found out.
#pragma once
#include <filesystem>
#include <optional>

#include "base/clock.h"

namespace restante {

// Of the database and the log beside it; call it before the database is opened.
std::optional<Time> newest_file_time(const std::filesystem::path& database);
// Makes a file without a name in `data`.
std::optional<Time> file_system_time(const std::filesystem::path& data);

}  // namespace restante
