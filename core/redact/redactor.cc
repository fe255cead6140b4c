#include "core/redact/redactor.h"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>
#include <utility>

#include "core/json/document.h"
#include "core/json/scan.h"
#include "core/json/text_bytes.h"
#include "core/redact/decoded_view.h"
#include "core/redact/ledger.h"
#include "core/redact/matcher.h"

namespace arborfs::redact {
namespace {

constexpr int kMostDepth = 6;             // how many times a text is decoded
constexpr std::size_t kMostDecoded = 12;  // bytes that are scanned for each byte of the source
constexpr std::size_t kAlwaysDecoded = 1 << 20;

/// Something to be replaced, in the source.
struct Finding {
  Span span;
  std::size_t match_begin = 0;
  std::size_t rule = 0;  // past the last one for a secret that was known
  int depth = 0;
  std::string secret;  // decoded
};

/// True if `a` rather than `b` names what they both cover.
bool is_better(const Finding& a, const Finding& b) {
  if (a.rule != b.rule) {
    return a.rule < b.rule;
  }
  const std::size_t a_size = a.span.end - a.span.begin;
  const std::size_t b_size = b.span.end - b.span.begin;
  return a.depth != b.depth ? a.depth > b.depth : a_size > b_size;
}

bool continues_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// A string of a JSON text, without its quotes, or another scalar.
struct Token {
  Span span;
  bool is_string = false;
};

std::vector<Token> tokens_of(std::string_view json) {
  std::vector<Token> tokens;
  for (std::size_t at = 0; at < json.size();) {
    const std::size_t begin = at++;
    if (json[begin] == '"') {
      while (json[at] != '"') {
        at += json[at] == '\\' ? 2 : 1;
      }
      tokens.push_back({{begin + 1, at++}, true});
    } else if (json::is_word(json[begin]) || json[begin] == '-') {
      while (at < json.size() && (json::is_word(json[at]) || json[at] == '.' || json[at] == '+' || json[at] == '-')) {
        ++at;
      }
      tokens.push_back({{begin, at}, false});
    }
  }
  return tokens;
}

bool is_json(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (json::is_space(text[at])) {
      ++at;
      continue;
    }
    const json::ValueEnd value = json::scan_value(text, at);
    if (value.verdict != json::ValueScanner::Verdict::value) {
      return false;
    }
    at = value.end;
  }
  return true;
}

/// One text that is redacted.
class Work {
 public:
  struct Family {
    const Matcher& matcher;
    Ledger& ledger;
    KnownSecrets& known;
    bool counts;
  };
  Work(const Family& family, std::string_view source, std::string_view place, bool is_json)
      : matcher_(family.matcher),
        ledger_(family.ledger),
        known_(family.known),
        counts_(family.counts),
        source_(source),
        place_(place),
        is_json_(is_json) {}

  std::string done() {
    if (!look()) {
      count_unscanned();
      return is_json_ ? json::stringify_string(kUnscannedLabel) : std::string(kUnscannedLabel);
    }
    if (is_json_ && !findings_.empty()) {
      tokens_ = tokens_of(source_);
      for (Finding& finding : findings_) {
        take_whole_value(finding);
      }
    }
    // What was just found may stand elsewhere without its name.
    for (const Finding& finding : findings_) {
      if (const std::string* kept = ledger_.learn(finding.secret, matcher_.rules()[finding.rule].name)) {
        known_.add(*kept);
      }
    }
    each_text([this](std::string_view text, const DecodedView* view) {
      known_.find(text, [&](Span span) { add(text, view, {matcher_.rules().size(), span.begin, span}); });
    });
    return findings_.empty() && unscanned_.empty() ? std::string(source_) : replaced();
  }

 private:
  /// Finds all but what is known. False if the source cannot be scanned.
  bool look() {
    const bool has_escapes = source_.find('\\') < source_.size();
    if (is_json_ && has_escapes) {
      unescape(source_, nullptr, Escapes::json, views_);
      is_source_seen_ = false;
    }
    const std::size_t most = source_.size() * kMostDecoded + kAlwaysDecoded;
    std::size_t seen = 0;
    std::vector<Match> matches;
    const auto look_at = [&](std::string_view text, const DecodedView* view) {
      matches.clear();
      matcher_.find(text, matches);
      for (const Match& match : matches) {
        add(text, view, match);
      }
      const std::size_t before = views_.size();
      unescape(text, view, Escapes::all, views_);
      decode_base64_texts(text, view, views_);
      if (view != nullptr && view->depth() >= kMostDepth) {
        for (; views_.size() > before; views_.pop_back()) {
          unscanned_.push_back(views_.back().in_source({0, views_.back().text().size()}));
        }
      }
      seen += text.size();
      return seen <= most;
    };
    if (is_source_seen_ && !look_at(source_, nullptr)) {
      return false;
    }
    for (std::size_t at = 0; at < views_.size(); ++at) {
      if (!views_[at].text().empty() && !look_at(views_[at].text(), &views_[at])) {
        return false;
      }
    }
    return true;
  }

