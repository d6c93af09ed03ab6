// For the emulator's special.c: the word that it exports functions by.
#define EXPORT
