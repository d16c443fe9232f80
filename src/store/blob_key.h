// The keys of blobs, wherever the bytes are: 32 lower-case hex digits that begin with the time they were made. In their
// order they are in the order of their age, and their end is random.
#pragma once
#include <string>
#include <string_view>

#include "base/clock.h"

namespace restante {

std::string new_blob_key(Time now);
bool is_blob_key(std::string_view text);
// When it was made, to the millisecond; only for what is_blob_key.
Time time_of_blob_key(std::string_view key);
// For bytes that are written only to see whether they can be: never a file's, although it looks and leaves like one.
std::string trial_blob_key(Time now);
bool is_trial_blob_key(std::string_view key);
// Those whose time_of_blob_key is before `time` sort before this, and no others.
std::string first_blob_key(Time time);

}  // namespace restante
