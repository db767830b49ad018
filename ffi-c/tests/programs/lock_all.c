/* Several locks as one through the synchronous calls: all held or none, tokens of each, a lost one named, bad names. */
#include "threads.h"

static dlock_client_t* client;

enum { MEMBERS = 3, NAME = 256 };

/* The names of the case's own, in the order of their bytes. */
static char member[MEMBERS][NAME];
static const char* members[MEMBERS];

static void name_members(void) {
    for (int i = 0; i < MEMBERS; i++) {
        size_t length = case_name(member[i], NAME - 3);
        snprintf(member[i] + length, 3, "/%c", 'a' + i);
        members[i] = member[i];
    }
}

static dlock_lock_all_t* open_set(const dlock_client_t* of, const char* const* names, size_t count,
                                  const dlock_lock_options_t* options) {
    dlock_lock_all_t* set = NULL;
    OK(dlock_lock_all_open(of, names, NULL, count, options, &set, error));
    return set;
}
static dlock_lock_all_t* open_all(void) {
    name_members();
    return open_set(client, members, MEMBERS, NULL);
}
static dlock_lock_t* open_member(const dlock_client_t* of, int at) {
    dlock_lock_t* lock = NULL;
    OK(dlock_lock_open(of, member[at], strlen(member[at]), NULL, &lock, error));
    return lock;
}

static bool is_free(int at) {
    dlock_lock_t* lock = open_member(client, at);
    dlock_inspection_t seen = DLOCK_INSPECTION_INIT;
    OK(dlock_lock_inspect(lock, &seen, error));
    dlock_lock_free(lock);
    return !seen.held && seen.queued == 0;
}
static bool all_free(void) { return is_free(0) && is_free(1) && is_free(2); }
static void await_free(void) {
    for (int64_t until = now_ms() + 30000; !all_free();) CHECK(now_ms() < until);
}

static dlock_status_t try_set(const void* set) {
    dlock_status_t status = dlock_lock_all_try_acquire(set, NULL, &job_error);
    return status == DLOCK_OK ? dlock_lock_all_release(set, &job_error) : status;
}
static dlock_status_t release_set(const void* set) { return dlock_lock_all_release(set, &job_error); }

static uint64_t token_of(const dlock_held_t* held, const char* name) {
    uint64_t token = 0;
    OK(dlock_held_token_of(held, name, strlen(name), &token, error));
    CHECK(token > 0);
    return token;
}
static uint32_t count_of(const dlock_lock_all_t* set) {
    uint32_t count = 99;
    OK(dlock_lock_all_hold_count(set, &count, error));
    return count;
}
static dlock_loss_t lost_member(const dlock_held_t* held, char* name, size_t* length) {
    dlock_loss_t loss = DLOCK_LOSS_INTERNAL;
    OK(dlock_held_lost_name(held, name, DLOCK_NAME_SIZE, length, &loss, error));
    CHECK(strlen(name) == *length);
    return loss;
}

