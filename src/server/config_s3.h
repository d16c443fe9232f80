// The section [s3]: its small grammars, as config_values.h has them for the rest, and what its settings demand of each
// other. Pure functions but for the checks, which look at the files that are named and at the environment's keys.
#pragma once
#include <string>
#include <vector>

#include "client/proxy.h"
#include "server/config.h"
#include "store/s3/credentials.h"

namespace restante {

// Throw BadValue; an empty text is fine, but for the word.
std::string parse_s3_endpoint(const std::string& text);  // "https://s3.example.org:9000", without the closing slash
std::string parse_bucket(const std::string& text);
std::string parse_s3_prefix(const std::string& text);
std::string parse_s3_word(const std::string& text);  // printable, no spaces; may be a secret and is never repeated

// Throws ConfigError with what to set.
void check_s3(const Config& config);
void add_s3_warnings(const Config& config, std::vector<std::string>& found);

s3::CredentialSettings s3_credentials(const Config& config);
// For a server that is about to start: throws ConfigError where new bytes go to S3 and there are no keys for it, and,
// as for s3.credentials_file, where everybody can read the file that they are in. Where S3 is only set up, a warning
// says that keys are missing.
void require_s3_keys(const Config& config, const client::Environment& environment = client::from_environment);

}  // namespace restante
