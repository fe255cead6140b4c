// An environment variable that a test sets.
#pragma once

#include <cstdlib>
#include <ctime>
#include <optional>
#include <string>

namespace arborfs::testing {

/// Set while the object exists, then restored.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) {
      old_ = old;
    }
    ::setenv(name, value.c_str(), 1);
    ::tzset();  // if it is TZ
  }
  ~Variable() {
    old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_);
    ::tzset();
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace arborfs::testing