static void all_are_held_or_none_each_with_its_token(void) {
    dlock_client_t* other = open_client();
    dlock_lock_all_t* set = open_all();
    dlock_lock_t* one = open_member(other, 1);
    dlock_held_t* held = NULL;
    OK(dlock_lock_all_acquire(set, NULL, &held, error));
    GIVES(DLOCK_BUSY, dlock_lock_try_acquire(one, NULL, error));
    CHECK(in_another_thread(try_set, set) == DLOCK_BUSY && in_another_thread(release_set, set) == DLOCK_NOT_HELD);
    uint64_t tokens[MEMBERS + 1] = {0}, none = 7;
    size_t count = 0, length = 9;
    OK(dlock_held_tokens(held, NULL, 0, &count, error));
    CHECK(count == MEMBERS);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_tokens(held, tokens, MEMBERS - 1, &count, error));
    OK(dlock_held_tokens(held, tokens, MEMBERS + 1, &count, error));
    CHECK(count == MEMBERS && tokens[MEMBERS] == 0);
    for (int i = 0; i < MEMBERS; i++) CHECK(tokens[i] == token_of(held, members[i]));
    dlock_error_t refused = DLOCK_ERROR_INIT;
    CHECK(dlock_held_token_of(held, "other", 5, &none, &refused) == DLOCK_INVALID_ARGUMENT && none == 7);
    CHECK(strstr(refused.message, "none of the locks of this hold") != NULL &&
          strstr(refused.message, members[2]) != NULL);
    char text[DLOCK_NAME_SIZE] = "x";
    OK(dlock_held_owner(held, text, sizeof text, &length, error));
    OK(dlock_held_token(held, &none, error));
    CHECK(none == 0 && length == 0 && text[0] == '\0');
    bool valid = false;
    int64_t ms = 0;
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(valid && lost_member(held, text, &length) == DLOCK_LOSS_NONE && length == 0);
    OK(dlock_lock_all_extend(set, 60000, error));
    OK(dlock_held_remaining_ms(held, &ms, error));
    CHECK(ms > 40000);
    OK(dlock_lock_all_release(set, error));
    GIVES(DLOCK_NOT_HELD, dlock_lock_all_release(set, error));
    CHECK(all_free());
    OK(dlock_lock_try_acquire(one, NULL, error)); /* one that is busy: none is taken, and it is named */
    refused = (dlock_error_t)DLOCK_ERROR_INIT;
    CHECK(dlock_lock_all_try_acquire(set, NULL, &refused) == DLOCK_BUSY && strcmp(refused.name, members[1]) == 0);
    CHECK(is_free(0) && is_free(2));
    OK(dlock_lock_release(one, error));
    dlock_held_free(held), dlock_lock_free(one), dlock_lock_all_free(set);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void a_set_is_entered_again_and_left_as_often(void) {
    dlock_lock_all_t* set = open_all();
    dlock_held_t *held = NULL, *untouched = (dlock_held_t*)7;
    GIVES(DLOCK_NOT_HELD, dlock_lock_all_held(set, &untouched, error));
    OK(dlock_lock_all_acquire(set, NULL, NULL, error));
    OK(dlock_lock_all_try_acquire(set, NULL, error));
    OK(dlock_lock_all_held(set, &held, error));
    CHECK(count_of(set) == 2 && token_of(held, members[0]) > 0 && untouched == (dlock_held_t*)7);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_release(held, error)); /* the thread's, not the handle's */
    OK(dlock_lock_all_release(set, error));
    CHECK(count_of(set) == 1 && in_another_thread(try_set, set) == DLOCK_BUSY);
    OK(dlock_lock_all_release(set, error));
    CHECK(count_of(set) == 0 && all_free());
    dlock_lock_t* last = open_member(client, 2);
    OK(dlock_lock_acquire(last, NULL, NULL, error)); /* it would wait for one that comes before what it has */
    GIVES(DLOCK_DEADLOCK, dlock_lock_all_acquire(set, NULL, NULL, error));
    OK(dlock_lock_all_try_acquire(set, NULL, error));
    OK(dlock_lock_all_release(set, error));
    CHECK(is_free(0) && !is_free(2));
    OK(dlock_lock_release(last, error));
    dlock_held_free(held), dlock_lock_free(last), dlock_lock_all_free(set);
    dlock_lock_options_t options = DLOCK_LOCK_OPTIONS_INIT;
    options.reentrant = 0;
    set = open_set(client, members, MEMBERS, &options);
    OK(dlock_lock_all_acquire(set, NULL, NULL, error));
    GIVES(DLOCK_DEADLOCK, dlock_lock_all_acquire(set, NULL, NULL, error));
    OK(dlock_lock_all_release(set, error));
    dlock_lock_all_free(set);
}

