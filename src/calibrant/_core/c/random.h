/* Random numbers of SplitMix64; `calibrant._core.twin_draws` computes the same in NumPy. */
#ifndef CALIBRANT_RANDOM_H
#define CALIBRANT_RANDOM_H

#include "lanes.h"

#define GOLDEN 0x9e3779b97f4a7c15ULL

INLINE uint64_t mixed(uint64_t state) {
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
    return state ^ (state >> 31);
}

#endif
