// Shared by the tests of commands that show what a server answered, without a server: a time, JSON, and the failure or
// its sentence with which a call is refused.
#pragma once
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/json.h"
#include "cli/terminal/failed.h"
#include "client/form.h"

namespace restante::cli {

inline const Time kNow = *parse_time("2026-11-15T12:00:00Z");

inline Json json(std::string_view text) { return parse_json(text).value(); }

template <class Call>
CommandFailed failure_of(const Call& call) {
  try {
    call();
  } catch (const CommandFailed& failed) {
    return failed;
  } catch (const client::UnreadableFile& file) {
    return {kExitFailed, file.what()};
  }
  return {kExitOk, "was not refused"};
}

template <class Call>
std::string refusal(const Call& call) {
  return failure_of(call).what();
}

}  // namespace restante::cli
