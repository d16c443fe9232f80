// OpenRefused: this data cannot be worked on as it is, and a person has to act. `what()` is a sentence for the
// operator.
#pragma once
#include <stdexcept>

namespace restante::sqlite {

class OpenRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace restante::sqlite
