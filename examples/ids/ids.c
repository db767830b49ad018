/* Ids that grow with time, without a server. The pair of numbers has to belong to this process alone. */
#include <dlock.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MANY = 1000 };

static dlock_error_t error = DLOCK_ERROR_INIT;

static void check(dlock_status_t status) {
    if (status == DLOCK_OK) return;
    fprintf(stderr, "%s: %s\n", error.op, error.message);
    exit(1);
}

int main(void) {
    dlock_snowflake_t* ids = NULL;
    dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
    char text[DLOCK_ID_TEXT_SIZE];
    size_t length = 0;
    int64_t many[MANY], parsed = 0;
    int ordered = 1;

    check(dlock_snowflake_open(1, 7, NULL, &ids, &error));
    check(dlock_snowflake_next_ids(ids, many, MANY, &error));
    for (int at = 1; at < MANY; at++) ordered = ordered && many[at - 1] < many[at];
    if (ordered) printf("%d ids, each larger than the one before\n", MANY);

    check(dlock_snowflake_decode(ids, many[0], &parts, &error));
    printf("made by worker %" PRIu32 " of datacenter %" PRIu32 "\n", parts.worker, parts.datacenter);

    check(dlock_id_encode(many[0], 62, text, sizeof text, &length, &error));
    check(dlock_id_parse(text, length, 62, &parsed, &error));
    if (parsed == many[0]) printf("the text in base 62 stands for the same id\n");

    dlock_snowflake_free(ids);
    return 0;
}
