package org.libdlock.spring.web;

import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Whose tokens the requests of an address need. */
final class ClientAddress {
    /** Before an IPv4 address that was translated by NAT64 (RFC 6052): {@code 64:ff9b::}. */
    private static final byte[] NAT64 = {0, 0x64, (byte) 0xff, (byte) 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};

    private ClientAddress() {}

    /** The address; of IPv6 the first 64 bits, because a client usually has so many. Null without an address. */
    static @Nullable String key(@Nullable String address) {
        if (address == null || address.isEmpty()) {
            return null;
        }
        // With a colon it is an address, and asks no name server.
        if (address.indexOf(':') < 0 || !address.matches("[0-9a-fA-F:.]+(%.*)?")) {
            return address;
        }
        int zone = address.indexOf('%');
        try {
            InetAddress parsed = InetAddress.getByName(zone < 0 ? address : address.substring(0, zone));
            if (parsed instanceof Inet4Address) {
                return parsed.getHostAddress();
            }
            byte[] bytes = parsed.getAddress();
            return Arrays.equals(bytes, 0, NAT64.length, NAT64, 0, NAT64.length)
                    ? InetAddress.getByAddress(Arrays.copyOfRange(bytes, NAT64.length, bytes.length))
                            .getHostAddress()
                    : network(bytes);
        } catch (UnknownHostException wrong) {
            return address;
        }
    }

    /** The first 64 bits as RFC 5952 writes them: the zeros at the end are the longest run, or as long as another. */
    private static String network(byte[] bytes) {
        int[] groups = new int[4];
        Arrays.setAll(groups, at -> ((bytes[2 * at] & 0xff) << 8) | (bytes[2 * at + 1] & 0xff));
        int length = groups.length;
        while (length > 0 && groups[length - 1] == 0) {
            length--;
        }
        StringBuilder text = new StringBuilder();
        for (int at = 0; at < length; at++) {
            text.append(at == 0 ? "" : ":").append(Integer.toHexString(groups[at]));
        }
        return text.append("::").toString();
    }
}
