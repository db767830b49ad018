/** Locks on Redis or Valkey that processes on different machines, in several languages, can share. */
module org.libdlock {
    requires static org.jspecify;

    exports org.libdlock;
}
