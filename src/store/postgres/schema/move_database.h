// A PostgreSQL database as a MoveDatabase. A source is read in one snapshot. Neither a source nor a target is opened
// while a server of ours has sessions in it. Both are locked by an advisory lock, which needs a session that no other
// client shares. Throws OpenRefused when the database cannot be reached, is in use, foreign, of another schema than
// this binary's, or a read-only source.
#pragma once
#include <memory>
#include <string>

#include "store/move_database.h"

namespace restante::postgres {

std::unique_ptr<MoveDatabase> open_move_database(const std::string& url, MoveUse use);

}  // namespace restante::postgres
