// Where the tests find what they read and run. Of all sources of the tests paths.cc alone is compiled with paths of the
// machine, so that a compiler cache knows the others in any checkout.
#pragma once

namespace arborfs::tests {

extern const char* const kTestData;   // the folder tests/
extern const char* const kSourceDir;  // the root of the sources
extern const char* const kBinary;     // the program arborfs
extern const char* const kStandIn;    // a program that does nothing

}  // namespace arborfs::tests
