// A PostgreSQL database as a House. A source is read in one snapshot; neither end is taken while a server of ours has
// sessions in it, and both are held by an advisory lock, for which the session must be its own. Throws OpenRefused when
// it cannot be reached, is in use, foreign, of another schema than this binary's, or a source that can only be read.
#pragma once
#include <memory>
#include <string>

#include "store/move_database.h"

namespace restante::postgres {

std::unique_ptr<MoveDatabase> open_move_database(const std::string& url, MoveUse use);

}  // namespace restante::postgres
