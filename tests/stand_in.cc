// A program that does nothing, whatever it is called and asked for.
#include <unistd.h>

int main() {
  for (;;) {
    ::pause();
  }
}