  template <class Visit>
  void each_text(const Visit& visit) {
    if (is_source_seen_) {
      visit(source_, nullptr);
    }
    for (const DecodedView& view : views_) {
      visit(view.text(), &view);
    }
  }

  void add(std::string_view text, const DecodedView* view, const Match& match) {
    Finding finding{match.secret, match.match_begin, match.rule, 0,
                    std::string(text.substr(match.secret.begin, match.secret.end - match.secret.begin))};
    if (view != nullptr) {
      finding.span = view->in_source(match.secret);
      finding.match_begin = view->in_source({match.match_begin, match.match_begin + 1}).begin;
      finding.depth = view->depth();
    }
    while (finding.span.begin > 0 && continues_character(source_[finding.span.begin])) {
      --finding.span.begin;
    }
    while (finding.span.end < source_.size() && continues_character(source_[finding.span.end])) {
      ++finding.span.end;
    }
    findings_.push_back(std::move(finding));
  }

  /// A secret that a key of the document names is all of the string, also behind a quote or a space in it.
  void take_whole_value(Finding& finding) {
    const auto token = first_token_behind(finding.span.begin);
    if (token != tokens_.end() && token->is_string && token->span.begin == finding.span.begin &&
        finding.match_begin < token->span.begin && finding.span.end < token->span.end) {
      std::deque<DecodedView> value;
      const Span all = token->span;
      unescape(source_.substr(all.begin, all.end - all.begin), nullptr, Escapes::json, value);
      finding.span = all;
      finding.secret = value.front().text();
    }
  }

  [[nodiscard]] std::vector<Token>::const_iterator first_token_behind(std::size_t at) const {
    return std::upper_bound(tokens_.begin(), tokens_.end(), at,
                            [](std::size_t place, const Token& token) { return place < token.span.end; });
  }

  void count_unscanned() {
    if (counts_) {
      ledger_.count_unscanned(place_);
    }
  }

