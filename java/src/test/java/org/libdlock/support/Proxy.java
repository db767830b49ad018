package org.libdlock.support;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** A TCP proxy before a server, with the few faults that these tests need: silence, delay, and replies that do not arrive. */
public final class Proxy implements AutoCloseable {
    private final int target;
    private final ServerSocket listener;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final AtomicInteger resets = new AtomicInteger();
    private final AtomicInteger repliesUntilDelay = new AtomicInteger();
    private volatile boolean hole;
    private volatile long delayMillis;

    public Proxy(RedisServer server) {
        target = server.port();
        try {
            listener = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        daemon(this::accept);
    }

    public String url() {
        return "redis://127.0.0.1:" + listener.getLocalPort() + "/0";
    }

    /** From now on nothing passes, and nothing says so. */
    public void blackHole() {
        hole = true;
    }

    /** The next replies are dropped and their connections reset: the requests have been carried out. */
    public void resetAtNextReplies(int count) {
        resets.set(count);
    }

    /** One reply arrives late: the first one when {@code after} others have passed. */
    public void delayReply(int after, Duration by) {
        delayMillis = by.toMillis();
        repliesUntilDelay.set(after + 1);
    }

    public int resetsLeft() {
        return resets.get();
    }

    @Override
    public void close() {
        sockets.forEach(Proxy::shut);
        try {
            listener.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void accept() {
        while (true) {
            try {
                Socket client = listener.accept();
                Socket server = new Socket();
                server.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), target));
                client.setTcpNoDelay(true);
                server.setTcpNoDelay(true);
                sockets.add(client);
                sockets.add(server);
                daemon(() -> pump(client, server, false));
                daemon(() -> pump(server, client, true));
            } catch (IOException closed) {
                if (listener.isClosed()) {
                    return;
                }
            }
        }
    }

    private void pump(Socket from, Socket to, boolean replies) {
        byte[] buffer = new byte[65536];
        try (from;
                to) {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read > 0; read = in.read(buffer)) {
                // What is read while the hole is open is gone, as bytes on a cut cable are.
                if (hole) {
                    continue;
                }
                if (replies && resets.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                    to.setSoLinger(true, 0);
                    return;
                }
                if (replies && repliesUntilDelay.getAndUpdate(left -> Math.max(0, left - 1)) == 1) {
                    Thread.sleep(delayMillis);
                }
                out.write(buffer, 0, read);
            }
        } catch (IOException | InterruptedException hungUp) {
            // So does the other side, as the sockets are closed.
        } finally {
            sockets.remove(from);
            sockets.remove(to);
        }
    }

    private static void shut(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }
}
