#include "tests/support/planted_secrets.h"

#include <algorithm>
#include <array>
#include <random>

#include "core/json/base64.h"
#include "core/json/document.h"
#include "core/json/text_bytes.h"

namespace arborfs::redact::testing {
namespace {

/// The characters of each kind in a template.
std::string alphabet(char kind) {
  const std::string lower = "abcdefghijklmnopqrstuvwxyz";
  const std::string upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const std::string digits = "0123456789";
  switch (kind) {
    case 'a':
      return lower + upper + digits;
    case 'w':
      return lower + upper + digits + "-_";
    case 'b':
      return lower + upper + digits + "+/";
    case 'h':
      return digits + "abcdef";
    case 'u':
      return upper + digits;
    case 't':
      return upper + "234567";
    case 'l':
      return lower + digits;
    case 'd':
      return digits;
    default:
      return "!#*+-_=" + lower + upper + digits;  // 'p', of passwords
  }
}

std::string filled(std::string_view pattern, std::mt19937_64& random) {
  std::string out;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '{') {
      out += pattern[at];
      continue;
    }
    const std::size_t end = pattern.find('}', at);
    const std::string letters = alphabet(pattern[at + 1]);
    for (int left = std::stoi(std::string(pattern.substr(at + 2, end - at - 2))); left > 0; --left) {
      out += letters[random() % letters.size()];
    }
    at = end;
  }
  return out;
}

/// Six digits of base 62 of the CRC-32, with which tokens of GitHub and npm end; bit by bit, as RFC 1952 defines it.
std::string checksum(std::string_view text) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char c : text) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      const bool is_odd = ((crc ^ (static_cast<unsigned char>(c) >> bit)) & 1U) != 0;
      crc = (crc >> 1U) ^ (is_odd ? 0xEDB88320 : 0);
    }
  }
  std::string sum;
  for (std::uint32_t left = ~crc; sum.size() < 6; left /= 62) {
    sum.insert(0, 1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[left % 62]);
  }
  return sum;
}

std::string base64url(std::string_view text) {
  std::string out = json::encode_base64(text);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  out.erase(out.find_last_not_of('=') + 1);
  return out;
}

std::string as_json(std::string_view text) {
  return json::Text::object().add("type", "message").add("text", text).add("n", std::uint64_t{7}).str();
}

std::string percent(std::string_view text, bool all) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = json::is_word(c) || c == '-' || c == '.' || c == '~';
    if (is_plain && !all) {
      out += c;
    } else {
      ((out += '%') += kDigits[byte >> 4U]) += kDigits[byte & 15U];
    }
  }
  return out;
}

std::string lines_of_base64(std::string_view text) {
  std::string out = json::encode_base64(text);
  for (std::size_t at = 76; at < out.size(); at += 77) {
    out.insert(at, "\n");
  }
  return out;
}

/// One level of escapes taken away.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    if (rest.size() > 2 && rest[0] == '%' && json::hex_value(rest[1]) >= 0 && json::hex_value(rest[2]) >= 0) {
      out += static_cast<char>(json::hex_value(rest[1]) * 16 + json::hex_value(rest[2]));
      at += 2;
    } else if (rest.size() > 5 && rest.starts_with("\\u00")) {
      out += static_cast<char>(json::hex_value(rest[4]) * 16 + json::hex_value(rest[5]));
      at += 5;
    } else if (rest.size() > 1 && rest[0] == '\\') {
      out += rest[1] == 'n' ? '\n' : rest[1];
      ++at;
    } else {
      out += rest[0];
    }
  }
  return out;
}

bool is_base64(char c) {
  return json::is_word(c) || c == '+' || c == '/' || c == '-';
}

bool has_plain_part(std::string_view text, std::string_view secret) {
  constexpr std::size_t kPart = 10;
  const std::size_t part = std::min(kPart, secret.size());
  for (std::size_t at = 0; at + part <= secret.size(); ++at) {
    if (text.find(secret.substr(at, part)) < text.size()) {
      return true;
    }
  }
  return false;
}

