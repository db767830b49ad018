package org.libdlock;

import org.jspecify.annotations.Nullable;

/** The kinds of error with their frozen numbers, the same in every language: {@code api/errors.json}. */
enum Kind {
    // <api:kinds> written by `python3 api/write.py` from api/errors.json
    BUSY(1, null),
    INVALID_ARGUMENT(-1, "USAGE"),
    INVALID_NAME(-2, "USAGE"),
    NOT_HELD(-3, "HOLD_ENDED"),
    LOST(-4, "HOLD_ENDED"),
    DEADLOCK(-5, "USAGE"),
    CONNECTION(-6, "UNAVAILABLE"),
    OUTCOME_UNKNOWN(-7, "UNAVAILABLE"),
    SERVER(-8, "UNAVAILABLE"),
    WRONG_TYPE(-9, "USAGE"),
    OUT_OF_MEMORY(-10, "UNAVAILABLE"),
    NO_PERMISSION(-11, "UNAVAILABLE"),
    CANCELLED(-12, null),
    CLOSED(-13, null),
    FORKED(-14, "USAGE"),
    CLOCK(-15, null),
    INTERNAL(-16, null),
    UNSUPPORTED(-17, "USAGE"),
    FULL(-18, "UNAVAILABLE");
    // </api:kinds>

    private final int code;
    private final @Nullable String family;

    Kind(int code, @Nullable String family) {
        this.code = code;
        this.family = family;
    }

    int code() {
        return code;
    }

    @Nullable
    String family() {
        return family;
    }

    /** The kind with that number; a number of a newer library counts as a defect. */
    static Kind of(int code) {
        for (Kind kind : values()) {
            if (kind.code == code) {
                return kind;
            }
        }
        return INTERNAL;
    }
}
