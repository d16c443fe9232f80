// Names are the texts of an enumeration whose values count from 0, in their order: stored, sent and read as text. Pure.
// The number of names is checked when it is compiled:
//   constexpr Names<UploadDirection, UploadDirection::out> kNames{"in", "out"};
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

namespace restante {

template <class Enum, Enum kLast>
class Names {
 public:
  template <class... Texts>
  consteval explicit(false) Names(Texts... texts) : texts_{std::string_view(texts)...} {
    static_assert(sizeof...(texts) == kCount, "one name for each value");
  }

  constexpr std::string_view of(Enum value) const { return texts_.at(static_cast<std::size_t>(value)); }
  constexpr std::optional<Enum> parse(std::string_view text) const {
    for (std::size_t i = 0; i < kCount; ++i) {
      if (texts_[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
  }

 private:
  static constexpr auto kCount = static_cast<std::size_t>(kLast) + 1;
  std::array<std::string_view, kCount> texts_;
};

}  // namespace restante