/// The texts that base64 in the text may be, read from each of four characters on.
std::string decoded_runs(std::string_view text) {
  std::string joined;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\n' || at == 0 || !is_base64(text[at - 1])) {
      joined += text[at];
    }
  }
  std::string out;
  for (std::size_t at = 0; at < joined.size();) {
    std::size_t end = at;
    while (end < joined.size() && is_base64(joined[end])) {
      ++end;
    }
    for (std::size_t from = at; from < std::min(end, at + 4); ++from) {
      out += json::decode_base64(std::string_view(joined).substr(from, end - from)) + "\n";
    }
    at = end + 1;
  }
  return out;
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> kAll = {
      {"aws-key-id", "export ID=",
       "AK"
       "IA{t16}",
       "\n"},
      {"aws-secret", "aws_secret_access_key = ", "{b40}", "\n"},
      {"aws-session-token", "aws_session_token=", "{b200}", "\n"},
      {"gcp-api-key", "key is ",
       "AI"
       "za{w35}",
       " ok"},
      {"gcp-oauth", "client ",
       "GOC"
       "SPX-{w28}",
       ","},
      {"azure-storage", "AccountName=shop;AccountKey=", "{b86}==", ";EndpointSuffix=core.windows.net"},
      {"azure-client-secret", "",
       "{a3}8"
       "Q~{a34}",
       ""},
      {"azure-devops", "pat ",
       "{a76}AZ"
       "DO{a4}",
       ""},
      {"github", "git clone with ",
       "gh"
       "p_{crc}",
       " now"},
      {"github", "app ",
       "gh"
       "s_{a36}",
       "."},
      {"github-fine-grained", "",
       "github"
       "_pat_{a22}_{a59}",
       ""},
      {"gitlab", "",
       "gl"
       "pat-{w20}",
       ""},
      {"slack", "",
       "xo"
       "xb-{d12}-{d12}-{a24}",
       ""},
      {"slack-webhook", "curl https://hooks.slack.com/services/", "T{u9}/B{u9}/{a24}", ""},
      {"discord", "Bot ", "MT{disc}{a20}.{w6}.{w38}", ""},
      {"discord-webhook", "https://discord.com/api/webhooks/", "{d18}/{w68}", ""},
      {"stripe", "",
       "sk"
       "_live_{a24}",
       ""},
      {"openai", "",
       "sk"
       "-proj-{w120}",
       ""},
      {"openai", "",
       "sk"
       "-{a20}T3Blb"
       "kFJ{a20}",
       ""},
      {"anthropic", "",
       "sk"
       "-ant-api03-{w93}AA",
       ""},
      {"huggingface", "",
       "h"
       "f_{a34}",
       ""},
      {"npm", "//registry.npmjs.org/:_authToken=",
       "np"
       "m_{crc}",
       "\n"},
      {"pypi", "",
       "py"
       "pi-AgEIcHlwaS5vcmc{w130}",
       ""},
      {"docker", "docker login -p ",
       "dck"
       "r_pat_{w27}",
       ""},
      {"digitalocean", "",
       "do"
       "p_v1_{h64}",
       ""},
      {"twilio", "",
       "S"
       "K{h32}",
       ""},
      {"sendgrid", "",
       "S"
       "G.{w22}.{w43}",
       ""},
      {"mailgun", "",
       "ke"
       "y-{h32}",
       ""},
      {"telegram", "https://api.telegram.org/bot",
       "{d10}:A"
       "A{w33}",
       "/getMe"},
      {"heroku", "",
       "HR"
       "KU-AA{w58}",
       ""},
      {"cloudflare", "",
       "cf"
       "ut_{a40}{h8}",
       ""},
      {"vercel", "",
       "vc"
       "p_{a56}",
       ""},
      {"netlify", "",
       "nf"
       "p_{a36}",
       ""},
      {"databricks", "",
       "da"
       "pi{h32}",
       ""},
      {"datadog", "DD_API_KEY=", "{h32}", ""},
      {"new-relic", "",
       "NR"
       "AK-{u27}",
       ""},
      {"sentry", "",
       "snt"
       "ryu_{h64}",
       ""},
      {"sentry-dsn", "dsn: https://", "{h32}", "@o450.ingest.sentry.io/77"},
      {"linear", "",
       "lin"
       "_api_{a40}",
       ""},
      {"notion", "",
       "nt"
       "n_{d11}{a35}",
       ""},
      {"figma", "",
       "fi"
       "gd_{w40}",
       ""},
      {"airtable", "",
       "pa"
       "t{a14}.{h64}",
       ""},
      {"atlassian", "",
       "AT"
       "ATT3xFfGF0{w180}",
       ""},
      {"shopify", "",
       "shp"
       "at_{h32}",
       ""},
      {"square", "",
       "sq0"
       "csp-{w43}",
       ""},
      {"paypal", "",
       "access"
       "_token$production${l16}${h32}",
       ""},
      {"grafana", "",
       "gl"
       "sa_{a32}_{h8}",
       ""},
      {"vault", "vault login ",
       "hv"
       "s.{a24}",
       ""},
      {"terraform", "",
       "{a14}.atl"
       "asv1.{w67}",
       ""},
      {"doppler", "",
       "dp"
       ".pt.{a43}",
       ""},
      {"postman", "",
       "PM"
       "AK-{h24}-{h34}",
       ""},
      {"pulumi", "",
       "pu"
       "l-{h40}",
       ""},
      {"supabase", "",
       "sb"
       "p_{h40}",
       ""},
      {"planetscale", "",
       "psc"
       "ale_tkn_{w43}",
       ""},
      {"fly-io", "",
       "fo"
       "1_{w43}",
       ""},
      {"render", "",
       "rn"
       "d_{a32}",
       ""},
      {"railway", "RAILWAY_TOKEN=", "{h8}-{h4}-4{h3}-a{h3}-{h12}", ""},
      {"algolia", "algolia_api_key: ", "{h32}", "\n"},
      {"mapbox", "",
       "s"
       "k.ey"
       "J{a70}.{w22}",
       ""},
      {"openrouter", "",
       "sk"
       "-or-v1-{h64}",
       ""},
      {"groq", "",
       "gs"
       "k_{a52}",
       ""},
      {"mistral", "MISTRAL_API_KEY=", "{a32}", ""},
      {"perplexity", "",
       "pp"
       "lx-{a48}",
       ""},
      {"replicate", "",
       "r8"
       "_{a37}",
       ""},
      {"xai", "",
       "xa"
       "i-{a80}",
       ""},
      {"deepseek", "",
       "sk"
       "-{h32}",
       ""},
      {"cohere", "cohere_api_key = \"", "{a40}", "\""},
      {"elevenlabs", "",
       "sk"
       "_{h48}",
       ""},
      {"jwt", "", "{jwt}", ""},
      {"private-key",
       "-----BEGIN RSA PRIVATE "
       "KEY-----\n",
       "{b64}\n{b64}\n{b64}\n{b30}==", "\n-----END RSA PRIVATE KEY-----\n"},
      {"url-password", "postgres://shop:", "{p16}", "@db.shop.internal:5432/shop"},
      {"connection-string", "Server=db;User Id=sa;Password=", "{p14}", ";Encrypt=true"},
      {"environment", "DB_PASSWORD=", "{p12}", "\n"},
      {"assigned", "  api_key: \"", "{a24}", "\","},
      {"password", "{\"password\": \"", "{p14}", "\"}"},
      {"bearer", "Authorization: Bearer ", "{a40}", "\r\n"},
      {"basic-auth", "Authorization: Basic ", "{basic}", "\r\n"},
      {"cookie", "Cookie: sid=", "{a32}", "\r\n"},
      {"header-key", "X-Api-Key: ", "{a20}", "\r\n"},
      {"email", "mail ", "{l10}@shop-{l5}.com", " please"},
      {"user", "cd /home/", "k{l9}", "/src"},
  };
  return kAll;
}

