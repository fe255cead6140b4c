// The paths of the files that the tests read and run. Only paths.cc is compiled with paths of this machine, so that a
// compiler cache can reuse the other sources of the tests in any checkout.
#pragma once

namespace arborfs::tests {

extern const char* const kTestData;   // the folder tests/
extern const char* const kSourceDir;  // the root of the sources
extern const char* const kBinary;     // the program arborfs
extern const char* const kStandIn;    // a program that does nothing

}  // namespace arborfs::tests
