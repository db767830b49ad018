/* faults 33: a process ends with 300 operations pending and locks held; it neither crashes nor hangs. */
#include "check.h"

int main(void) {
    check_case = "exits";
    dlock_client_t* client = open_client();
    dlock_port_t* port = NULL;
    OK(dlock_port_new(&port, error));
    dlock_lock_t* lock = NULL;
    OK(dlock_lock_open(client, "c/exits", 7, NULL, &lock, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_acquire(port, lock, NULL, NULL, NULL, error));
    printf("ok exits_with_300_operations_pending\n");
    return 0;
}
