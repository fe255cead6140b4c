#include "core/json/document.h"

#include "core/json/walk.h"

namespace arborfs::json {
namespace {

rapidjson::SizeType size_of(std::string_view text) {
  return static_cast<rapidjson::SizeType>(text.size());
}

// A visitor for walk() that rebuilds the value through the events of a Document that shares the owner's pool.
class Copier {
 public:
  explicit Copier(Document& out) : out_(out) {}

  void scalar(const Value& value) {
    if (value.IsString()) {
      out_.String(value.GetString(), value.GetStringLength(), true);
    } else if (value.IsNumber()) {
      out_.Double(value.GetDouble());
    } else if (value.IsNull()) {
      out_.Null();
    } else {
      out_.Bool(value.GetBool());
    }
  }
  void begin(const Value& value) { value.IsObject() ? out_.StartObject() : out_.StartArray(); }
  void end(const Value& value) { value.IsObject() ? out_.EndObject(value.MemberCount()) : out_.EndArray(value.Size()); }
  void key(const Value& name, rapidjson::SizeType /*index*/) {
    out_.Key(name.GetString(), name.GetStringLength(), true);
  }
  void element(rapidjson::SizeType /*index*/) {}

 private:
  Document& out_;
};

}  // namespace

const Value* member(const Value& value, std::string_view key) {
  if (value.IsObject()) {
    for (const auto& entry : members(value)) {
      if (as_string(entry.name) == key) {
        return &entry.value;
      }
    }
  }
  return nullptr;
}

Value* member(Value& value, std::string_view key) {
  return const_cast<Value*>(member(static_cast<const Value&>(value), key));
}

std::string_view as_string(const Value& value) {
  return {value.GetString(), value.GetStringLength()};
}

std::optional<std::string_view> string_member(const Value& value, std::string_view key) {
  const Value* found = member(value, key);
  return found != nullptr && found->IsString() ? std::optional(as_string(*found)) : std::nullopt;
}

std::optional<double> number_member(const Value& value, std::string_view key) {
  const Value* const number = member(value, key);
  return number != nullptr && number->IsNumber() ? std::optional(number->GetDouble()) : std::nullopt;
}

std::string text_member(const Value& value, std::string_view key) {
  return std::string(string_member(value, key).value_or(""));
}

bool is_string(const Value* value, std::string_view text) {
  return value != nullptr && value->IsString() && as_string(*value) == text;
}

std::span<const Value::Member> members(const Value& object) {
  return {object.MemberBegin().operator->(), object.MemberCount()};
}

std::span<Value::Member> members(Value& object) {
  return {object.MemberBegin().operator->(), object.MemberCount()};
}

bool is_truthy(const Value* value) {
  if (value == nullptr || value->IsNull() || value->IsFalse()) {
    return false;
  }
  if (value->IsNumber()) {
    const double number = value->GetDouble();
    return number < 0 || number > 0;
  }
  return !value->IsString() || value->GetStringLength() > 0;
}

Value make_string(std::string_view text, Document& owner) {
  return text.empty() ? Value("", 0) : Value(text.data(), size_of(text), owner.GetAllocator());
}

void set(Value& object, std::string_view key, Value value, Document& owner) {
  if (Value* found = member(object, key); found != nullptr) {
    *found = std::move(value);
  } else {
    object.AddMember(make_string(key, owner), std::move(value), owner.GetAllocator());
  }
}

bool erase(Value& object, std::string_view key) {
  const auto entries = members(object);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (as_string(entries[i].name) == key) {
      object.EraseMember(object.MemberBegin() + static_cast<std::ptrdiff_t>(i));
      return true;
    }
  }
  return false;
}

Value copy(const Value& value, Document& owner) {
  Document built(&owner.GetAllocator());
  auto generate = [&value](Document& out) {
    Copier copier(out);
    walk(value, copier);
    return true;
  };
  built.Populate(generate);
  return std::move(static_cast<Value&>(built));
}

}  // namespace arborfs::json
