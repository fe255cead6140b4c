// Checks of the words of a command line. Each returns the complaint about a word, "" for none. Pure functions.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace arborfs::cli {

/// The longest part of a wrong word that an error message repeats.
inline constexpr std::size_t kShownOfWord = 80;

using WordCheck = std::function<std::string(const std::string&)>;

/// Refuses an empty word, which is usually an unset variable of a script.
WordCheck needs(const std::string& what);
/// Accepts only these words.
WordCheck is_one_of(const std::vector<std::string>& choices);
std::string complain_of_number(const std::string& word);
std::string complain_of_model(const std::string& word);
std::string complain_of_date(const std::string& word);
/// Also of one moment.
std::string complain_of_period(const std::string& word);
std::string complain_of_store(const std::string& word);

}  // namespace arborfs::cli
