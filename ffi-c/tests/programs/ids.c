/* Ids: the vectors that every language checks, uniqueness over threads and handles, bad arguments (a fork: fork.c). */
#include "threads.h"
#include "vectors_ids.h"

static dlock_layout_t layout_of(const vector_layout_t* given) {
    dlock_layout_t layout = given->custom;
    if (given->name != NULL) OK(dlock_layout_named(given->name, strlen(given->name), &layout, error));
    return layout;
}

static dlock_snowflake_t* open_worker(int64_t worker) {
    dlock_snowflake_t* ids = NULL;
    OK(dlock_snowflake_open(11, worker, NULL, &ids, error));
    return ids;
}

static void layouts_are_those_of_every_language(void) {
    for (size_t i = 0; i < sizeof vector_layouts / sizeof *vector_layouts; i++) {
        dlock_layout_t layout = DLOCK_LAYOUT_INIT;
        OK(dlock_layout_named(vector_layouts[i].name, strlen(vector_layouts[i].name), &layout, error));
        CHECK(memcmp(&layout, &vector_layouts[i].layout, sizeof layout) == 0);
    }
    dlock_layout_t layout = DLOCK_LAYOUT_INIT;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_layout_named("nobody's", 8, &layout, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_layout_named("\xff", 1, &layout, error));
    for (size_t i = 0; i < sizeof vector_layouts_refused / sizeof *vector_layouts_refused; i++) {
        layout = layout_of(&vector_layouts_refused[i].layout);
        dlock_snowflake_options_t options = DLOCK_SNOWFLAKE_OPTIONS_INIT;
        options.layout = &layout;
        dlock_snowflake_t* ids = NULL;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_open(0, 0, &options, &ids, error));
        dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_layout_decode(&layout, 0, &parts, error));
    }
}

static void ids_come_apart_as_in_every_language(void) {
    for (size_t i = 0; i < sizeof vector_decode / sizeof *vector_decode; i++) {
        dlock_layout_t layout = layout_of(&vector_decode[i].layout);
        dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
        OK(dlock_layout_decode(&layout, vector_decode[i].id, &parts, error));
        if (parts.time_ms != vector_decode[i].time_ms || parts.datacenter != vector_decode[i].datacenter ||
            parts.worker != vector_decode[i].worker || parts.sequence != vector_decode[i].sequence)
            check_failed(__FILE__, __LINE__, vector_decode[i].why, NULL);
    }
    for (size_t i = 0; i < sizeof vector_decode_refused / sizeof *vector_decode_refused; i++) {
        dlock_layout_t layout = layout_of(&vector_decode_refused[i].layout);
        dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_layout_decode(&layout, vector_decode_refused[i].id, &parts, error));
    }
}

static void texts_are_those_of_every_language_both_ways(void) {
    for (size_t i = 0; i < sizeof vector_texts / sizeof *vector_texts; i++) {
        char text[DLOCK_ID_TEXT_SIZE];
        size_t length = 0;
        int64_t id = -1;
        OK(dlock_id_encode(vector_texts[i].id, vector_texts[i].base, text, sizeof text, &length, error));
        CHECK(strcmp(text, vector_texts[i].text) == 0 && length == strlen(text));
        OK(dlock_id_parse(text, length, vector_texts[i].base, &id, error));
        CHECK(id == vector_texts[i].id);
    }
    for (size_t i = 0; i < sizeof vector_parse / sizeof *vector_parse; i++) {
        int64_t id = -1;
        OK(dlock_id_parse(vector_parse[i].text, vector_parse[i].length, vector_parse[i].base, &id, error));
        CHECK(id == vector_parse[i].id);
    }
    for (size_t i = 0; i < sizeof vector_parse_refused / sizeof *vector_parse_refused; i++) {
        int64_t id = 77;
        dlock_status_t status = dlock_id_parse(vector_parse_refused[i].text, vector_parse_refused[i].length,
                                               vector_parse_refused[i].base, &id, NULL);
        if (status != DLOCK_INVALID_ARGUMENT || id != 77)
            check_failed(__FILE__, __LINE__, vector_parse_refused[i].why, NULL);
    }
    char small[3];
    size_t length = 0;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_encode(1234, 10, small, sizeof small, &length, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_id_encode(-1, 10, small, sizeof small, &length, error));
}

