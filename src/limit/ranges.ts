// The ranges in which the arithmetic is exact in whole nanoseconds.

/** How many limits apply to one spend at most, on different windows. */
export const MAX_LIMITS = 3

export const MAX_COUNT = 1_000_000_000

/** 100 days: a window in nanoseconds is a safe integer. */
export const MAX_WINDOW_SECONDS = 8_640_000
