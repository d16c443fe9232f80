#include "server/platform/rules.h"

#include <algorithm>
#include <memory>

#include "base/text.h"
#include "server/places/disk_space.h"

namespace restante {
namespace {

// How many bytes are free after so many more, on the disks of files in a directory or on those of the rows.
auto free_space(const Config& config) {
  const auto disks = std::make_shared<DiskSpace>(written_directories(config, {Place::dir, {}}));
  const auto disks_of_rows = std::make_shared<DiskSpace>(written_directories(config, {Place::inlined, {}}));
  return [disks, disks_of_rows](Place place, std::uint64_t bytes) {
    return (place == Place::dir ? disks : disks_of_rows)->free_after(bytes);
  };
}

}  // namespace

std::chrono::milliseconds check_period(const Config& config) {
  const auto every = config.uploads.check_every;
  return every.count() == 0 ? kCheckPeriod : std::clamp(every, std::chrono::milliseconds(10), kCheckPeriod);
}

desk::UploadRules upload_rules(const Config& config, const Places& places) {
  desk::UploadRules rules;
  rules.per_file_bytes = config.uploads.per_file_bytes;
  rules.per_request_bytes = config.uploads.per_request_bytes;
  rules.max_files = config.uploads.max_files;
  rules.ttl = config.uploads.ttl;
  rules.quota = {static_cast<std::int64_t>(config.uploads.quota_bytes),
                 static_cast<std::int64_t>(config.uploads.quota_files)};
  const bool again = config.uploads.acked_content == Config::AckedContent::everyone;
  rules.acked_content = again ? desk::AckedContent::everyone : desk::AckedContent::people;
  rules.staging = config.uploads.staging;
  rules.reserve = config.storage.reserve;
  rules.integrity = {config.uploads.check_every, config.uploads.check_rate, check_period(config)};
  // A blob move may begin and end while the server runs.
  rules.free_after = [room = free_space(config), &places](std::uint64_t bytes) {
    return room(writes_to(places.plan(), Place::dir) ? Place::dir : Place::inlined, bytes);
  };
  return rules;
}

desk::RoomRules room_rules(const Config& config) {
  desk::RoomRules rules;
  rules.reserve = config.storage.reserve;
  rules.free_after = [room = free_space(config)](std::uint64_t bytes) { return room(Place::inlined, bytes); };
  return rules;
}

desk::PresenceRules presence_rules(const Config& config) {
  desk::PresenceRules rules;
  rules.shortest_silence = config.silence;
  rules.alone = !is_shared(config);
  rules.flush_every = kPresencePeriod;
  return rules;
}

desk::SweepRules sweep_rules(const Config& config) {
  desk::SweepRules rules;
  rules.ack_retention = config.uploads.ack_retention;
  rules.every = config.uploads.sweep_every;
  rules.orphan_grace = 2 * config.net.timeouts.request;
  rules.longest_request = config.net.timeouts.request;
  return rules;
}

desk::BlobMoveRules blob_move_rules(const Config& config) {
  desk::BlobMoveRules rules;
  rules.setting = plan_of(config).write;
  rules.alone = !is_shared(config);
  rules.late_writes_for = sweep_rules(config).orphan_grace;
  rules.has_room = [room = free_space(config), reserve = config.storage.reserve](Place to, std::int64_t bytes) {
    if (to == Place::s3) return true;  // a move away from a full disk must be possible
    return room(to, static_cast<std::uint64_t>(bytes)) >= reserve;
  };
  return rules;
}

desk::BlobCheckRules blob_check_rules(const Config& config) {
  desk::BlobCheckRules rules;
  rules.grace = sweep_rules(config).orphan_grace;
  rules.has_room = blob_move_rules(config).has_room;
  rules.alone = !is_shared(config);
  return rules;
}

desk::DelegationRules delegation_rules(const Config& config) {
  const auto& given = config.delegations;
  return {given.deadline,
          given.longest_deadline,
          {given.max_depth, given.max_per_caller, given.max_per_pair, given.max_per_callee}};
}

desk::StuckSweepRules stuck_rules(const Config& config) {
  desk::StuckSweepRules rules;
  rules.stuck_after = config.delegations.stuck_after;
  rules.every = config.delegations.sweep_every;
  rules.undelivered_after = 2 * config.push.timeout + std::chrono::minutes(1);
  rules.alone = !is_shared(config);
  return rules;
}

http::AddressRules address_rules(const Config& config) {
  http::AddressRules rules;
  for (const std::string& text : config.push.allow_networks) {
    rules.allow_networks.push_back(http::Network::parse(text).value());
  }
  for (const std::string& text : config.push.allow_ports) {
    rules.allow_ports.push_back(static_cast<std::uint16_t>(parse_unsigned(text).value()));
  }
  return rules;
}

}  // namespace restante
