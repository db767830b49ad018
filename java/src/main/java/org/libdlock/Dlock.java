package org.libdlock;

import java.util.ArrayList;
import java.util.List;
import org.libdlock.internal.Native;
import org.libdlock.internal.Port;
import org.libdlock.internal.Wire;

/**
 * The way in.
 *
 * <pre>{@code
 * try (Client client = Dlock.connect("redis://127.0.0.1:6379")) {
 *     DistributedLock lock = client.lock("report");
 *     lock.lock();
 *     try {
 *         System.out.println("held, fencing token " + lock.token());
 *     } finally {
 *         lock.unlock();
 *     }
 * }
 * }</pre>
 */
public final class Dlock {
    private Dlock() {}

    /**
     * Connects with default options, or what the URL says.
     *
     * @param url as for {@link #connect(String, Options)}
     * @return a connected client
     */
    public static Client connect(String url) {
        return connect(url, Options.defaults());
    }

    /**
     * Connects to {@code redis://[user[:password]@]host[:port][/db]}, {@code rediss://} with TLS, {@code unix:///path},
     * {@code memory://} or {@code memory://NAME}; options may stand in the URL's query, too. An interrupt does not end it,
     * {@code connect_timeout} does. With {@code connect_wait} it keeps trying for that long while the server is not up yet.
     *
     * @param url where the server is
     * @param options come after those of the URL
     * @return a connected client, to be closed
     * @throws InvalidArgumentException for a bad URL or option, before any I/O
     * @throws ConnectionException when the server does not answer within {@code connect_timeout}, refuses, or does not take the password
     * @throws UnsatisfiedLinkError when the native library cannot be loaded on this platform
     */
    public static Client connect(String url, Options options) {
        Arguments.notNull(url, "url");
        Arguments.notNull(options, "options");
        List<byte[]> texts = new ArrayList<>();
        texts.add(Arguments.textBytes(url, "URL", "connect"));
        texts.addAll(options.texts());
        byte[] packed = Wire.pack(texts);
        Port port = Port.get();
        Object reply = port.callFirst((to, id) -> Native.clientOpen(to, id, packed));
        return new Client(port, Replies.of(reply, Long.class));
    }
}