  std::string replaced() {
    if (is_json_ && tokens_.empty()) {
      tokens_ = tokens_of(source_);
    }
    std::sort(findings_.begin(), findings_.end(),
              [](const Finding& a, const Finding& b) { return a.span.begin < b.span.begin; });
    std::sort(unscanned_.begin(), unscanned_.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
    std::string out;
    std::size_t done = 0;
    auto skipped = unscanned_.begin();
    for (auto at = findings_.begin(); at != findings_.end() || skipped != unscanned_.end();) {
      // Everything that overlaps becomes one label.
      const Finding* leader = nullptr;
      bool is_unscanned = false;
      Span span{source_.size(), source_.size()};
      span.begin = std::min(at != findings_.end() ? at->span.begin : span.begin,
                            skipped != unscanned_.end() ? skipped->begin : span.begin);
      span.end = span.begin;
      const auto overlaps = [&span](const Span& other) { return other.begin < span.end || other.begin == span.begin; };
      for (bool grows = true; grows;) {
        grows = false;
        for (; at != findings_.end() && overlaps(at->span); ++at, grows = true) {
          span.end = std::max(span.end, at->span.end);
          leader = leader == nullptr || is_better(*at, *leader) ? &*at : leader;
        }
        for (; skipped != unscanned_.end() && overlaps(*skipped); ++skipped, grows = true) {
          span.end = std::max(span.end, skipped->end);
          is_unscanned = true;
        }
      }
      const std::string label = is_unscanned ? std::string(kUnscannedLabel) : ledger_.label(leader->secret);
      write(span, label, is_unscanned, done, out);
    }
    out += source_.substr(done);
    return out;
  }

  void write(Span span, const std::string& label, bool is_unscanned, std::size_t& done, std::string& out) {
    const auto put = [&](Span part, const std::string& text) {
      out += source_.substr(done, part.begin - done);
      out += text;
      done = part.end;
      if (is_unscanned) {
        count_unscanned();
      } else if (counts_) {
        ledger_.count(label, place_);
      }
    };
    if (!is_json_) {
      put(span, label);
      return;
    }
    for (auto token = first_token_behind(span.begin); token != tokens_.end() && token->span.begin < span.end; ++token) {
      if (token->is_string) {
        put({std::max(span.begin, token->span.begin), std::min(span.end, token->span.end)}, label);
      } else if (token->span.begin >= done) {
        put(token->span, json::stringify_string(label));
      }
    }
  }

  const Matcher& matcher_;
  Ledger& ledger_;
  KnownSecrets& known_;
  const bool counts_;
  const std::string_view source_;
  const std::string_view place_;
  const bool is_json_;
  bool is_source_seen_ = true;
  std::deque<DecodedView> views_;  // views refer to others
  std::vector<Finding> findings_;
  std::vector<Span> unscanned_;
  std::vector<Token> tokens_;  // of JSON with findings
};

// Files in base64, by how they begin: PNG, JPEG, GIF, WebP, AVIF and HEIC, TIFF; PDF, ZIP, gzip.
constexpr std::array<std::string_view, 11> kFileStarts = {
    "iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "AAAAIGZ0eX", "AAAAHGZ0eX", "SUkqA", "TU0AK", "JVBERi0", "UEsDB", "H4sI"};
constexpr std::size_t kShortestFile = 64;

enum class Lines : bool { one, many };

/// Where base64 in a string of JSON ends.
std::size_t base64_end(std::string_view text, std::size_t at, Lines lines) {
  constexpr std::string_view kSigns = "+/=-";
  for (;; ++at) {
    const std::string_view rest = text.substr(at);
    const bool is_break = lines == Lines::many && (rest.starts_with("\\n") || rest.starts_with("\\r"));
    if (is_break || rest.starts_with("\\/")) {
      ++at;
    } else if (rest.empty() || (!json::is_word(rest[0]) && kSigns.find(rest[0]) >= kSigns.size())) {
      return at;
    }
  }
}

/// The files in the strings of a JSON text, in order.
std::vector<Span> files_in(std::string_view json) {
  constexpr std::string_view kData = ";base64,";
  std::vector<Span> files;
  for (std::size_t at = json.find('"'); at < json.size(); at = json.find('"', at)) {
    ++at;
    const std::string_view rest = json.substr(at);
    const bool is_file = std::any_of(kFileStarts.begin(), kFileStarts.end(), [&](std::string_view start) {
      return rest.starts_with(start) ||
             (start.front() == '/' && rest.starts_with("\\") && rest.substr(1).starts_with("/9j"));
    });
    // The string may be one of JSON in JSON.
    if (const std::size_t end = is_file ? base64_end(json, at, Lines::many) : at;
        end - at >= kShortestFile && end < json.size() && (json[end] == '"' || json[end] == '\\')) {
      files.push_back({at, end});
      at = end + 1;
    }
  }
  for (std::size_t at = json.find(kData); at < json.size(); at = json.find(kData, at)) {
    const std::size_t type = json.rfind("data:", at);
    at += kData.size();
    const bool is_text = type < json.size() && json.substr(type).starts_with("data:text/");
    if (const std::size_t end = base64_end(json, at, Lines::one); !is_text && end - at >= kShortestFile) {
      files.push_back({at, end});
      at = end;
    }
  }
  std::sort(files.begin(), files.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  return files;
}

/// Nothing if there are none.
std::optional<std::string> without_files(std::string_view json) {
  const std::vector<Span> files = files_in(json);
  if (files.empty()) {
    return std::nullopt;
  }
  std::string out;
  std::size_t done = 0;
  for (const Span& file : files) {
    if (file.begin >= done) {
      out += json.substr(done, file.begin - done);
      out += kImageLabel;
      done = file.end;
    }
  }
  return out.append(json.substr(done));
}

}  // namespace

Redactor::Redactor(const RulesPtr& rules, std::size_t most_bytes)
    : matcher_(std::make_shared<Matcher>(rules)),
      ledger_(std::make_shared<Ledger>()),
      known_(std::make_unique<KnownSecrets>()),
      most_bytes_(most_bytes) {}

Redactor::Redactor(const Redactor& kin, std::nullptr_t)
    : matcher_(kin.matcher_),
      ledger_(kin.ledger_),
      known_(std::make_unique<KnownSecrets>()),
      most_bytes_(kin.most_bytes_),
      counts_(false) {}

Redactor::~Redactor() = default;

std::unique_ptr<Redactor> Redactor::kin() const {
  return std::unique_ptr<Redactor>(new Redactor(*this, nullptr));
}

std::string Redactor::redact(std::string_view text, std::string_view place) {
  if (text.size() > most_bytes_) {
    if (counts_) {
      ledger_->count_unscanned(place);
    }
    return std::string(kUnscannedLabel);
  }
  return Work({*matcher_, *ledger_, *known_, counts_}, text, place, false).done();
}

std::string Redactor::redact_json(std::string_view json, std::string_view place) {
  if (json.size() > most_bytes_ || !is_json(json)) {
    if (counts_) {
      ledger_->count_unscanned(place);
    }
    return json::stringify_string(kUnscannedLabel);
  }
  const auto bare = without_files(json);
  return Work({*matcher_, *ledger_, *known_, counts_}, bare ? *bare : json, place, true).done();
}

bool Redactor::knows_secrets() const {
  return !known_->is_empty();
}

std::vector<Taken> Redactor::taken() const {
  return ledger_->taken();
}

}  // namespace arborfs::redact