static void ids_increase_singly_and_in_batches(void) {
    static int64_t batch[10000];
    dlock_snowflake_t* ids = open_worker(1);
    int64_t last = 0, id = 0;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 1000; i++) {
            OK(dlock_snowflake_next_id(ids, &id, error));
            CHECK(id > last);
            last = id;
        }
        OK(dlock_snowflake_next_ids(ids, batch, 10000, error));
        for (int i = 0; i < 10000; i++) {
            CHECK(batch[i] > last);
            last = batch[i];
        }
    }
    dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
    OK(dlock_snowflake_decode(ids, last, &parts, error));
    CHECK(parts.datacenter == 11 && parts.worker == 1 && parts.time_ms > INT64_C(1750000000000));
    CHECK(dlock_snowflake_free(ids) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_snowflake_next_id(ids, &id, error));
    ids = open_worker(1);
    OK(dlock_snowflake_next_id(ids, &id, error));
    CHECK(id > last); /* the next generator goes on after the one before */
    CHECK(dlock_snowflake_free(ids) == DLOCK_OK);
}

enum { EACH = 100000 };
static int64_t taken[2][EACH];

static void* take(void* to) {
    dlock_snowflake_t* ids = open_worker(2); /* one of its own: the state is shared all the same */
    for (int64_t* id = to; id < (int64_t*)to + repeats(EACH); id++) OK(dlock_snowflake_next_id(ids, id, error));
    CHECK(dlock_snowflake_free(ids) == DLOCK_OK);
    return NULL;
}

static void two_threads_share_no_id(void) {
    pthread_t other;
    CHECK(pthread_create(&other, NULL, take, taken[1]) == 0);
    take(taken[0]);
    CHECK(pthread_join(other, NULL) == 0);
    size_t a = 0, b = 0, each = repeats(EACH);
    for (; a < each && b < each; taken[0][a] < taken[1][b] ? a++ : b++) CHECK(taken[0][a] != taken[1][b]);
    for (size_t i = 1; i < each; i++) CHECK(taken[0][i] > taken[0][i - 1] && taken[1][i] > taken[1][i - 1]);
}

static void what_is_out_of_range_is_refused_and_writes_nothing(void) {
    dlock_snowflake_t* ids = NULL;
    int64_t places[][2] = {{-1, 0}, {0, -1}, {32, 0}, {0, 32}, {INT64_MAX, 0}, {0, INT64_MIN}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_open(places[i][0], places[i][1], NULL, &ids, error));
    int64_t borrows[] = {-1, 11, INT64_MAX}, waits[] = {-2, 60001, INT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        dlock_snowflake_options_t options = DLOCK_SNOWFLAKE_OPTIONS_INIT;
        options.borrow_ahead_ms = borrows[i];
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_open(0, 0, &options, &ids, error));
        options.borrow_ahead_ms = 0, options.start_wait_ms = waits[i];
        GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_open(0, 0, &options, &ids, error));
    }
    CHECK(ids == NULL);
    dlock_layout_t over = {sizeof over, 0, 1, 0, 0, 12}; /* its time ended in January 1970 */
    dlock_snowflake_options_t options = DLOCK_SNOWFLAKE_OPTIONS_INIT;
    options.layout = &over;
    GIVES(DLOCK_CLOCK, dlock_snowflake_open(0, 0, &options, &ids, error));
    dlock_layout_t not_yet = {sizeof not_yet, INT64_C(253402300799999), 41, 5, 5, 12};
    options.layout = &not_yet;
    GIVES(DLOCK_CLOCK, dlock_snowflake_open(0, 0, &options, &ids, error));
    ids = open_worker(5);
    int64_t id = 77;
    size_t counts[] = {0, DLOCK_BATCH_MAX + 1, SIZE_MAX};
    for (size_t i = 0; i < 3; i++) GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_next_ids(ids, &id, counts[i], error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_next_ids(ids, NULL, 1, error));
    dlock_id_parts_t parts = DLOCK_ID_PARTS_INIT;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_snowflake_decode(ids, -1, &parts, error));
    CHECK(id == 77);
    CHECK(dlock_snowflake_free(ids) == DLOCK_OK);
}

int main(void) {
    RUN(layouts_are_those_of_every_language);
    RUN(ids_come_apart_as_in_every_language);
    RUN(texts_are_those_of_every_language_both_ways);
    RUN(ids_increase_singly_and_in_batches);
    RUN(two_threads_share_no_id);
    RUN(what_is_out_of_range_is_refused_and_writes_nothing);
    return 0;
}
