#include "server/settings/kinds.h"

#include <limits>

namespace restante {
namespace {

using namespace std::chrono_literals;

Setting ack_retention_setting() {
  // Negative means at once, as in the earlier server; configurations with -1 exist.
  auto setting =
      duration("uploads.ack_retention", RESTANTE_FIELD(uploads.ack_retention), -87'600h, 8'760h,
               "How long an acknowledged file can still be seen by people on the page. 0 removes it at the next "
               "sweep. Not above uploads.ttl.");
  setting.read = [plain = setting.read](Config& c, const ConfigValue& v) {
    plain(c, v);
    c.uploads.ack_retention = std::max(c.uploads.ack_retention, 0s);
  };
  return setting;
}

Setting per_file_setting() {
  static constexpr std::uint64_t kSchemaLimit = 26'214'400;
  auto setting = number("uploads.per_file_bytes", RESTANTE_FIELD(uploads.per_file_bytes), 1,
                        std::numeric_limits<std::int64_t>::max(),
                        "Largest file. It may only be lowered: the database itself refuses more than 26214400.");
  setting.read = [plain = setting.read](Config& c, const ConfigValue& v) {
    plain(c, v);
    if (c.uploads.per_file_bytes <= kSchemaLimit) return;
    throw BadValue(
        fmt::format("may only be lowered: write {} or less, not {}", kSchemaLimit, c.uploads.per_file_bytes));
  };
  return setting;
}

}  // namespace

std::vector<Setting> upload_settings() {
  return {
      per_file_setting(),
      number("uploads.per_request_bytes", RESTANTE_FIELD(uploads.per_request_bytes), 1, 1ull << 40,
             "Bytes of one upload request with all its files, beyond it 413. Not below uploads.per_file_bytes."),
      number("uploads.max_files", RESTANTE_FIELD(uploads.max_files), 1, 64, "Files of one upload request, at most 64."),
      duration(
          "uploads.ttl", RESTANTE_FIELD(uploads.ttl), 1s, 8'760h,
          "How long a file waits for its agent, in whole seconds. Shorter than a laptop stays closed loses files."),
      ack_retention_setting(),
      number("uploads.quota_bytes", RESTANTE_FIELD(uploads.quota_bytes), 0, 1ull << 50,
             "Bytes that may wait for one workspace and from it, acked ones not counted, beyond it 507; 0 = no limit. "
             "Without one, an agent that never fetches fills the disk."),
      number("uploads.quota_files", RESTANTE_FIELD(uploads.quota_files), 0, 1'000'000'000,
             "Files that may wait for one workspace and from it, acked ones not counted, beyond it 507; 0 = no limit."),
      choice(
          "uploads.acked_content", RESTANTE_FIELD(uploads.acked_content), {"people", "everyone"},
          "Who may still read a file after its agent has acked it, until it is swept: people, or everyone, which lets "
          "the agent fetch it again."),
      duration("uploads.sweep_every", RESTANTE_FIELD(uploads.sweep_every), 10ms, 24h,
               "How often files that are due are deleted. Long = files stay on the disk after their time."),
      duration("uploads.check_every", RESTANTE_FIELD(uploads.check_every), 0ms, 8'760h,
               "How often all files are read and compared with what was staged, at uploads.check_rate. 0 = never: then "
               "damage on the disk is found only where an agent reports a file it could not take."),
      number("uploads.check_rate", RESTANTE_FIELD(uploads.check_rate), 1'024, 1ull << 40,
             "Bytes a second that this check reads. High = the disk is busy with it; low = a round takes days."),
      flag(
          "uploads.staging", RESTANTE_FIELD(uploads.staging),
          "Takes files for poll workspaces. When false they get 422, as before staging existed; files that are already "
          "staged can still be fetched."),
      number("storage.reserve", RESTANTE_FIELD(storage.reserve), 0, 1ull << 50,
             "Bytes of disk that uploads leave free, beyond it 507; messages and tasks leave half of it free, so that "
             "acks, removals and revocations have room. 0 = the disk may become full, and then these fail, too."),
  };
}

}  // namespace restante
