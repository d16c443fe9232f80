// Shared by the tests of the configuration. ConfigFiles is a fixture that writes files into a temporary directory.
// refusal() is the sentence with which a call is refused; empty when it is accepted.
#pragma once
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/test_folder.h"
#include "server/config/config.h"

namespace restante {

class ConfigFiles : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    const std::string path = folder_.make(name, text);
    ::chmod(path.c_str(), mode);
    return path;
  }
  Config from_file(const std::string& text) const {
    return load_config({.file = write("c.toml", text), .environment = {}, .flags = {}});
  }

  const TestFolder folder_;
};

template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return {};
}

}  // namespace restante