static void names_are_1_to_100_different_ones(void) {
    dlock_lock_all_t* set = NULL;
    char text[101][16];
    const char* names[101];
    for (int i = 0; i < 101; i++) {
        snprintf(text[i], sizeof text[i], "many/%03d", i);
        names[i] = text[i];
    }
    dlock_error_t refused = DLOCK_ERROR_INIT;
    CHECK(dlock_lock_all_open(client, names, NULL, 101, NULL, &set, &refused) == DLOCK_INVALID_ARGUMENT);
    CHECK(strstr(refused.message, "101 names were given") != NULL);
    CHECK(strcmp(refused.allowed, "1 to 100 different names") == 0);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_open(client, names, NULL, 0, NULL, &set, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_open(client, NULL, NULL, 0, NULL, &set, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_open(client, NULL, NULL, 1, NULL, &set, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_open(client, names, NULL, SIZE_MAX, NULL, &set, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_open(client, names, NULL, 2, NULL, NULL, error));
    const char* holes[2] = {"many/000", NULL};
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_open(client, holes, NULL, 2, NULL, &set, error));
    size_t lengths[2] = {8, 0};
    GIVES(DLOCK_INVALID_NAME, dlock_lock_all_open(client, names, lengths, 2, NULL, &set, error));
    lengths[1] = SIZE_MAX;
    GIVES(DLOCK_INVALID_NAME, dlock_lock_all_open(client, names, lengths, 2, NULL, &set, error));
    CHECK(set == NULL);
    OK(dlock_lock_all_open(client, names, NULL, 100, NULL, &set, error));
    size_t count = 0, length = 0;
    OK(dlock_lock_all_len(set, &count, error));
    CHECK(count == 100 && dlock_lock_all_free(set) == DLOCK_OK);
    CHECK(dlock_lock_all_free(set) == DLOCK_CLOSED && dlock_lock_all_free(NULL) == DLOCK_OK);
    const char* twice[4] = {"many/002 and more", "many/001", "many/002", "many/001"};
    size_t cut[4] = {8, 8, 8, 8}; /* with lengths no name needs a NUL */
    OK(dlock_lock_all_open(client, twice, cut, 4, NULL, &set, error));
    OK(dlock_lock_all_len(set, &count, error));
    char name[DLOCK_NAME_SIZE];
    OK(dlock_lock_all_name(set, 1, name, sizeof name, &length, error));
    CHECK(count == 2 && length == 8 && strcmp(name, "many/002") == 0);
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_name(set, 2, name, sizeof name, &length, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_name(set, 0, name, 8, &length, error));
    CHECK(dlock_lock_all_free(set) == DLOCK_OK);
}

static void a_lost_lock_ends_the_whole_and_is_named(void) {
    dlock_client_t* other = open_client();
    dlock_lock_all_t* set = open_all();
    dlock_lock_t* one = open_member(other, 1);
    dlock_held_t *held = NULL, *taken = NULL;
    dlock_loss_t loss = DLOCK_LOSS_NONE;
    OK(dlock_lock_all_acquire(set, NULL, &held, error));
    GIVES(DLOCK_BUSY, dlock_held_wait_lost(held, 0, NULL, &loss, error));
    OK(dlock_lock_force_release(one, NULL, error));
    OK(dlock_held_wait_lost(held, 10000, NULL, &loss, error));
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    bool valid = true;
    CHECK(loss == DLOCK_LOSS_DELETED && lost_member(held, name, &length) == DLOCK_LOSS_DELETED);
    CHECK(strcmp(name, members[1]) == 0);
    OK(dlock_held_is_valid(held, &valid, error));
    CHECK(!valid && !is_free(0) && !is_free(2)); /* the others are the thread's until it releases */
    GIVES(DLOCK_NOT_HELD, dlock_lock_all_extend(set, 60000, error));
    dlock_error_t over = DLOCK_ERROR_INIT;
    CHECK(dlock_lock_all_release(set, &over) == DLOCK_NOT_HELD && strcmp(over.name, members[1]) == 0);
    CHECK(all_free() && dlock_held_free(held) == DLOCK_OK);
    dlock_acquire_options_t brief = DLOCK_ACQUIRE_OPTIONS_INIT;
    brief.lease_ms = 300;
    OK(dlock_lock_all_take(set, &brief, &taken, error));
    OK(dlock_held_wait_lost(taken, 10000, NULL, &loss, error));
    CHECK(loss == DLOCK_LOSS_EXPIRED && lost_member(taken, name, &length) == loss && strcmp(name, members[0]) == 0);
    GIVES(DLOCK_NOT_HELD, dlock_held_release(taken, error));
    OK(dlock_lock_all_acquire(set, &brief, &held, error));
    OK(dlock_held_wait_lost(held, 10000, NULL, &loss, error));
    GIVES(DLOCK_LOST, dlock_lock_all_acquire(set, NULL, NULL, error)); /* told */
    await_free();
    dlock_held_free(held), dlock_held_free(taken), dlock_lock_free(one), dlock_lock_all_free(set);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static dlock_held_t* taken_here;
static dlock_status_t release_taken(const void* unused) {
    (void)unused;
    return dlock_held_release(taken_here, &job_error);
}

static void a_hold_that_is_taken_belongs_to_its_handle(void) {
    dlock_lock_all_t* set = open_all();
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_lock_all_take(set, NULL, NULL, error));
    OK(dlock_lock_all_take(set, NULL, &taken_here, error));
    GIVES(DLOCK_BUSY, dlock_lock_all_try_acquire(set, NULL, error)); /* for this thread too */
    GIVES(DLOCK_NOT_HELD, dlock_lock_all_release(set, error));
    CHECK(count_of(set) == 0);
    uint32_t count = 0;
    size_t permits = 9;
    OK(dlock_held_reenter(taken_here, error));
    OK(dlock_held_hold_count(taken_here, &count, error));
    OK(dlock_held_extend(taken_here, 60000, error));
    OK(dlock_held_permits(taken_here, NULL, 0, &permits, error));
    CHECK(count == 2 && permits == 0);
    dlock_detached_t detached = DLOCK_DETACHED_INIT;
    dlock_held_t* untouched = (dlock_held_t*)7;
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_detach(taken_here, &detached, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_downgrade(taken_here, &untouched, error));
    OK(dlock_held_release(taken_here, error));
    CHECK(!is_free(0) && in_another_thread(release_taken, NULL) == DLOCK_OK && all_free());
    GIVES(DLOCK_NOT_HELD, dlock_held_release(taken_here, error));
    CHECK(dlock_held_free(taken_here) == DLOCK_OK);
    dlock_lock_t* single = open_member(client, 0);
    OK(dlock_lock_take(single, NULL, &taken_here, error)); /* of one lock there are no tokens by name */
    uint64_t token = 7;
    OK(dlock_held_tokens(taken_here, NULL, 0, &permits, error));
    GIVES(DLOCK_INVALID_ARGUMENT, dlock_held_token_of(taken_here, members[0], strlen(members[0]), &token, error));
    CHECK(permits == 0 && token == 7);
    OK(dlock_held_release(taken_here, error));
    dlock_held_free(taken_here), dlock_lock_free(single), dlock_lock_all_free(set);
}

static void a_wait_that_ends_gives_everything_back(void) {
    dlock_client_t* other = open_client();
    dlock_lock_all_t* set = open_all();
    dlock_lock_t* last = open_member(other, 2);
    OK(dlock_lock_acquire(last, NULL, NULL, error));
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.wait_ms = 150;
    int64_t begun = now_ms();
    dlock_error_t busy = DLOCK_ERROR_INIT;
    CHECK(dlock_lock_all_acquire(set, &options, NULL, &busy) == DLOCK_BUSY && strcmp(busy.name, members[2]) == 0);
    int64_t took = now_ms() - begun;
    CHECK(took >= 150 && took < bound_ms(150 + 100) && busy.retryable);
    OK(dlock_lock_release(last, error));
    await_free();
    dlock_lock_free(last), dlock_lock_all_free(set);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static dlock_cancel_t* cancel;
static dlock_status_t wait_until_cancelled(const void* set) {
    dlock_acquire_options_t options = DLOCK_ACQUIRE_OPTIONS_INIT;
    options.cancel = cancel;
    return dlock_lock_all_acquire(set, &options, NULL, &job_error);
}

static void a_cancelled_wait_leaves_nothing(void) {
    dlock_lock_all_t* set = open_all();
    dlock_lock_t* last = open_member(client, 2);
    OK(dlock_lock_acquire(last, NULL, NULL, error));
    OK(dlock_cancel_new(&cancel, error));
    struct job waits;
    start(wait_until_cancelled, set, &waits);
    for (int64_t until = now_ms() + 30000; is_free(0);) CHECK(now_ms() < until); /* it has what comes before */
    OK(dlock_cancel_fire(cancel, error));
    ENDS(DLOCK_CANCELLED, &waits);
    OK(dlock_lock_release(last, error));
    await_free();
    dlock_cancel_free(cancel), dlock_lock_free(last), dlock_lock_all_free(set);
}

static dlock_status_t take_turns(const void* set) {
    for (int turn = 0; turn < 20; turn++) {
        dlock_status_t status = dlock_lock_all_acquire(set, NULL, NULL, &job_error);
        if (status == DLOCK_OK) status = dlock_lock_all_release(set, &job_error);
        if (status != DLOCK_OK) return status;
    }
    return DLOCK_OK;
}

static void sets_that_overlap_never_block_each_other(void) {
    dlock_client_t* other = open_client();
    name_members();
    const char* forth[2] = {members[0], members[1]};
    const char* back[3] = {members[2], members[1], members[0]};
    dlock_lock_all_t *first = open_set(client, forth, 2, NULL), *second = open_set(other, back, 3, NULL);
    struct job one, two;
    start(take_turns, first, &one);
    start(take_turns, second, &two);
    ENDS(DLOCK_OK, &one);
    ENDS(DLOCK_OK, &two);
    await_free();
    dlock_lock_all_free(first), dlock_lock_all_free(second);
    OK(dlock_client_close(other, false, error));
    dlock_client_free(other);
}

static void a_threads_hold_outlives_the_handle_of_its_set(void) {
    dlock_lock_all_t* set = open_all();
    OK(dlock_lock_all_acquire(set, NULL, NULL, error));
    CHECK(dlock_lock_all_free(set) == DLOCK_OK);
    GIVES(DLOCK_CLOSED, dlock_lock_all_release(set, error));
    set = open_all();
    CHECK(count_of(set) == 1 && !is_free(1));
    OK(dlock_lock_all_release(set, error));
    CHECK(all_free() && dlock_lock_all_free(set) == DLOCK_OK);
}

static void a_port_brings_holds_of_a_set(void) {
    dlock_lock_all_t* set = open_all();
    dlock_port_t* port = NULL;
    dlock_completion_t done[1];
    OK(dlock_port_new(&port, error));
    OK(dlock_submit_lock_all_acquire(port, set, NULL, (void*)&set, NULL, error));
    collect(port, done, 1);
    CHECK(done[0].kind == DLOCK_COMPLETION_HELD && done[0].user_data == (void*)&set && done[0].token == 0);
    dlock_held_t* held = done[0].held;
    CHECK(token_of(held, members[2]) > 0);
    dlock_acquire_options_t once = DLOCK_ACQUIRE_OPTIONS_INIT;
    once.wait_ms = 0;
    OK(dlock_submit_lock_all_acquire(port, set, &once, NULL, NULL, error));
    collect(port, done, 1);
    CHECK(done[0].kind == DLOCK_COMPLETION_ERROR && done[0].status == DLOCK_BUSY);
    dlock_lock_t* first = open_member(client, 0);
    OK(dlock_submit_wait_lost(port, held, -1, NULL, NULL, error));
    OK(dlock_lock_force_release(first, NULL, error));
    collect(port, done, 1);
    char name[DLOCK_NAME_SIZE];
    size_t length = 0;
    CHECK(done[0].kind == DLOCK_COMPLETION_LOSS && done[0].loss == DLOCK_LOSS_DELETED);
    CHECK(lost_member(held, name, &length) == DLOCK_LOSS_DELETED && strcmp(name, members[0]) == 0);
    OK(dlock_submit_release(port, held, NULL, NULL, error));
    collect(port, done, 1);
    CHECK(done[0].status == DLOCK_NOT_HELD && strcmp(done[0].error.name, members[0]) == 0 && all_free());
    dlock_held_free(held), dlock_lock_free(first), dlock_port_free(port), dlock_lock_all_free(set);
}

int main(void) {
    client = open_client();
    RUN(all_are_held_or_none_each_with_its_token);
    RUN(a_set_is_entered_again_and_left_as_often);
    RUN(names_are_1_to_100_different_ones);
    RUN(a_lost_lock_ends_the_whole_and_is_named);
    RUN(a_hold_that_is_taken_belongs_to_its_handle);
    RUN(a_wait_that_ends_gives_everything_back);
    RUN(a_cancelled_wait_leaves_nothing);
    RUN(sets_that_overlap_never_block_each_other);
    RUN(a_threads_hold_outlives_the_handle_of_its_set);
    RUN(a_port_brings_holds_of_a_set);
    OK(dlock_client_close(client, false, error));
    dlock_client_free(client);
    return 0;
}
