/* faults 33: a process ends with 600 operations pending, and a lock and permits held; it neither crashes nor hangs. */
#include "check.h"

int main(void) {
    check_case = "exits";
    dlock_client_t* client = open_client();
    dlock_port_t* port = NULL;
    OK(dlock_port_new(&port, error));
    dlock_lock_t* lock = open_lock(client, NULL);
    dlock_semaphore_t* semaphore = open_semaphore(client, 2, NULL);
    OK(dlock_lock_acquire(lock, NULL, NULL, error));
    OK(dlock_semaphore_acquire(semaphore, 2, NULL, NULL, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_acquire(port, lock, NULL, NULL, NULL, error));
    for (int i = 0; i < 300; i++) OK(dlock_submit_semaphore_acquire(port, semaphore, 2, NULL, NULL, NULL, error));
    printf("ok exits_with_600_operations_pending\n");
    return 0;
}
