// What requests to models cost, for records that tell tokens and no cost: by the list prices that are built in
// (prices.tsv) and by those of the user, $XDG_CONFIG_HOME/arborfs/prices.tsv, which win. Immutable; any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/entry/usage.h"

namespace arborfs {

/// In dollars for one token; NaN if it is not known.
struct Price {
  double input = 0;
  double output = 0;
  double cache_read = 0;
  double cache_write = 0;
  double cache_write_1h = 0;  // of what is kept for an hour
};

class Prices;
using PricesPtr = std::shared_ptr<const Prices>;

class Prices {
 public:
  /// Those that are built in, and the user's. Reads the user's file, of which a line that is wrong counts for nothing
  /// and goes to the log.
  static PricesPtr in_force();
  /// The user's file; "" if there is none.
  [[nodiscard]] const std::string& own() const { return own_; }
  /// What is wrong with it; "" for nothing.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// Adds a list, whose rows go before those of the lists so far. Its first line that is no comment names the columns,
  /// of which `model` and `input` must be there. Errors: invalid_argument, with the number of the first line that is
  /// wrong; the others are added.
  Result<void> add(std::string_view list);

  /// The cost of one request in dollars. Nothing if no list has the model, or a price that counts is not known. A list
  /// has a model if a name in it is the beginning of the model's, up to its end or to a hyphen, a colon and the like,
  /// as before a date; the longest such name counts. Vendors before a slash, and those of Bedrock before a dot, are no
  /// part of a name.
  [[nodiscard]] std::optional<double> cost_of(std::string_view model, const Usage& usage) const;

 private:
  struct Row {
    Price price;
    double above_tokens = 0;  // with more of input, cached ones included, all of it has the price `above`; 0: never
    Price above;
  };
  using List = std::map<std::string, Row, std::less<>>;
  [[nodiscard]] const Row* find(std::string_view model) const;
  static const Row* find_in(const List& list, std::string_view name);
  std::vector<List> lists_;  // the last one wins
  std::string own_;
  std::string problem_;
};

/// The list that is built in, and its date.
extern const std::string_view kPriceList;
std::string date_of_prices();

}  // namespace arborfs
