// Keys of blobs, the same in every place: 32 lower-case hex digits. A key begins with the time when it was made, so
// keys sort by age; its end is random. Pure functions.
#pragma once
#include <string>
#include <string_view>

#include "base/clock.h"

namespace restante {

std::string new_blob_key(Time now);
bool is_blob_key(std::string_view text);
// When the key was made, to the millisecond. Requires is_blob_key(key).
Time time_of_blob_key(std::string_view key);
// A key for a blob that is written only to test whether the place can be written to. It is never the key of a file;
// everywhere else, also in the sweep, it is a key like any other.
std::string trial_blob_key(Time now);
bool is_trial_blob_key(std::string_view key);
// A lower bound for keys made at `time` or later: older keys sort before it, all others after it.
std::string first_blob_key(Time time);

}  // namespace restante
