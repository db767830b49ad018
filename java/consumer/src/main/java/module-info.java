/** An application. */
module example {
    requires org.libdlock;

    exports example;
}
