// The section [s3]: its small grammars, as config_values.h has them for the rest, and what its settings demand of each
// other. Pure functions but for check_s3, which looks at the files that are named.
#pragma once
#include <string>
#include <vector>

#include "server/config.h"

namespace restante {

// Throw BadValue; an empty text is fine, but for the word.
std::string parse_s3_endpoint(const std::string& text);  // "https://s3.example.org:9000", without the closing slash
std::string parse_bucket(const std::string& text);
std::string parse_s3_prefix(const std::string& text);
std::string parse_s3_word(const std::string& text);  // printable, no spaces; may be a secret and is never repeated

// Throws ConfigError with what to set.
void check_s3(const Config& config);
void add_s3_warnings(const Config& config, std::vector<std::string>& found);

}  // namespace restante
