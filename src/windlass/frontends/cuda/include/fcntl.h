// Programs that open files with <fcntl.h> used to get read, lseek and close along with C++'s own headers.
#pragma once
#include_next <fcntl.h>
#include <unistd.h>
