// A PostgreSQL database as a House. A source is read in one snapshot; neither end is taken while a server of ours has
// sessions in it, and a target is held by an advisory lock. Throws OpenRefused when it cannot be reached, is in use,
// foreign, or of another schema than this binary's.
#pragma once
#include <memory>
#include <string>

#include "store/house.h"

namespace restante::postgres {

std::unique_ptr<House> open_house(const std::string& url, HouseUse use);

}  // namespace restante::postgres
