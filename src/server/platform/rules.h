// What each part of the service layer needs from the configuration, as that part's own rules. Pure, except that those
// with free_after or has_room ask the disks when they are called.
#pragma once
#include <chrono>

#include "desk/blob_checks/blob_check.h"
#include "desk/blob_moves/blob_moves.h"
#include "desk/delegations/delegations.h"
#include "desk/delegations/stuck_sweep.h"
#include "desk/inbox/room.h"
#include "desk/uploads/sweep.h"
#include "desk/uploads/uploads.h"
#include "desk/workspaces/presence.h"
#include "http/callback_url.h"
#include "server/config/config.h"
#include "server/places/places.h"

namespace restante {

inline constexpr auto kPresencePeriod = std::chrono::seconds(15);  // of writing polls and looking for silence
inline constexpr std::chrono::milliseconds kCheckPeriod = std::chrono::seconds(1);  // of checking files

// Also without the periodic check: files that agents report are always checked.
std::chrono::milliseconds check_period(const Config& config);

// `places` lives longer than the rules.
desk::UploadRules upload_rules(const Config& config, const Places& places);
desk::RoomRules room_rules(const Config& config);
desk::PresenceRules presence_rules(const Config& config);
desk::SweepRules sweep_rules(const Config& config);
desk::BlobMoveRules blob_move_rules(const Config& config);
desk::BlobCheckRules blob_check_rules(const Config& config);
desk::DelegationRules delegation_rules(const Config& config);
desk::StuckSweepRules stuck_rules(const Config& config);
http::AddressRules address_rules(const Config& config);

}  // namespace restante
