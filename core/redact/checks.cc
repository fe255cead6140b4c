#include "core/redact/checks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>

#include "core/base/ascii.h"
#include "core/json/base64.h"
#include "core/json/text_bytes.h"

namespace arborfs::redact {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_identifier(std::string_view text) {
  return !text.empty() && json::is_word_start(text.front()) && std::all_of(text.begin(), text.end(), json::is_word);
}

template <std::size_t kCount>
bool is_one_of(const std::array<std::string_view, kCount>& words, std::string_view text) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

template <std::size_t kCount>
bool has_one_of(const std::array<std::string_view, kCount>& words, std::string_view text) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return text.find(word) < text.size(); });
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), json::is_digit);
}

Verdict anything(std::string_view) {
  return Verdict::possible;
}

/// Words in what stands for a secret, and words that are none.
constexpr std::array<std::string_view, 27> kStandIns = {
    "example",  "changeme",  "change_me", "change-me",  "placeholder",  "your_", "your-",
    "yourpass", "yourtoken", "yourkey",   "xxxx",       "****",         "...",   "redacted",
    "dummy",    "<",         "${",        "$(",         "{{",           "%(",    "process.",
    "environ",  "getenv",    "insert_",   "enter_your", "\xe2\x80\xa6", "env."};
constexpr std::array<std::string_view, 22> kNoSecrets = {
    "password", "passwd",   "passphrase", "secret", "secrets", "token",     "tokens", "string",
    "number",   "boolean",  "null",       "none",   "nil",     "undefined", "true",   "false",
    "optional", "required", "default",    "hidden", "prompt",  "unknown"};

bool stands_for_secret(std::string_view secret) {
  const std::string text = in_lower_case(secret);
  const bool is_variable = (text.front() == '$' && is_identifier(std::string_view(text).substr(1))) ||
                           (text.front() == '%' && text.back() == '%') || text.starts_with("@");
  return is_variable || has_one_of(kStandIns, text) || is_one_of(kNoSecrets, text);
}

/// A value after the name of a password: anything but what stands for one.
Verdict password(std::string_view secret) {
  return stands_for_secret(secret) ? Verdict::refused : Verdict::possible;
}

/// Also has letters and digits, as no word has.
Verdict mixed(std::string_view secret) {
  const bool has_letter = std::any_of(secret.begin(), secret.end(), is_letter);
  return has_letter && has_digit(secret) ? password(secret) : Verdict::refused;
}

/// Names with dots or colons between them, such as config.token2, or a path.
bool is_expression(std::string_view text) {
  if (text.find("::") < text.size() || text.find("->") < text.size() || text.find("://") < text.size() ||
      text.substr(0, text.size() - std::min<std::size_t>(text.size(), 2)).find("==") < text.size() ||
      text.front() == '/' || text.starts_with("./") || text.starts_with("~/")) {
    return true;
  }
  if (text.find('.') >= text.size()) {
    return false;
  }
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('.'));
    if (!is_identifier(part) || std::count_if(part.begin(), part.end(), json::is_digit) > 2) {
      return false;
    }
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return true;
}

/// Also is no expression of a program.
Verdict assigned(std::string_view secret) {
  return is_expression(secret) ? Verdict::refused : mixed(secret);
}

/// One that may be a word, but not the name of a variable for a secret, nor an expression.
Verdict word(std::string_view secret) {
  constexpr std::array<std::string_view, 8> kNames = {"pass", "secret", "token", "key",
                                                      "pwd",  "string", "value", "cred"};
  const bool is_name = !has_digit(secret) && has_one_of(kNames, in_lower_case(secret));
  return is_name || is_expression(secret) ? Verdict::refused : password(secret);
}

Verdict url_password(std::string_view secret) {
  constexpr std::array<std::string_view, 4> kUsual = {"pass", "pwd", "user", "x-oauth-basic"};
  const std::size_t digits = std::min(secret.find_first_not_of("0123456789"), secret.size());
  const bool is_port =
      digits > 0 && digits <= 5 && digits < secret.size() && (secret[digits] == '/' || secret[digits] == '?');
  const bool is_used = is_port || secret.front() == '/' || is_one_of(kUsual, in_lower_case(secret));
  return is_used ? Verdict::refused : password(secret);
}

/// `Basic` of HTTP: base64 of a name, a colon and a password.
Verdict basic(std::string_view secret) {
  const std::string text = json::decode_base64(secret);
  const bool is_printable = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return is_printable && text.find(':') < text.size() ? Verdict::proven : Verdict::refused;
}