Planted plant(const Kind& kind, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string secret = kind.secret;
  const auto replace = [&secret](std::string_view name, const auto& make) {
    if (const std::size_t at = secret.find(name); at < secret.size()) {
      secret.replace(at, name.size(), make());
    }
  };
  replace("{crc}", [&] {
    const std::string letters = filled("{a30}", random);
    return letters + checksum(letters);
  });
  replace("{disc}",
          [&] { return std::string(1, "AEIMQUYcgk"[random() % 10]) + std::string(1, "wxyz012345"[random() % 10]); });
  replace("{basic}", [&] { return json::encode_base64(filled("{l6}:{a14}", random)); });
  replace("{jwt}", [&] {
    const std::string head = json::Text::object().add("alg", "HS256").add("typ", "JWT").str();
    const std::string body = json::Text::object().add("sub", filled("{d10}", random)).str();
    return base64url(head) + "." + base64url(body) + "." + filled("{w43}", random);
  });
  return {kind.before, filled(secret, random), kind.after};
}

const std::vector<Escaping>& escapings() {
  static const std::vector<Escaping> kAll = {
      {"plain", [](std::string_view text) { return std::string(text); }, false},
      {"JSON", [](std::string_view text) { return as_json(text); }, true},
      {"JSON as text", [](std::string_view text) { return as_json(text); }, false},
      {"JSON in JSON", [](std::string_view text) { return as_json(as_json(text)); }, true},
      {"JSON in JSON in JSON", [](std::string_view text) { return as_json(as_json(as_json(text))); }, true},
      {"JSON of numbers",
       [](std::string_view text) {
         constexpr std::string_view kDigits = "0123456789abcdef";
         std::string out = "{\"a\":\"";
         for (const char c : text) {
           const auto byte = static_cast<unsigned char>(c);
           ((out += "\\u00") += kDigits[byte >> 4U]) += kDigits[byte & 15U];
         }
         return out + "\"}";
       },
       true},
      {"URL", [](std::string_view text) { return "GET /?q=" + percent(text, false) + "&x=1"; }, false},
      {"URL, each byte", [](std::string_view text) { return percent(text, true); }, false},
      {"URL in JSON", [](std::string_view text) { return as_json(percent(text, false)); }, true},
      {"base64", [](std::string_view text) { return "data " + json::encode_base64(text) + " end"; }, false},
      {"base64 for URLs", [](std::string_view text) { return "v_" + base64url(text); }, false},
      {"lines of base64", [](std::string_view text) { return lines_of_base64(text); }, false},
      {"lines of base64 in JSON", [](std::string_view text) { return as_json(lines_of_base64(text)); }, true},
      {"base64 of base64", [](std::string_view text) { return json::encode_base64(json::encode_base64(text)); }, false},
      {"JSON in base64 in JSON", [](std::string_view text) { return as_json(json::encode_base64(as_json(text))); },
       true},
      {"UTF-16",
       [](std::string_view text) {
         std::string out;
         for (const char c : text) {
           (out += c) += '\0';
         }
         return out;
       },
       false},
  };
  return kAll;
}

bool has_part(std::string_view text, std::string_view secret) {
  std::string level(text);
  std::erase(level, '\0');
  for (int depth = 0; depth < 4; ++depth) {
    const std::string runs = decoded_runs(level);
    if (has_plain_part(level, secret) || has_plain_part(runs, secret) || has_plain_part(unescaped(runs), secret) ||
        has_plain_part(decoded_runs(runs), secret)) {
      return true;
    }
    level = unescaped(level);
  }
  return false;
}

}  // namespace arborfs::redact::testing
