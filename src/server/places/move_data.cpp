#include "server/places/move_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/fd.h"
#include "model/place.h"
#include "server/secrets/secret_file.h"
#include "store/blob_key.h"
#include "store/dir/file_writer.h"

namespace restante {
namespace {

namespace fs = std::filesystem;

// The secrets of the server, and the mark of its directory.
constexpr const char* kOwnFiles[] = {"admin.token", "server.key", "blobs/restante-owner"};
constexpr std::size_t kPiece = 1 << 20;

[[noreturn]] void refuse(const fs::path& path, const char* what) {
  throw OpenRefused(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

fs::path place_of(const fs::path& data, const std::string& key) { return data / "blobs" / dir::file_of(key); }

// Passes each piece to `take`, and returns the digest of the whole file. Nothing when there is no such file.
template <class Take>
std::optional<Digest> read_pieces(const fs::path& path, Take take) {
  const Fd in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (in ? !is_regular_file(in.get()) : errno == ENOENT) return std::nullopt;
  if (!in) refuse(path, "read");
  Sha256 digest;
  std::string piece(kPiece, '\0');
  for (;;) {
    const ssize_t got = ::read(in.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) refuse(path, "read");
    if (got == 0) return digest.finish();
    const std::string_view bytes(piece.data(), static_cast<std::size_t>(got));
    digest.update(bytes);
    take(bytes);
  }
}

std::optional<Digest> digest_of(const fs::path& path) {
  return read_pieces(path, [](std::string_view) {});
}

// The digest of the copied content. The file gets its final name only once it is complete.
std::optional<Digest> copy(const fs::path& from, const fs::path& temporary, const fs::path& to) {
  const Fd out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!out) refuse(temporary, "create");
  const auto digest = read_pieces(from, [&](std::string_view bytes) {
    if (!write_all(out.get(), bytes)) refuse(temporary, "write");
  });
  if (!digest) {
    fs::remove(temporary);
    return std::nullopt;
  }
  fs::create_directories(to.parent_path());
  fs::rename(temporary, to);
  if (digest_of(to) != digest) throw OpenRefused(fmt::format("{} is not what was written to it", to.string()));
  return digest;
}

void copy_own_files(const DataMove& move) {
  for (const char* name : kOwnFiles) {
    if (!fs::exists(move.from / name) || fs::exists(*move.to / name)) continue;
    write_secret_file(*move.to / name, read_secret_file(move.from / name, "and try again"));
  }
}

void sync_all(const fs::path& directory) {
  const Fd opened(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened || ::syncfs(opened.get()) != 0) refuse(directory, "sync");
}

// Every key in the rows, once.
template <class Visit>
void each_blob(MoveDatabase& from, Visit visit) {
  const auto tables = from.tables();
  const auto table = std::ranges::find(tables, "pending_uploads", &MoveTable::name);
  if (table == tables.end()) return;
  const auto column = [&](std::string_view name) {
    return static_cast<std::size_t>(std::ranges::find(table->columns, name, &MoveColumn::name) -
                                    table->columns.begin());
  };
  const std::size_t keys[] = {column("blob_key"), column("twin_key")};
  const std::size_t size = column("size_bytes"), sha256 = column("sha256");
  std::unordered_set<std::string> seen;
  from.each_row(*table, [&](MoveRow&& row) {
    for (const std::size_t key : keys) {
      const auto* name = std::get_if<std::string>(&row.at(key));
      const auto placed = name ? parse_key(*name) : std::nullopt;
      if (!placed || !seen.insert(*name).second) continue;
      visit(*placed, static_cast<std::uint64_t>(std::get<std::int64_t>(row.at(size))),
            std::get<MoveBytes>(row.at(sha256)).bytes);
    }
  });
}

bool stays(const DataMove& move) {
  std::error_code none;
  return !move.to || fs::equivalent(move.from, *move.to, none);
}

}  // namespace

std::vector<ReferencedBlob> list_bytes(MoveDatabase& from) {
  std::vector<ReferencedBlob> all;
  each_blob(from, [&](const PlacedKey& key, std::uint64_t size, const std::string& sha256) {
    if (key.place != Place::dir || !is_blob_key(key.bare)) return;
    ReferencedBlob kept{std::string(key.bare), size, {}};
    std::copy_n(sha256.begin(), std::min(sha256.size(), kept.sha256.size()), kept.sha256.begin());
    all.push_back(std::move(kept));
  });
  return all;
}

std::uint64_t count_objects(MoveDatabase& from) {
  std::uint64_t objects = 0;
  each_blob(from, [&](const PlacedKey& key, std::uint64_t, const std::string&) {
    objects += key.place == Place::s3 ? 1 : 0;
  });
  return objects;
}

void require_data(const DataMove& move, const std::vector<ReferencedBlob>& all) {
  if (!all.empty() && !fs::is_directory(move.from / "blobs")) {
    throw OpenRefused(
        fmt::format("there is no {} although {} files should be stored there: --data names the data "
                    "directory of the old server",
                    (move.from / "blobs").string(), all.size()));
  }
  if (stays(move)) return;
  for (const char* name : kOwnFiles) {
    const fs::path ours = move.from / name;
    const fs::path theirs = *move.to / name;
    if (!fs::exists(ours) || !fs::exists(theirs)) continue;
    if (read_secret_file(ours, "and try again") != read_secret_file(theirs, "and try again")) {
      throw OpenRefused(
          fmt::format("{} belongs to another server: a move needs a separate data directory", theirs.string()));
    }
  }
}

CopiedData inspect_data(const DataMove& move, const std::vector<ReferencedBlob>& all) {
  CopiedData data;
  for (const ReferencedBlob& kept : all) {
    std::error_code failed;
    const auto size = fs::file_size(place_of(move.from, kept.key), failed);
    ++data.files;
    data.bytes += kept.size;
    if (failed) {
      ++data.missing;
    } else if (size != kept.size) {
      ++data.changed;
    }
  }
  return data;
}

CopiedData copy_data(const DataMove& move, const std::vector<ReferencedBlob>& all,
                     const std::function<void(std::uint64_t)>& copied_data) {
  if (stays(move)) return inspect_data(move, all);
  const fs::path temporary_files = *move.to / "blobs" / "tmp";
  fs::create_directories(temporary_files);
  fs::permissions(*move.to, fs::perms::owner_all);
  copy_own_files(move);
  CopiedData data;
  for (const ReferencedBlob& kept : all) {
    const fs::path to = place_of(*move.to, kept.key);
    ++data.files;
    data.bytes += kept.size;
    if (digest_of(to) != kept.sha256) {
      const auto digest = copy(place_of(move.from, kept.key), temporary_files / kept.key, to);
      data.missing += digest ? 0 : 1;
      data.copied += digest ? 1 : 0;
      data.changed += digest && *digest != kept.sha256 ? 1 : 0;
    }
    copied_data(kept.size);
  }
  sync_all(*move.to);
  return data;
}

}  // namespace restante