Verdict crc32(std::string_view secret) {
  constexpr std::size_t kSum = 6;
  const std::string_view random = secret.substr(secret.find('_') + 1);
  if (random.size() <= kSum) {
    return Verdict::possible;
  }
  const std::size_t sum = random.size() - kSum;
  return base62_checksum(random.substr(0, sum)) == random.substr(sum) ? Verdict::proven : Verdict::possible;
}

Verdict jwt(std::string_view secret) {
  const std::string header = json::decode_base64(secret.substr(0, secret.find('.')));
  const bool is_header = header.starts_with('{') && header.find("\"alg\"") < header.size();
  return is_header ? Verdict::proven : Verdict::possible;
}

/// Four letters that name the kind, then digits of base 32. Amazon's examples end with EXAMPLE.
Verdict aws_id(std::string_view secret) {
  const bool is_example = secret.ends_with("EXAMPLE");
  return is_example ? Verdict::refused : Verdict::possible;
}

/// An address of a person: not of a program, not of a domain for examples, no file name.
Verdict email(std::string_view address) {
  constexpr std::array<std::string_view, 8> kPrograms = {"git",     "noreply",       "no-reply", "donotreply",
                                                         "actions", "mailer-daemon", "bot",      "github-actions"};
  constexpr std::array<std::string_view, 22> kNoDomains = {
      "png", "jpg",  "jpeg", "gif",  "svg",     "webp",   "js",    "ts",     "json",  "html", "css",
      "txt", "yaml", "yml",  "toml", "service", "socket", "timer", "target", "local", "test", "invalid"};
  const std::string text = in_lower_case(address);
  const std::size_t at = text.rfind('@');
  const std::string_view name = std::string_view(text).substr(0, at);
  const std::string_view domain = std::string_view(text).substr(at + 1);
  const std::string_view top = domain.substr(domain.rfind('.') + 1);
  const bool is_example =
      domain.starts_with("example.") || domain.find(".example.") < domain.size() || top == "example";
  const bool is_program = is_one_of(kPrograms, name) || name.ends_with("[bot]") || domain == "users.noreply.github.com";
  return is_example || is_program || is_one_of(kNoDomains, top) ? Verdict::refused : Verdict::possible;
}

/// The name of a person's account: not one that many systems have.
Verdict user(std::string_view name) {
  constexpr std::array<std::string_view, 24> kCommon = {
      "user", "users",  "username", "name",    "you",    "your", "yourname",  "me",
      "root", "ubuntu", "debian",   "admin",   "runner", "node", "vscode",    "app",
      "home", "shared", "public",   "default", "guest",  "test", "linuxbrew", "someone"};
  return is_one_of(kCommon, in_lower_case(name)) ? Verdict::refused : Verdict::possible;
}

constexpr std::array<std::pair<std::string_view, Check>, 12> kChecks = {{{"", anything},
                                                                         {"password", password},
                                                                         {"mixed", mixed},
                                                                         {"assigned", assigned},
                                                                         {"word", word},
                                                                         {"url-password", url_password},
                                                                         {"basic", basic},
                                                                         {"crc32", crc32},
                                                                         {"jwt", jwt},
                                                                         {"aws-id", aws_id},
                                                                         {"email", email},
                                                                         {"user", user}}};

}  // namespace

double entropy_of(std::string_view text) {
  std::array<std::uint32_t, 256> counts{};
  for (const char c : text) {
    ++counts[static_cast<unsigned char>(c)];
  }
  double bits = 0;
  const auto size = static_cast<double>(text.size());
  for (const std::uint32_t count : counts) {
    if (count > 0) {
      bits += count * std::log2(size / count);
    }
  }
  return text.empty() ? 0 : bits / size;
}

std::string base62_checksum(std::string_view text) {
  constexpr std::string_view kBase62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  constexpr std::uint32_t kPolynomial = 0xEDB88320;
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? kPolynomial : 0);
    }
  }
  crc = ~crc;
  std::string sum(6, '0');
  for (auto digit = sum.rbegin(); digit != sum.rend(); ++digit, crc /= 62) {
    *digit = kBase62[crc % 62];
  }
  return sum;
}

Check check_named(std::string_view name) {
  const auto* const found =
      std::find_if(kChecks.begin(), kChecks.end(), [&](const auto& check) { return check.first == name; });
  return found == kChecks.end() ? nullptr : found->second;
}

std::vector<std::string> names_of_checks() {
  std::vector<std::string> names;
  for (const auto& [name, check] : kChecks) {
    if (!name.empty()) {
      names.emplace_back(name);
    }
  }
  return names;
}

}  // namespace arborfs::redact
